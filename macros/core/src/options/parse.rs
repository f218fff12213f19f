//! `#[node(timeout = "10s", retry(max_attempts = 3))]`: option by option, so that a broken one costs only itself.

use std::time::Duration;

use proc_macro2::{Ident, Span, TokenStream};
use syn::parse::{Parse, ParseStream, Parser as _};
use syn::{Attribute, Expr, Meta, Token, token};

use super::function::{AFTER, WHEN};
use super::{NodeOptions, RetryOptions, RunLimits};
use crate::diagnostics::{Blame, Diagnostics};
use crate::names;

pub(crate) const OF_A_NODE: [&str; 11] = [
    "name",
    "renamed_from",
    "retry",
    "timeout",
    "at_most_once",
    "blocking",
    "max_parallel",
    "collect",
    "uses",
    "pool",
    "crate",
];

pub(crate) const OF_RETRY: [&str; 7] =
    ["max_attempts", "initial_delay", "max_delay", "backoff_factor", "jitter", "when", "after"];

/// Reads the arguments of `#[node(..)]`.
pub fn parse_node_attribute(args: TokenStream) -> (NodeOptions, Diagnostics) {
    read(args, false)
}

/// Reads the arguments of `let name = node(..)`: a node's options, without those that shape its function.
pub fn parse_let_options(args: TokenStream) -> (NodeOptions, Diagnostics) {
    read(args, true)
}

pub(crate) const OF_A_RUN: [&str; 2] = ["timeout", "max_parallel"];

/// Whether a word is an option of a node.
pub fn is_option(word: &str) -> bool {
    OF_A_NODE.contains(&word)
}

/// Whether an attribute of a workflow is a limit of its runs.
pub fn is_limit(attribute: &Attribute) -> bool {
    OF_A_RUN.iter().any(|name| attribute.path().is_ident(name))
}

/// Reads `#[timeout = "1h"]` and `#[max_parallel = 8]` above a workflow.
pub fn parse_limits(attributes: &[Attribute]) -> (RunLimits, Diagnostics) {
    let mut reader = Reader::default();
    let mut limits = RunLimits::default();
    let mut seen = Vec::new();
    for attribute in attributes {
        let Some(name) = attribute.path().get_ident().cloned() else { continue };
        if seen.contains(&name) {
            reader.diagnostics.error(&name, format!("`{name}` is set twice"));
            continue;
        }
        seen.push(name.clone());
        let value = match &attribute.meta {
            Meta::Path(_) => Value::None,
            Meta::List(list) => Value::List(list.tokens.clone()),
            Meta::NameValue(pair) => Value::Is(pair.value.clone()),
        };
        let option = Written { text: name.to_string(), name, value };
        match option.text.as_str() {
            "timeout" => {
                limits.timeout = reader.duration(&option, "1h").filter(|timeout| {
                    let mend = "every run would fail at once: leave `timeout` out for none";
                    reader.longer_than_zero(&option, timeout.is_zero(), mend)
                });
            }
            _ => limits.max_parallel = reader.count(&option, "8"),
        }
    }
    (limits, reader.diagnostics)
}

fn read(args: TokenStream, of_a_let: bool) -> (NodeOptions, Diagnostics) {
    let mut options = NodeOptions::default();
    let mut reader = Reader::default();
    reader.each(args, "node", &OF_A_NODE, is_meant, |reader, option| {
        if of_a_let && ["blocking", "collect", "uses", "pool", "crate"].contains(&option.text.as_str()) {
            reader
                .diagnostics
                .error(&option.name, format!("`{}` belongs to the node itself and cannot be set here", option.text))
                .help("write it in the node's own `#[node(..)]`");
            return;
        }
        reader.node_option(&mut options, option);
    });
    let Reader { mut diagnostics, retry_word } = reader;
    if let (Some(_), Some(word), Some(retry)) = (options.at_most_once, retry_word, &options.retry)
        && retry.max_attempts != Some(1)
    {
        diagnostics
            .error(word, "a node that runs at most once cannot be tried again")
            .help("leave out `retry` or `at_most_once`");
    }
    if let ([first, ..], Some(_)) = (options.uses.as_slice(), &options.pool) {
        diagnostics
            .error(Blame::tokens(first), "a node with a `pool` calls no other nodes")
            .help("leave out `uses` or `pool`; a node without a pool can call this one's workflow");
    }
    if let (Some(collect), Some(_)) = (options.collect, &options.pool) {
        diagnostics
            .error(collect, "a collecting node runs where its run does, and not in a pool")
            .help("leave out `collect` or `pool`; the nodes whose outputs it collects can be in a pool");
    }
    (options, diagnostics)
}

/// One option as it was written.
pub struct Written {
    /// The name as it was written.
    pub name: Ident,
    /// The name without `r#`.
    pub text: String,
    /// What is behind it.
    pub value: Value,
}

/// What is behind the name of an option.
pub enum Value {
    /// `blocking`
    None,
    /// `= "10s"`
    Is(Expr),
    /// `(..)`
    List(TokenStream),
}

