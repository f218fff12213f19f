//! Every problem of an invocation, collected, so that all of them are reported in one compile.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::Path;

/// The problems that were found, in the order in which they were found.
#[derive(Default)]
pub struct Diagnostics {
    found: Vec<Diagnostic>,
}

/// One problem: what is wrong, at which tokens, and what to do about it.
pub struct Diagnostic {
    blame: Blame,
    message: String,
    helps: Vec<String>,
}

/// The tokens that are to blame, by the first and the last of them: stable Rust cannot join two spans, but it
/// underlines everything between the two ends of a `compile_error!`.
#[derive(Clone, Copy, Debug)]
pub struct Blame {
    /// The first token.
    pub first: Span,
    /// The last token.
    pub last: Span,
}

impl Blame {
    /// All of these tokens; the whole invocation where there are none.
    pub fn tokens(tokens: impl ToTokens) -> Self {
        let mut spans = tokens.into_token_stream().into_iter().map(|token| token.span());
        let first = spans.next().unwrap_or_else(Span::call_site);
        Blame { first, last: spans.last().unwrap_or(first) }
    }
}

impl From<Span> for Blame {
    fn from(span: Span) -> Self {
        Blame { first: span, last: span }
    }
}

impl From<&Ident> for Blame {
    fn from(ident: &Ident) -> Self {
        ident.span().into()
    }
}

impl From<&TokenTree> for Blame {
    fn from(token: &TokenTree) -> Self {
        token.span().into()
    }
}

impl From<&Path> for Blame {
    fn from(path: &Path) -> Self {
        // By its parts, since this is asked several times for each node of a graph. Generic arguments have no last token at hand.
        let first = path.leading_colon.map(|colons| colons.spans[0]);
        let first = first.or_else(|| path.segments.first().map(|segment| segment.ident.span()));
        let last = path.segments.last().filter(|last| last.arguments.is_none()).map(|last| last.ident.span());
        match (first, last) {
            (Some(first), Some(last)) => Blame { first, last },
            _ => Blame::tokens(path),
        }
    }
}

impl Diagnostics {
    /// Whether there is any problem.
    pub fn has_errors(&self) -> bool {
        !self.found.is_empty()
    }

    /// Adds a problem; [`help`](Diagnostic::help) adds what to do about it.
    pub fn error(&mut self, blame: impl Into<Blame>, message: impl Into<String>) -> &mut Diagnostic {
        self.found.push(Diagnostic { blame: blame.into(), message: message.into(), helps: Vec::new() });
        let last = self.found.len() - 1;
        &mut self.found[last]
    }

    /// Adds the errors of a parser of syn's.
    pub fn syntax(&mut self, error: &syn::Error) {
        for one in error.clone() {
            self.error(one.span(), one.to_string());
        }
    }

    /// Adds the problems that another pass has found.
    pub fn extend(&mut self, other: Diagnostics) {
        self.found.extend(other.found);
    }

    /// The problems, each once.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        let mut seen = std::collections::BTreeSet::new();
        self.found.iter().filter(move |one| seen.insert((format!("{:?}", one.blame), one.text())))
    }

    /// A `::core::compile_error!` for each problem, on the tokens to blame. They are statements, for the inside of a
    /// `const _: () = { .. };`, where they mute no other error.
    pub fn into_compile_errors(&self) -> TokenStream {
        self.iter().map(Diagnostic::to_compile_error).collect()
    }

    /// The first problem as an expression, and the others as statements. Everything that is computed from a constant
    /// that could not be expanded is an error to rustc too, which it does not report again.
    pub fn into_error_value(&self) -> (TokenStream, TokenStream) {
        let mut errors = self.iter().map(Diagnostic::to_compile_error);
        (errors.next().unwrap_or_else(|| quote!(false)), errors.collect())
    }
}

impl Diagnostic {
    /// Adds a line with what to do.
    pub fn help(&mut self, text: impl Into<String>) -> &mut Self {
        self.helps.push(text.into());
        self
    }

    /// The problem.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do about it.
    pub fn helps(&self) -> &[String] {
        &self.helps
    }

    /// The tokens to blame.
    pub fn blame(&self) -> Blame {
        self.blame
    }

    /// Message and help lines, as the compiler prints them.
    pub fn text(&self) -> String {
        let mut text = self.message.clone();
        for help in &self.helps {
            text.push_str("\nhelp: ");
            text.push_str(help);
        }
        text
    }

    fn to_compile_error(&self) -> TokenStream {
        let text = self.text();
        let mut tokens = quote_spanned!(self.blame.first=> ::core::compile_error!);
        tokens.extend(quote_spanned!(self.blame.last=> { #text }));
        tokens
    }
}
