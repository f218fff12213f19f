//! A workflow as it is being written. Reads on whatever is missing, and says nothing about it: the compile errors
//! do.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};

use super::marker;
use super::options::{self, Level, OptionList};
use crate::parse::tokens::Tokens;

/// Where the result of a view is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    Item,
    Expression,
}

/// Everything in a workflow that an editor may be asked about.
pub(super) struct Seen {
    /// The path of the crate graphweft.
    pub(super) krate: TokenStream,
    /// The names of the limits above it, `#[timeout = "1h"]`.
    pub(super) limits: Vec<Ident>,
    /// The keys in `#[given(..)]`.
    pub(super) given: Vec<TokenStream>,
    /// What it is called.
    pub(super) name: Option<Ident>,
    /// The types between the parentheses of its signature.
    pub(super) input: Option<Group>,
    /// The type behind `->`.
    pub(super) output: Option<TokenStream>,
    pub(super) lets: Vec<Named>,
    /// Every node where it is written, START and END among them.
    pub(super) mentions: Vec<TokenStream>,
    /// The node behind START.
    pub(super) first: Option<TokenStream>,
    /// The last node of the last chain that is not inside a shape.
    pub(super) last: Option<TokenStream>,
    pub(super) maps: Vec<Map>,
    /// Options that stand at a node in the graph, where they do not belong.
    pub(super) misplaced: Vec<OptionList>,
    /// What the identifier at the cursor is the name of.
    pub(super) place: Option<Place>,
    option_lists: usize,
    /// How many shapes we are in.
    depth: usize,
}

/// How deep shapes are read, as in the parser.
const DEEPEST: usize = 64;

/// What a name at the cursor is the name of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Node,
    /// A label, in the map of that number.
    Label(usize),
    /// An option, in the list of that number.
    Option((usize, Level)),
}

/// A `let`.
pub(super) struct Named {
    pub(super) name: Ident,
    pub(super) value: Value,
}

/// What is behind the `=` of a `let`.
pub(super) enum Value {
    /// `charge(timeout = "5s")`; the number is that of the list.
    Node { path: TokenStream, options: Option<(usize, OptionList)> },
    /// An expression, with its type where that is written.
    Made { ty: Option<TokenStream>, value: TokenStream },
}

/// `<ok: a, err: b>`
pub(super) struct Map {
    /// The node that it is behind, where that is one.
    pub(super) source: Option<TokenStream>,
    /// The `<`.
    pub(super) open: Span,
    /// The labels that are names.
    pub(super) labels: Vec<Ident>,
    /// Whether `_`, a literal, or something that cannot be read is among the labels.
    pub(super) has_others: bool,
    /// Whether an arm is bounded, so that `spent` is no label of the value.
    pub(super) is_bounded: bool,
}

/// Takes `@crate path;` from the beginning of some tokens.
pub(super) fn crate_path(input: TokenStream) -> (TokenStream, TokenStream) {
    let mut tokens = Tokens::new(input, None);
    let is_prefixed = tokens.peek_punct('@') && tokens.ident_after(1).is_some_and(|word| word == "crate");
    if !is_prefixed {
        return (quote!(::graphweft), tokens.rest());
    }
    tokens.next();
    tokens.next();
    let path = tokens.take_statement();
    tokens.eat_punct(';');
    (path, tokens.rest())
}

impl Seen {
    pub(super) fn workflow(input: TokenStream) -> Seen {
        let (krate, input) = crate_path(input);
        let mut seen = Seen {
            krate,
            limits: Vec::new(),
            given: Vec::new(),
            name: None,
            input: None,
            output: None,
            lets: Vec::new(),
            mentions: Vec::new(),
            first: None,
            last: None,
            maps: Vec::new(),
            misplaced: Vec::new(),
            place: None,
            option_lists: 0,
            depth: 0,
        };
        let mut tokens = Tokens::new(input, None);
        seen.attributes(&mut tokens);
        match has_head(&tokens) {
            true => seen.item(&mut tokens),
            false => seen.statements(&mut tokens),
        }
        seen
    }

    fn attributes(&mut self, tokens: &mut Tokens) {
        while tokens.peek_punct('#') {
            tokens.next();
            let Some(group) = tokens.eat_group(Delimiter::Bracket) else { continue };
            let mut inside = Tokens::inside(&group);
            let Some(TokenTree::Ident(name)) = inside.next() else { continue };
            match inside.eat_group(Delimiter::Parenthesis) {
                Some(keys) if name == "given" => self.given.push(keys.stream()),
                _ => self.limits.push(name),
            }
        }
    }