impl Parse for Written {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name: Ident = input.call(syn::ext::IdentExt::parse_any)?;
        let value = if input.peek(token::Paren) {
            let inside;
            syn::parenthesized!(inside in input);
            Value::List(inside.parse()?)
        } else if input.peek(Token![=]) {
            let equals: Token![=] = input.parse()?;
            if input.is_empty() || input.peek(Token![,]) {
                return Err(syn::Error::new(equals.span, format!("the value of `{name}` is missing")));
            }
            Value::Is(ungrouped(input.parse()?))
        } else if input.peek(Token![:]) {
            return Err(input.error(format!("the value of an option is written behind `=`: `{name} = ..`")));
        } else {
            Value::None
        };
        let text = names::plain(&name.to_string()).to_string();
        Ok(Written { name, text, value })
    }
}

/// A value without the invisible groups around it, in which a `macro_rules!` passes on its `$timeout:literal`.
pub fn ungrouped(value: Expr) -> Expr {
    match value {
        Expr::Group(group) => ungrouped(*group.expr),
        value => value,
    }
}

/// What to write for a word that is no option, if that is known.
pub type Meant = fn(&str) -> Option<&'static str>;

/// The options of a retry by the names that they have elsewhere.
fn meant_of_retry(word: &str) -> Option<&'static str> {
    match word {
        "attempts" | "max_retries" | "retries" | "times" | "max" => {
            Some("the number of attempts, the first included: `max_attempts = 3`")
        }
        "delay" | "backoff" | "interval" | "wait" => {
            Some("`initial_delay = \"200ms\"`, which `backoff_factor` multiplies after each attempt")
        }
        _ => None,
    }
}

/// Reads options, and collects what is wrong with them.
#[derive(Default)]
pub struct Reader {
    /// What was wrong.
    pub diagnostics: Diagnostics,
    retry_word: Option<Span>,
}

impl Reader {
    /// Reads options one by one; each known one once. `whose`: `node`, `agent`.
    pub fn each(
        &mut self,
        args: TokenStream,
        whose: &str,
        known: &[&str],
        meant: Meant,
        mut take: impl FnMut(&mut Self, &Written),
    ) {
        let mut seen: Vec<String> = Vec::new();
        let mut rest = args;
        while !rest.is_empty() {
            let blame = rest.clone().into_iter().next().map_or_else(Span::call_site, |token| token.span());
            let parsed =
                (|input: ParseStream<'_>| Ok((input.parse::<Written>(), input.parse::<TokenStream>()?))).parse2(rest);
            let Ok((option, behind)) = parsed else { return };
            rest = match option {
                Ok(option) => {
                    if !known.contains(&option.text.as_str()) {
                        self.unknown(&option, whose, known, meant);
                    } else if seen.contains(&option.text) {
                        self.diagnostics.error(&option.name, format!("`{}` is set twice", option.text));
                    } else {
                        seen.push(option.text.clone());
                        take(self, &option);
                    }
                    self.separated(behind)
                }
                Err(error) => {
                    let starts_option =
                        matches!(behind.clone().into_iter().next(), Some(proc_macro2::TokenTree::Punct(_)));
                    if error.to_string().starts_with("expected ident") && !starts_option {
                        self.diagnostics.error(blame, "an option is expected here").help(format!(
                            "the options of {} are {}",
                            a(whose),
                            listed(known)
                        ));
                    } else {
                        self.diagnostics.syntax(&error);
                    }
                    behind_comma(behind)
                }
            };
        }
    }

    fn separated(&mut self, behind: TokenStream) -> TokenStream {
        let comma = (|input: ParseStream<'_>| {
            let sound = input.parse::<Option<Token![,]>>()?.is_some() || input.is_empty();
            Ok((sound, input.span(), input.parse::<TokenStream>()?))
        })
        .parse2(behind);
        match comma {
            Ok((true, _, rest)) => rest,
            Ok((false, span, rest)) => {
                self.diagnostics.error(span, "a `,` is missing between the options");
                let starts_option = matches!(rest.clone().into_iter().next(), Some(proc_macro2::TokenTree::Ident(_)));
                if starts_option { rest } else { behind_comma(rest) }
            }
            Err(_) => TokenStream::new(),
        }
    }

    fn unknown(&mut self, option: &Written, whose: &str, known: &[&str], meant: Meant) {
        let elsewhere = known.contains(&"retry") && OF_RETRY.contains(&option.text.as_str());
        let meant = meant(&option.text);
        let near = names::nearest(&option.text, known.iter().copied());
        let message = format!("{} has no option `{}`", a(whose), option.text);
        let mend = match (elsewhere, near) {
            _ if meant.is_some() => meant.unwrap_or_default().to_owned(),
            (true, _) => format!("it belongs into `retry({} = ..)`", option.text),
            (_, Some(near)) => format!("there is one with a similar name: `{near}`"),
            _ => format!("the options of {} are {}", a(whose), listed(known)),
        };
        self.diagnostics.error(&option.name, message).help(mend);
    }

