//! Statements, one by one: a broken one costs itself and nothing behind its `;`.

use proc_macro2::{Delimiter, Ident, Span, TokenTree};

use super::tokens::Tokens;
use super::{Parser, Place, quoted};
use crate::ast::{Chain, Link, Shape, path_text};
use crate::diagnostics::Blame;

impl Parser<'_> {
    /// `a => b; let c = d(); c => e`
    pub(super) fn statements(&mut self, tokens: &mut Tokens, place: Place) -> Vec<Chain> {
        let mut statements: Vec<Chain> = Vec::new();
        let mut end = End::Sound;
        if place == Place::Workflow {
            self.start_in_other_letters(tokens);
        }
        while !tokens.is_empty() {
            if tokens.eat_punct(';').is_some() {
                continue;
            }
            if tokens.peek_punct('#') {
                self.misplaced_attribute(tokens);
                continue;
            }
            if tokens.peek_word("let") {
                self.let_statement(tokens);
            } else {
                let before = tokens.position();
                let mut chain = self.statement(tokens);
                if tokens.position() == before {
                    self.incomplete = true;
                    self.unexpected(tokens);
                    tokens.take_statement();
                    continue;
                }
                if end == End::Told && chain.is_single() {
                    // The reported error includes that it leads nowhere.
                    chain.links.push(Link { arrow: tokens.span().into(), shape: Shape::Missing });
                }
                statements.push(chain);
            }
            end = self.end_of_statement(tokens, place);
            if let (End::Told, Some(last)) = (end, statements.last_mut().filter(|last| last.is_single())) {
                // The reported error includes that it leads nowhere.
                last.links.push(Link { arrow: tokens.span().into(), shape: Shape::Missing });
            }
        }
        statements
    }

    /// `start => a` in a workflow that has no `START`.
    fn start_in_other_letters(&mut self, tokens: &mut Tokens) {
        let has_start = (0..).map_while(|at| tokens.peek_after(at)).any(|token| token.to_string() == "START");
        let Some(word) = tokens.peek_ident().filter(|word| word.to_string().eq_ignore_ascii_case("START")) else {
            return;
        };
        let is_node = !matches!(tokens.peek_after(1), Some(TokenTree::Punct(equals)) if equals.as_char() == '=');
        if has_start || is_node {
            return;
        }
        let start = Ident::new("START", word.span());
        self.diagnostics
            .error(word, "the start of a workflow is written `START`")
            .help(format!("write `START` here; a node called `{word}` comes behind it: `START => {word}`"));
        tokens.replace(start.into());
    }

    /// A chain that may begin with `a | b`.
    fn statement(&mut self, tokens: &mut Tokens) -> Chain {
        let begin = tokens.span();
        let first = self.shape(tokens).unwrap_or_else(|| {
            if tokens.peek_pair('=', '>') {
                let arrow = tokens.pair_span();
                self.diagnostics.error(arrow, "a node is missing before `=>`").help("write `node => ..`");
                self.incomplete = true;
            } else if tokens.peek_punct('|') {
                self.diagnostics.error(begin, "a node is missing before `|`").help("`a | b => collect`");
            }
            Shape::Missing
        });
        let first = if tokens.peek_punct('|') { self.members(first, begin, tokens) } else { first };
        self.links(first, tokens)
    }

    /// `a => b => c`
    pub(super) fn chain(&mut self, tokens: &mut Tokens) -> Option<Chain> {
        let first = self.shape(tokens)?;
        Some(self.links(first, tokens))
    }

    fn links(&mut self, first: Shape, tokens: &mut Tokens) -> Chain {
        let mut chain = Chain { first, links: Vec::new() };
        loop {
            if tokens.peek_punct('|') && !chain.is_single() {
                self.misplaced_any(&chain, tokens);
                chain.links.push(Link { arrow: tokens.span().into(), shape: Shape::Missing });
            }
            let arrow = match self.arrow(tokens) {
                Some(arrow) => arrow,
                None if tokens.peek_punct('<') => self.missing_arrow(tokens, &chain),
                None if tokens.peek_group(Delimiter::Bracket).is_some() => self.missing_arrow(tokens, &chain),
                None if tokens.peek_group(Delimiter::Brace).is_some() => self.missing_arrow(tokens, &chain),
                None => return chain,
            };
            let shape = self.shape(tokens).unwrap_or_else(|| {
                self.nothing_behind(arrow, tokens);
                Shape::Missing
            });
            chain.links.push(Link { arrow, shape });
        }
    }

    fn arrow(&mut self, tokens: &mut Tokens) -> Option<Blame> {
        if let Some(arrow) = tokens.eat_pair('=', '>') {
            return Some(arrow);
        }
        let thin = tokens.eat_pair('-', '>')?;
        self.diagnostics.error(thin, "an edge is written `=>`");
        Some(thin)
    }

    fn missing_arrow(&mut self, tokens: &Tokens, before: &Chain) -> Blame {
        let open = tokens.peek().map(quoted).unwrap_or_default();
        let shape = match open.as_str() {
            "[" => "[..]",
            "{" => "{..}",
            _ => "<..>",
        };
        let last = before.links.last().map_or(&before.first, |link| &link.shape).text();
        self.diagnostics
            .error(tokens.span(), format!("`=>` is missing between `{last}` and `{open}`"))
            .help(format!("`{last} => {shape}`"));
        tokens.span().into()
    }

    fn nothing_behind(&mut self, arrow: Blame, tokens: &mut Tokens) {
        if self.refuse_closure(tokens) {
            while !tokens.is_empty() && !tokens.peek_punct(';') && !tokens.peek_pair('=', '>') {
                tokens.next();
            }
            return;
        }
        match tokens.peek() {
            Some(token) if !closes(token) => {
                self.diagnostics
                    .error(token, format!("a node is expected behind `=>`, not `{}`", quoted(token)))
                    .help("a node is named by its path alone: `charge`, `billing::charge`");
                while tokens.peek().is_some_and(|token| !closes(token)) {
                    tokens.next();
                }
            }
            _ => {
                self.diagnostics.error(arrow, "this `=>` leads nowhere").help("write a node behind it, or `END`");
            }
        }
    }

    /// `|x| x + 1`: reports that it is no node. Returns whether there was a closure.
    pub(super) fn refuse_closure(&mut self, tokens: &Tokens) -> bool {
        if !is_closure(tokens) {
            return false;
        }
        self.not_a_closure(tokens.span(), "name");
        true
    }

    /// Reports a closure in place of a node. `name`: a name for the node in the help text.
    pub(super) fn not_a_closure(&mut self, blame: impl Into<Blame>, name: &str) {
        self.diagnostics
            .error(blame, "a closure is not a node")
            .help("write a function: `#[node] async fn name(input: Input) -> Output { .. }`, and its name in the graph")
            .help(format!(
                "to capture a value, implement `Node` for a struct that holds it: `let {name} = Name {{ value }};`"
            ));
    }

    /// `a | b`, where a statement begins.
    fn members(&mut self, first: Shape, begin: Span, tokens: &mut Tokens) -> Shape {
        let mut members = Vec::new();
        let mut sound = true;
        let (mut shape, mut blame) = (Some(first), begin);
        loop {
            match shape {
                Some(Shape::Node(path)) => members.push(path),
                Some(Shape::Missing) => sound = false,
                Some(other) => {
                    self.diagnostics
                        .error(blame, format!("`|` joins nodes, and `{}` is not a node", other.text()))
                        .help(format!(
                            "lead it to a node first, and name that node here: `{} => node; node | ..`",
                            other.text()
                        ));
                    sound = false;
                }
                None => {
                    self.diagnostics.error(blame, "a node is missing behind `|`");
                    sound = false;
                }
            }
            if tokens.eat_punct('|').is_none() {
                break;
            }
            blame = tokens.span();
            shape = self.shape(tokens);
        }
        if sound {
            return Shape::Any(members);
        }
        // The names keep their mentions, as a group that nothing can be made of.
        let places = members.into_iter().map(|path| Chain { first: Shape::Node(path), links: Vec::new() });
        let mut places: Vec<Chain> = places.collect();
        places.push(Chain { first: Shape::Missing, links: Vec::new() });
        Shape::All(crate::ast::All { places, span: tokens.span() })
    }

    fn misplaced_any(&mut self, chain: &Chain, tokens: &mut Tokens) {
        let bar = tokens.span();
        let last = chain.links.last().map_or(&chain.first, |link| &link.shape).text();
        let mut names = vec![last];
        while tokens.eat_punct('|').is_some() {
            match self.shape(tokens) {
                Some(Shape::Node(path)) => names.push(path_text(&path)),
                Some(other) => names.push(other.text()),
                None => break,
            }
        }
        self.diagnostics
            .error(bar, "`|` is only allowed at the beginning of a statement")
            .help(format!("end the statement before it, and begin the next one with `{} => ..`", names.join(" | ")));
    }

    fn misplaced_attribute(&mut self, tokens: &mut Tokens) {
        let hash = tokens.span();
        tokens.next();
        tokens.eat_punct('!');
        let bracket = tokens.eat_group(Delimiter::Bracket);
        let last = bracket.as_ref().map_or(hash, |group| group.span());
        let is_doc = bracket.is_some_and(|group| group.stream().to_string().starts_with("doc"));
        let message = if is_doc { "a doc comment documents nothing here" } else { "an attribute means nothing here" };
        let help = if is_doc { "write `//`" } else { "attributes go before the workflow's name" };
        self.diagnostics.error(Blame { first: hash, last }, message).help(help);
    }

    /// A statement is followed by `;` or nothing. Other tokens are reported, and reading continues with them if they
    /// can begin a statement.
    fn end_of_statement(&mut self, tokens: &mut Tokens, place: Place) -> End {
        let Some(next) = tokens.peek() else { return End::Sound };
        if tokens.peek_punct(';') {
            return End::Sound;
        }
        // The tokens behind may have been meant as a part of the statement before.
        self.incomplete = true;
        let begins_statement =
            matches!(next, TokenTree::Ident(_)) || tokens.peek_group(Delimiter::Parenthesis).is_some();
        if begins_statement {
            self.diagnostics
                .error(next, format!("`=>` or `;` is missing before `{}`", quoted(next)))
                .help("`=>` leads on to the next node, and `;` begins another statement");
        } else if tokens.peek_punct(',') && place == Place::Each {
            self.diagnostics
                .error(next, "`[..]` has one way in and gives one value")
                .help("several nodes at once come after the first: `[node => (a, b) => join]`");
            tokens.next();
        } else if tokens.peek_punct(',') {
            self.diagnostics.error(next, "statements are separated by `;`, not by `,`");
            tokens.next();
        } else {
            self.unexpected(tokens);
            tokens.take_statement();
        }
        End::Told
    }

    fn unexpected(&mut self, tokens: &Tokens) {
        let Some(token) = tokens.peek() else { return };
        if tokens.peek_pair('=', '>') {
            self.diagnostics.error(tokens.pair_span(), "a node is missing before `=>`").help("write `node => ..`");
            return;
        }
        let text = quoted(token);
        self.diagnostics
            .error(token, format!("`{text}` is not expected here"))
            .help("a statement reads `node => node`, `node => (a, b)`, `node => <ok: a, err: b>` or `node => [a]`");
    }
}

/// How a statement ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Sound,
    /// With an error, which may be the reason for an error of the next statement.
    Told,
}

/// Whether a token ends a chain, so that a missing part is missing before it.
fn closes(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if [';', ',', '>', '=', '|'].contains(&punct.as_char()))
}

/// `|x| ..`, also behind `async` and `move`.
pub(super) fn is_closure(tokens: &Tokens) -> bool {
    let is_bar = |at| matches!(tokens.peek_after(at), Some(TokenTree::Punct(bar)) if bar.as_char() == '|');
    let is_word =
        |at| matches!(tokens.peek_after(at), Some(TokenTree::Ident(word)) if *word == "async" || *word == "move");
    (0..=2).find(|at| !is_word(*at)).is_some_and(is_bar)
}