    /// `pub checkout(Order) -> String { .. }`, behind its attributes.
    fn item(&mut self, tokens: &mut Tokens) {
        while !tokens.is_empty() && tokens.peek_group(Delimiter::Brace).is_none() {
            if let Some(name) = tokens.peek_ident().filter(|_| tokens.group_after(1, Delimiter::Parenthesis).is_some())
            {
                // `pub(crate)` comes first.
                self.name = Some(name.clone());
                tokens.next();
                self.input = tokens.eat_group(Delimiter::Parenthesis);
            } else if let Some(inputs) = tokens.eat_group(Delimiter::Parenthesis) {
                self.input = Some(inputs);
            } else if tokens.eat_pair('-', '>').is_some() {
                let mut output = TokenStream::new();
                while !tokens.is_empty() && tokens.peek_group(Delimiter::Brace).is_none() {
                    output.extend(tokens.next());
                }
                self.output = Some(output);
            } else {
                tokens.next();
            }
        }
        if let Some(body) = tokens.eat_group(Delimiter::Brace) {
            self.statements(&mut Tokens::inside(&body));
        }
    }

    fn statements(&mut self, tokens: &mut Tokens) {
        while !tokens.is_empty() {
            let before = tokens.position();
            if tokens.peek_word("let") {
                self.let_statement(tokens);
            } else {
                self.last = self.chain(tokens);
            }
            if tokens.position() == before {
                tokens.next();
            }
        }
    }

    /// `a => (b, c) => d`, and `a | b => c`. Gives the node that it ends in, if that is one.
    fn chain(&mut self, tokens: &mut Tokens) -> Option<TokenStream> {
        let mut source = None;
        loop {
            let before = source.take();
            let is_behind_start = before.as_ref().is_some_and(|node| is_name(node, "START"));
            source = self.shape(tokens, before);
            if is_behind_start && self.first.is_none() {
                self.first.clone_from(&source);
            }
            let leads_on = tokens.eat_pair('=', '>').is_some()
                || tokens.eat_pair('-', '>').is_some()
                || tokens.eat_punct('|').is_some()
                // An arrow that is still missing.
                || tokens.peek_punct('<');
            if !leads_on {
                return source;
            }
        }
    }

    /// What is between two arrows; gives it where it is a node.
    fn shape(&mut self, tokens: &mut Tokens, source: Option<TokenStream>) -> Option<TokenStream> {
        if self.depth >= DEEPEST {
            tokens.rest();
            return None;
        }
        self.depth += 1;
        let shape = self.shape_within_depth(tokens, source);
        self.depth -= 1;
        shape
    }

    fn shape_within_depth(&mut self, tokens: &mut Tokens, source: Option<TokenStream>) -> Option<TokenStream> {
        match tokens.peek()? {
            TokenTree::Ident(_) => self.node(tokens),
            TokenTree::Punct(_) if tokens.peek_path_separator() => self.node(tokens),
            TokenTree::Punct(_) => {
                let open = tokens.eat_punct('<')?;
                self.map(tokens, source, open, true);
                None
            }
            TokenTree::Group(group) => {
                let group = group.clone();
                tokens.next();
                let mut inside = Tokens::inside(&group);
                match group.delimiter() {
                    Delimiter::Brace => self.map(&mut inside, source, group.span_open(), false),
                    _ => self.statements(&mut inside),
                }
                None
            }
            TokenTree::Literal(_) => None,
        }
    }

    fn node(&mut self, tokens: &mut Tokens) -> Option<TokenStream> {
        let path = self.path(tokens)?;
        self.mentions.push(path.clone());
        if let Some((_, list)) = self.options(tokens) {
            self.misplaced.push(list);
        }
        Some(path)
    }

    /// `charge`, `billing::charge`; `None` for a name at the cursor.
    fn path(&mut self, tokens: &mut Tokens) -> Option<TokenStream> {
        let mut path = TokenStream::new();
        let mut segments = 0;
        loop {
            if tokens.peek_path_separator() {
                path.extend([tokens.next(), tokens.next()].into_iter().flatten());
                segments += 1;
            }
            let Some(name) = tokens.peek_ident().cloned() else { break };
            tokens.next();
            if marker::is_marker(&name) && segments == 0 {
                self.place = Some(Place::Node);
                return None;
            }
            path.extend([TokenTree::Ident(name)]);
            if !tokens.peek_path_separator() {
                break;
            }
        }
        Some(path)
    }

    /// `(timeout = "5s")` behind a node.
    fn options(&mut self, tokens: &mut Tokens) -> Option<(usize, OptionList)> {
        let group = tokens.eat_group(Delimiter::Parenthesis)?;
        let number = self.option_lists;
        self.option_lists += 1;
        let read = options::read(group.stream());
        if let Some((_, level)) = read.place {
            self.place = Some(Place::Option((number, level)));
        }
        Some((number, read.list))
    }

