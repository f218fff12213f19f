//! The agent beside the function, and the function as that of a node: it makes the prompt, and runs the agent.

use graphweft_macros_core::diagnostics::{Blame, Diagnostics};
use graphweft_macros_core::node_fn::signature::parse;
use graphweft_macros_core::node_fn::{NodeFn, Parameter, doc_of, node_of};
use graphweft_macros_core::options::BuiltOn;
use graphweft_macros_core::retry_policy;
use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::{FnArg, GenericArgument, Pat, Path, PathArguments, ReturnType, Type, parse_quote};

use crate::options::{self, AgentOptions, Setting, ToolOption};
use crate::text::DocText;

/// Expands `#[agent(..)]` on a function.
pub(crate) fn agent(args: TokenStream, item: TokenStream) -> TokenStream {
    let (mut options, mut diagnostics) = options::parse(args);
    let krate = options.krate.clone().unwrap_or_else(|| parse_quote!(::graphweft_agents));
    let graphweft = options.node.krate.clone().unwrap_or_else(|| parse_quote!(::graphweft));
    let mut of_function = Diagnostics::default();
    let Ok(mut node) = parse(item.clone(), &options.node, &mut of_function) else {
        let start = behind_attributes(&item).unwrap_or_else(Span::call_site);
        diagnostics
            .error(start, "`#[agent]` can only be used on a function")
            .help("write `#[agent] async fn name(input: Input) -> Output { format!(..) }`; its body is the prompt");
        let errors = diagnostics.into_compile_errors();
        return quote!(#item const _: () = { #errors };);
    };
    diagnostics.extend(of_function);
    if node.signature.receiver().is_some() || !node.has_body {
        let errors = diagnostics.into_compile_errors();
        let NodeFn { attributes, visibility, signature, body, .. } = node;
        return quote!(#(#attributes)* #visibility #signature #body #errors);
    }
    let output = output(&node, &mut diagnostics);
    let doc = DocText::of(&doc_of(&node.attributes));
    let instructions = instructions(&node, &options, &doc, &mut diagnostics);
    let name = node.signature.ident.clone();
    let built = built_agent(&name, &options, &instructions, &krate, &graphweft);
    options.node.built_on = Some(Box::new(BuiltOn {
        doc: doc.description,
        uses: quote!(#graphweft::Node::uses(#name::__agent())),
        resources: vec![quote!(#krate::Models)],
        retry_when: quote!(#krate::__::is_retryable),
    }));
    into_node(&mut node, &output, &krate, &graphweft);
    let node = node_of(&node, &options.node, &diagnostics, &TokenStream::new());
    quote!(#node #built)
}

/// What the model has to give.
fn output(node: &NodeFn, diagnostics: &mut Diagnostics) -> Type {
    let Some(returns) = node.returns() else {
        diagnostics
            .error(node.signature.ident.span(), "an agent returns what its model has to give")
            .help("write `-> String` for a text, or the type of the output: `-> Refund`");
        return parse_quote!(::std::string::String);
    };
    match value_of_result(returns) {
        Some(value) => {
            diagnostics
                .error(Blame::tokens(returns), "an agent returns what its model has to give, and no `Result`")
                .help(format!("write `-> {}`; the error of an agent is always `AgentError`", value.to_token_stream()));
            value.clone()
        }
        None => returns.clone(),
    }
}

/// The value of a type that is written as a `Result`.
fn value_of_result(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == "Result")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first()? {
        GenericArgument::Type(value) => Some(value),
        _ => None,
    }
}

/// The expression of the instructions.
fn instructions(node: &NodeFn, options: &AgentOptions, doc: &DocText, diagnostics: &mut Diagnostics) -> TokenStream {
    if let Some(instructions) = &options.instructions {
        return quote!(#instructions);
    }
    if doc.instructions.is_empty() {
        diagnostics
            .error(node.signature.ident.span(), "an agent has instructions")
            .help("write them as its doc comment, or as `#[agent(instructions = include_str!(\"refunds.md\"))]`");
    }
    doc.instructions.to_token_stream()
}

/// The agent itself, which is made once.
fn built_agent(
    name: &Ident,
    options: &AgentOptions,
    instructions: &TokenStream,
    krate: &Path,
    graphweft: &Path,
) -> TokenStream {
    let setters = options.setters.iter().map(|(setter, setting)| {
        let setter = Ident::new(setter, Span::call_site());
        let setting = match setting {
            Setting::Expression(expression) => quote!(#expression),
            Setting::Count(count) => quote!(#count),
            Setting::Number(number) => quote!(#number),
            Setting::Duration(limit) => {
                let (seconds, nanos) = (limit.as_secs(), limit.subsec_nanos());
                quote!(::core::time::Duration::new(#seconds, #nanos))
            }
            Setting::Retry(retry) => retry_policy(retry, graphweft),
        };
        quote!(.#setter(#setting))
    });
    let tools = options.tools.iter().map(|tool| match tool {
        ToolOption::Node(node) => {
            let at = hidden(first_span(node));
            let krate = located_at(krate, at);
            quote_spanned!(at=> .tool(#krate::__::node_tool(#node {})))
        }
        ToolOption::Value(tool) => {
            let at = hidden(first_span(tool));
            let krate = located_at(krate, at);
            quote_spanned!(at=> .tool(#krate::__::made_tool(#tool)))
        }
    });
    let ty = quote!(#krate::Agent<::std::string::String, <#name as #graphweft::Node>::Output>);
    let agent = quote!(<#ty>::new(#instructions) #(#setters)* #(#tools)*);
    let agent = match &options.with {
        Some(with) => quote!(#krate::__::with(#agent, #with)),
        None => agent,
    };
    quote! {
        #[allow(clippy::all, clippy::pedantic, reason = "generated")]
        const _: () = {
            impl #name {
                #[doc(hidden)]
                fn __agent() -> &'static #ty {
                    static AGENT: ::std::sync::LazyLock<#ty> = ::std::sync::LazyLock::new(|| #agent);
                    &AGENT
                }
            }
        };
    }
}

/// Makes the function that of a node: it gets a context, and its body makes the prompt and runs the agent.
fn into_node(node: &mut NodeFn, output: &Type, krate: &Path, graphweft: &Path) {
    let name = node.signature.ident.clone();
    let context = Ident::new("__context", hidden(name.span()));
    let pattern = context_pattern(node, &context, graphweft);
    let is_async = node.signature.asyncness.is_some();
    let (body, end) = (with_hidden_braces(&node.body), end_of(&node.body).unwrap_or_else(|| name.span()));
    let again = pattern.map(|pattern| quote!(let #pattern = #context;));
    let told = match is_async {
        true => quote!(async { #again #body }.await),
        false => quote!((|| { #again #body })()),
    };
    // Where what is no prompt is reported.
    let prompt = Ident::new("__prompt", hidden(end));
    node.body = quote! {{
        let #prompt = #told;
        let #prompt = #krate::__::prompt(#prompt);
        #krate::Agent::run(#name::__agent(), #prompt, #context).await
    }};
    node.attributes.push(parse_quote! {
        #[allow(clippy::redundant_closure_call, clippy::redundant_async_block, reason = "its body is the prompt")]
    });
    let signature = &mut node.signature;
    signature.asyncness = Some(parse_quote!(async));
    signature.output =
        ReturnType::Type(parse_quote!(->), Box::new(parse_quote!(::core::result::Result<#output, #krate::AgentError>)));
}

/// Gives the function a context under a name of ours, and returns the pattern under which it had one.
fn context_pattern(node: &mut NodeFn, context: &Ident, graphweft: &Path) -> Option<Pat> {
    let at = node.parameters.iter().position(|parameter| matches!(parameter, Parameter::Context));
    match at.and_then(|at| node.signature.inputs.iter_mut().nth(at)) {
        Some(FnArg::Typed(argument)) => Some(std::mem::replace(&mut *argument.pat, parse_quote!(#context))),
        _ => {
            node.signature.inputs.push(parse_quote!(#context: &#graphweft::Context));
            node.parameters.push(Parameter::Context);
            None
        }
    }
}

/// The first token of what a body ends in.
fn end_of(body: &TokenStream) -> Option<Span> {
    let TokenTree::Group(block) = body.clone().into_iter().next()? else { return None };
    let tokens: Vec<TokenTree> = block.stream().into_iter().collect();
    let is_semicolon = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ';');
    let begin = tokens.iter().rposition(is_semicolon).map_or(0, |at| at + 1);
    Some(tokens.get(begin).or(tokens.last()).map_or_else(|| block_span(&block), TokenTree::span))
}

/// The body as a block of ours: the compiler would call the user's braces unneeded in a function of one line.
fn with_hidden_braces(body: &TokenStream) -> TokenStream {
    let hide = |token: TokenTree| match token {
        TokenTree::Group(mut block) => {
            block.set_span(hidden(block.span()));
            TokenTree::Group(block)
        }
        token => token,
    };
    body.clone().into_iter().map(hide).collect()
}

fn block_span(block: &Group) -> Span {
    block.span_open()
}

fn first_span(tokens: impl ToTokens) -> Span {
    Blame::tokens(tokens).first
}

/// The tokens of a path at another place: an error in what is called is reported there.
fn located_at(path: &Path, at: Span) -> TokenStream {
    path.to_token_stream()
        .into_iter()
        .map(|mut token| {
            token.set_span(at);
            token
        })
        .collect()
}

/// The first token of an item that is none of its attributes.
fn behind_attributes(item: &TokenStream) -> Option<Span> {
    let mut tokens = item.clone().into_iter();
    loop {
        match tokens.next()? {
            TokenTree::Punct(pound) if pound.as_char() == '#' => drop(tokens.next()),
            token => return Some(token.span()),
        }
    }
}

/// The span of an expansion's locals: hidden from the user's names, at a place to which errors can point.
fn hidden(at: Span) -> Span {
    Span::mixed_site().located_at(at)
}