    fn node_option(&mut self, options: &mut NodeOptions, option: &Written) {
        match option.text.as_str() {
            "name" => options.name = self.name(option),
            "renamed_from" => options.renamed_from = self.former_names(option),
            "retry" => {
                self.retry_word = Some(option.name.span());
                options.retry = self.retry(option);
            }
            "timeout" => {
                options.timeout = self.duration(option, "10s").filter(|timeout| {
                    self.longer_than_zero(
                        option,
                        timeout.is_zero(),
                        "every attempt would fail at once: leave `timeout` out for none",
                    )
                });
            }
            "max_parallel" => {
                options.max_parallel = self.count(option, "4").map(|most| (most, option.name.span()));
            }
            "at_most_once" => options.at_most_once = self.flag(option),
            "blocking" => options.blocking = self.flag(option),
            "collect" => options.collect = self.flag(option),
            "uses" => options.uses = self.nodes(option),
            "pool" => options.pool = self.pool(option),
            _ => options.krate = self.path(option, "::graphweft"),
        }
    }

    /// `retry(max_attempts = 3, ..)`
    pub fn retry(&mut self, option: &Written) -> Option<RetryOptions> {
        let mut retry = RetryOptions::default();
        let args = match &option.value {
            Value::List(args) => args.clone(),
            Value::None => TokenStream::new(),
            Value::Is(value) => {
                self.diagnostics
                    .error(Blame::tokens(value), "the options of `retry` are written in parentheses")
                    .help("`retry(max_attempts = 3, initial_delay = \"200ms\")`");
                return None;
            }
        };
        let (mut initial_delay_word, mut max_delay_word) = (None, None);
        self.each(args, "retry", &OF_RETRY, meant_of_retry, |reader, option| match option.text.as_str() {
            "max_attempts" => retry.max_attempts = reader.count(option, "3"),
            "initial_delay" => {
                initial_delay_word = Some(option.name.span());
                retry.initial_delay = reader.duration(option, "200ms");
            }
            "max_delay" => {
                max_delay_word = Some(option.name.span());
                retry.max_delay = reader.duration(option, "60s").filter(|delay| {
                    reader.longer_than_zero(
                        option,
                        delay.is_zero(),
                        "for no delay at all write `initial_delay = \"0s\"`",
                    )
                });
            }
            "backoff_factor" => {
                retry.backoff_factor = reader.factor(option, "2.0", "at least 1", |factor| factor >= 1.0);
            }
            "jitter" => retry.jitter = reader.factor(option, "0.5", "zero or more", |jitter| jitter >= 0.0),
            "when" => retry.when = reader.function(option, &WHEN),
            _ => retry.after = reader.function(option, &AFTER),
        });
        if let (Some(word), Some(initial), Some(max)) = (max_delay_word, retry.initial_delay, retry.max_delay)
            && max < initial
        {
            self.diagnostics
                .error(word, "`max_delay` is shorter than `initial_delay`")
                .help("the delays begin at `initial_delay` and grow up to `max_delay`");
        }
        if let (Some(word), Some(initial), None) = (initial_delay_word, retry.initial_delay, max_delay_word)
            && initial > DEFAULT_MAX_DELAY
        {
            self.diagnostics
                .error(word, "`initial_delay` is longer than `max_delay`, which is 60 s where it is left out")
                .help("write `max_delay = \"..\"` too");
        }
        Some(retry)
    }
}

/// What to write for a word that other libraries use, or that is an attribute of a parameter.
fn is_meant(word: &str) -> Option<&'static str> {
    Some(match word {
        "retries" | "max_retries" | "attempts" => {
            "the number of attempts, the first included: `retry(max_attempts = 3)`"
        }
        "delay" | "backoff" => "the delays between attempts: `retry(initial_delay = \"200ms\", backoff_factor = 2.0)`",
        "resource" | "resources" => "a resource is a parameter: `#[resource] db: &Pool`",
        "state" | "reads" => "what a node reads is a parameter: `#[state(OWNER)] owner: String`",
        "writes" | "may_write" => "what a node writes is a parameter: `#[writes(OWNER)] owner: StateWriter<String>`",
        "given" => "keys are given to a workflow: `workflow! { #[given(OWNER)] checkout(Order) -> Receipt { .. } }`",
        _ => return None,
    })
}

/// The value in `RetryPolicy::default()`.
const DEFAULT_MAX_DELAY: Duration = Duration::from_secs(60);

fn a(whose: &str) -> String {
    let article = if whose.starts_with(['a', 'e', 'i', 'o']) { "an" } else { "a" };
    format!("{article} {whose}")
}

fn listed(known: &[&str]) -> String {
    let quoted: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// The tokens behind the next comma.
fn behind_comma(tokens: TokenStream) -> TokenStream {
    let is_comma = |token: &proc_macro2::TokenTree| matches!(token, proc_macro2::TokenTree::Punct(punct) if punct.as_char() == ',');
    tokens.into_iter().skip_while(|token| !is_comma(token)).skip(1).collect()
}