    /// The arms up to the `>`, or to the end of the braces.
    fn map(&mut self, tokens: &mut Tokens, source: Option<TokenStream>, open: Span, is_angled: bool) {
        let number = self.maps.len();
        self.maps.push(Map { source, open, labels: Vec::new(), has_others: false, is_bounded: false });
        let is_end =
            |tokens: &Tokens| tokens.is_empty() || is_angled && (tokens.peek_punct('>') || tokens.peek_punct(';'));
        while !is_end(tokens) {
            let before = tokens.position();
            self.labels(tokens, number);
            if tokens.eat_punct(':').is_some() {
                self.chain(tokens);
            }
            if tokens.eat_punct(',').is_none() && tokens.position() == before {
                tokens.next();
            }
        }
        if is_angled {
            tokens.eat_punct('>');
        }
    }

    /// `low | medium (at most 5)`
    fn labels(&mut self, tokens: &mut Tokens, number: usize) {
        while let Some(token) = tokens.peek().cloned() {
            let Some(map) = self.maps.get_mut(number) else { return };
            match token {
                TokenTree::Ident(name) if marker::is_marker(&name) => self.place = Some(Place::Label(number)),
                TokenTree::Ident(name) if name == "_" || name == "true" || name == "false" => map.has_others = true,
                TokenTree::Ident(name) => map.labels.push(name),
                TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => map.is_bounded = true,
                TokenTree::Punct(bar) if bar.as_char() == '|' => (),
                TokenTree::Literal(_) => map.has_others = true,
                TokenTree::Punct(sign) if sign.as_char() == '-' && tokens.peek_pair('-', '>') => return,
                TokenTree::Punct(sign) if ['-', '.', '='].contains(&sign.as_char()) => map.has_others = true,
                _ => return,
            }
            tokens.next();
        }
    }

    /// Up to the `;`.
    fn let_statement(&mut self, tokens: &mut Tokens) {
        tokens.next();
        let mut tokens = Tokens::new(tokens.take_statement(), None);
        tokens.eat_word("mut");
        let Some(name) = tokens.peek_ident().cloned() else { return };
        tokens.next();
        let mut ty = None;
        if tokens.eat_punct(':').is_some() {
            let mut written = TokenStream::new();
            while !tokens.is_empty() && !tokens.peek_punct('=') {
                written.extend(tokens.next());
            }
            ty = Some(written);
        }
        if tokens.eat_punct('=').is_none() {
            return;
        }
        let value = match ty {
            Some(_) => Value::Made { ty, value: tokens.rest() },
            None => match self.untyped(&mut tokens) {
                Some(value) => value,
                None => return,
            },
        };
        self.lets.push(Named { name, value });
    }

    fn untyped(&mut self, tokens: &mut Tokens) -> Option<Value> {
        let path = self.path(tokens)?;
        if tokens.peek_punct('<') {
            let mut arguments = TokenStream::new();
            while !tokens.is_empty() && tokens.peek_group(Delimiter::Brace).is_none() {
                arguments.extend(tokens.next());
            }
            let fields = tokens.rest();
            return Some(Value::Made { ty: Some(quote!(#path #arguments)), value: quote!(#path #fields) });
        }
        let options = self.options(tokens);
        if tokens.is_empty() {
            return Some(Value::Node { path, options });
        }
        let rest = tokens.rest();
        Some(Value::Made { ty: None, value: quote!(#path #rest) })
    }
}

/// Whether some tokens are that name alone.
pub(super) fn is_name(tokens: &TokenStream, name: &str) -> bool {
    tokens.to_string() == name
}

/// Whether what is behind the attributes is `name(Order) -> String { .. }`, or that without a name.
fn has_head(tokens: &Tokens) -> bool {
    let all: Vec<_> = (0..).map_while(|at| tokens.peek_after(at)).collect();
    let is_punct = |token: &TokenTree, sign| matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign);
    let has_arrow = all.windows(2).any(|pair| match pair {
        [first, second] => is_punct(first, '=') && is_punct(second, '>'),
        _ => false,
    });
    let ends_in_braces = matches!(all.last(), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace);
    tokens.peek_word("pub") || ends_in_braces && !has_arrow && !tokens.peek_word("let")
}

/// What a `let` calls a node, as its type: the path of the node, or the type that is written.
pub(super) fn type_of(named: &Named) -> Option<TokenStream> {
    match &named.value {
        Value::Node { path, .. } => Some(path.clone()),
        Value::Made { ty: Some(ty), .. } => Some(ty.clone()),
        Value::Made { ty: None, value } => {
            let is_path = |token: &TokenTree| !matches!(token, TokenTree::Group(_) | TokenTree::Literal(_));
            Some(value.to_token_stream().into_iter().take_while(is_path).collect())
        }
    }
}
