//! Writes a program as source: with statements in any order, of which some hold chains of others.

use std::collections::BTreeMap;

use graphweft_judge::random_graphs::Random;

use crate::draw::shuffle;
use crate::program::{Element, ElementIx, Function, Input, Label, Program, Returns, Scope, Source, Style, What};

/// How deep shapes and chains stand in one statement.
const DEEP: usize = 6;

/// The functions and workflows of a program, and the name of the last workflow.
pub(crate) fn source(program: &Program, random: &mut Random) -> (String, String) {
    let mut text = String::new();
    let mut name = String::new();
    let used = used(program);
    for (at, flow) in program.flows.iter().enumerate() {
        if !used.contains(&at) {
            continue;
        }
        for function in functions(program, flow) {
            text += &write_function(function);
        }
        name = flow_name(at);
        let body = Writer::of(program, flow, random).flow(flow);
        text += &format!("workflow! {{\n    pub {name}(u64) -> u64 {{\n{body}    }}\n}}\n");
    }
    (text, name)
}

/// All functions of the workflows of a program that are executed.
pub(crate) fn all_functions(program: &Program) -> Vec<&Function> {
    used(program).into_iter().flat_map(|flow| functions(program, &program.flows[flow])).collect()
}

/// The workflows that the last one needs, and that: each behind those that it needs.
fn used(program: &Program) -> Vec<usize> {
    let mut used = vec![program.flows.len() - 1];
    let mut at = 0;
    while let Some(flow) = used.get(at) {
        for element in everything(program, &program.flows[*flow]) {
            if let What::Flow(inner) = element.what {
                used.push(inner);
            }
        }
        at += 1;
    }
    used.sort_unstable();
    used
}

/// The elements of a scope, with those in its loops and of its items.
fn everything<'a>(program: &'a Program, scope: &Scope) -> Vec<&'a Element> {
    let mut all = Vec::new();
    for at in program.flat(scope) {
        let element = &program.elements[at];
        all.push(element);
        if let What::Each { inside, .. } = &element.what {
            all.extend(everything(program, inside));
        }
    }
    all
}

fn functions<'a>(program: &'a Program, scope: &Scope) -> Vec<&'a Function> {
    let of = |element: &'a Element| match &element.what {
        What::Function(function) => vec![function],
        What::Each { items, gathers, .. } => vec![items, gathers],
        _ => Vec::new(),
    };
    everything(program, scope).into_iter().flat_map(of).collect()
}

pub(crate) fn function_name(function: &Function) -> String {
    format!("n{}", function.id)
}

fn flow_name(at: usize) -> String {
    format!("w{at}")
}

fn write_function(function: &Function) -> String {
    let Function { id, inputs, returns, style, .. } = function;
    let name = function_name(function);
    let parameter = |(at, input): (usize, &Input)| match input {
        Input::Value => format!("a{at}: u64"),
        Input::Maybe => format!("a{at}: Option<u64>"),
        Input::List | Input::Arrivals => format!("mut a{at}: Vec<u64>"),
    };
    let mut parameters: Vec<String> = inputs.iter().enumerate().map(parameter).collect();
    let mut body = String::new();
    match inputs[..] {
        [Input::List] => body += "let inputs: Vec<_> = a0.drain(..).map(Some).collect(); ",
        [Input::Arrivals] => {
            body += "a0.sort_unstable(); let inputs: Vec<_> = a0.into_iter().map(Some).collect(); ";
        }
        _ => {
            let given = |(at, input): (usize, &Input)| match input {
                Input::Value => format!("Some(a{at})"),
                _ => format!("a{at}"),
            };
            let given: Vec<String> = inputs.iter().enumerate().map(given).collect();
            body += &format!("let inputs: [Option<u64>; {}] = [{}]; ", inputs.len(), given.join(", "));
        }
    }
    body += &format!("let hash = mix({id}, &inputs); ");
    let (mut output, mut value) = match returns {
        Returns::Value => ("u64", "hash"),
        Returns::List => ("Vec<u64>", "(0..pick(hash, 4)).map(|item| hash.wrapping_add(item)).collect()"),
        Returns::Two => ("Two", "Two::of(hash)"),
        Returns::Three => ("Three", "Three::of(hash)"),
        Returns::Result => ("Result<u64, u64>", "if pick(hash, 2) == 0 { Ok(hash) } else { Err(hash) }"),
        Returns::Nested => ("Result<Two, u64>", "Two::or_error(hash)"),
        Returns::Option => ("Option<u64>", "if pick(hash, 2) == 0 { Some(hash) } else { None }"),
        Returns::Number => ("u8", "pick(hash, 14) as u8"),
    };
    let (mut options, mut keyword) = ("", "async fn");
    match style {
        Style::Async => {}
        Style::Yields => body += "tokio::task::yield_now().await; ",
        Style::Sleeps => body += "tokio::time::sleep(std::time::Duration::from_millis(1)).await; ",
        Style::Plain => keyword = "fn",
        Style::Blocking => (options, keyword) = ("(blocking)", "fn"),
        Style::Retries => {
            options = "(retry(max_attempts = 3, initial_delay = \"1ms\"))";
            parameters.push("ctx: &Context".to_owned());
            body += "if u64::from(ctx.attempt()) <= pick(hash, 3) { return Err(FAILS.to_owned()); } ";
            (output, value) = ("Result<u64, String>", "Ok(hash)");
        }
        Style::Fails => {
            body += "if pick(hash, 9) == 0 { return Err(FAILS.to_owned()); } ";
            (output, value) = ("Result<u64, String>", "Ok(hash)");
        }
    }
    body += &format!("EXECUTED[{id}].fetch_add(1, SeqCst); ");
    let parameters = parameters.join(", ");
    format!("#[node{options}]\n{keyword} {name}({parameters}) -> {output} {{ {body}{value} }}\n")
}

/// Where an edge leads.
#[derive(Clone, Copy)]
enum Target {
    Element(ElementIx),
    End,
}

/// The statements of one scope. What is written is taken out of the edges that are left.
struct Writer<'a, 'r> {
    program: &'a Program,
    random: &'r mut Random,
    plain: BTreeMap<ElementIx, Vec<Target>>,
    arms: BTreeMap<ElementIx, BTreeMap<&'static str, Vec<Target>>>,
    /// Ways on which several come together.
    groups: Vec<(Vec<ElementIx>, Target)>,
}

impl<'a, 'r> Writer<'a, 'r> {
    fn of(program: &'a Program, scope: &Scope, random: &'r mut Random) -> Self {
        let mut writer = Writer { program, random, plain: BTreeMap::new(), arms: BTreeMap::new(), groups: Vec::new() };
        writer.add_edges(scope);
        writer
    }

    fn add_edges(&mut self, scope: &Scope) {
        for at in &scope.elements {
            let Element { what, ways } = &self.program.elements[*at];
            let target = Target::Element(self.program.entry(*at));
            if let What::Loop { inside, back, .. } = what {
                for source in back {
                    self.add_edge(*source, target);
                }
                self.add_edges(inside);
            }
            if matches!(what, What::FirstN(_)) {
                continue;
            }
            for way in ways {
                match way[..] {
                    // What comes into a loop, or is an item, comes from outside.
                    [source] if source.element == scope.start && !self.is_shown(scope) => {}
                    [source] => self.add_edge(source, target),
                    _ => {
                        let from = way.iter().map(|source| self.program.origin(*source).element).collect();
                        self.groups.push((from, target));
                    }
                }
            }
        }
    }

    /// Whether START of a scope is that of a workflow.
    fn is_shown(&self, scope: &Scope) -> bool {
        self.program.flows.iter().any(|flow| flow.start == scope.start)
    }

    fn add_edge(&mut self, source: Source, target: Target) {
        let Source { element, label } = self.program.origin(source);
        match label {
            Some(Label::Arm(label)) => {
                self.arms.entry(element).or_default().entry(label).or_default().push(target);
            }
            _ => self.plain.entry(element).or_default().push(target),
        }
    }

    /// The body of a workflow.
    fn flow(mut self, scope: &Scope) -> String {
        let elements = self.program.flat(scope);
        let gathers = |at: &ElementIx| matches!(self.program.what(*at), What::FirstN(_));
        let gathers: Vec<ElementIx> = elements.iter().copied().filter(gathers).collect();
        let grouped: Vec<ElementIx> = self.groups.iter().flat_map(|(from, _)| from).copied().collect();
        let gathered = gathers.iter().flat_map(|at| self.program.elements[*at].ways.iter().flatten());
        let gathered: Vec<ElementIx> = gathered.map(|source| source.element).collect();
        let leads_on = |at: &ElementIx| {
            self.plain.contains_key(at) || self.arms.contains_key(at) || grouped.contains(at) || gathered.contains(at)
        };
        let ends: Vec<Source> = scope.ends.iter().map(|end| self.program.origin(*end)).collect();
        let is_end = |at: &ElementIx| ends.iter().any(|end| end.element == *at);
        // Where exactly the ends lead nowhere, END need not be written.
        let may_be_left_out = elements.iter().all(|at| leads_on(at) || is_end(at))
            && ends.iter().all(|end| end.label.is_none() && !leads_on(&end.element));
        if !may_be_left_out || self.random.in_percent(40) {
            for end in ends {
                self.add_edge(end, Target::End);
            }
        }
        let mut text = String::new();
        for at in &gathers {
            if let What::FirstN(count) = self.program.what(*at) {
                text += &format!("        let {}: FirstN<u64> = FirstN::new({count});\n", self.name(*at));
            }
        }
        for statement in self.statements(scope, &gathers) {
            text += &format!("        {statement};\n");
        }
        text
    }

    fn statements(&mut self, scope: &Scope, gathers: &[ElementIx]) -> Vec<String> {
        let mut statements = Vec::new();
        let mut order: Vec<ElementIx> = self.plain.keys().chain(self.arms.keys()).copied().collect();
        shuffle(self.random, &mut order);
        order.sort_by_key(|at| *at != scope.start);
        for at in order.clone() {
            if self.random.in_percent(85) {
                self.write_edges(at, &mut statements);
            }
        }
        for (from, target) in std::mem::take(&mut self.groups) {
            let names: Vec<String> = from.iter().map(|at| self.name(*at)).collect();
            let target = self.target(target, 0);
            statements.push(format!("({}) => {target}", names.join(", ")));
        }
        for at in gathers {
            let ways = self.program.elements[*at].ways.iter().flatten();
            let names: Vec<String> = ways.map(|source| self.name(source.element)).collect();
            let target = self.target(Target::Element(*at), 0);
            statements.push(format!("{} => {target}", names.join(" | ")));
        }
        for at in order {
            self.write_edges(at, &mut statements);
        }
        statements
    }

    /// The edges of an element that are left, in one statement or in several.
    fn write_edges(&mut self, at: ElementIx, statements: &mut Vec<String>) {
        let name = self.name(at);
        if let Some(targets) = self.plain.remove(&at) {
            if self.random.in_percent(50) {
                for target in targets {
                    let target = self.target(target, 0);
                    statements.push(format!("{name} => {target}"));
                }
            } else {
                let targets = self.targets(&targets, 0);
                statements.push(format!("{name} => {targets}"));
            }
        }
        if self.arms.contains_key(&at) {
            let arms = self.write_arms(at, 0);
            statements.push(format!("{name} => {arms}"));
        }
    }

    fn targets(&mut self, targets: &[Target], depth: usize) -> String {
        let texts: Vec<String> = targets.iter().map(|target| self.target(*target, depth + 1)).collect();
        if let [text] = &texts[..] { text.clone() } else { format!("({})", texts.join(", ")) }
    }

    /// A target, perhaps with what is behind it.
    fn target(&mut self, target: Target, depth: usize) -> String {
        let Target::Element(at) = target else { return "END".to_owned() };
        let program = self.program;
        let text = match program.what(at) {
            What::Each { items, inside, gathers } => {
                let mut inner = Writer::of(program, inside, self.random);
                let mut statements = vec![inner.target(Target::Element(program.entry(inside.first)), 0)];
                statements.extend(inner.statements(inside, &[]));
                format!("{} => [{}] => {}", function_name(items), statements.join("; "), function_name(gathers))
            }
            _ => self.name(at),
        };
        text + &self.behind(at, depth)
    }

    fn behind(&mut self, at: ElementIx, depth: usize) -> String {
        if depth > DEEP || self.random.in_percent(35) {
            return String::new();
        }
        match (self.plain.contains_key(&at), self.arms.contains_key(&at)) {
            (true, false) => {
                let targets = self.plain.remove(&at).unwrap_or_default();
                format!(" => {}", self.targets(&targets, depth))
            }
            (false, true) => format!(" => {}", self.write_arms(at, depth)),
            _ => String::new(),
        }
    }

    fn write_arms(&mut self, at: ElementIx, depth: usize) -> String {
        let mut arms: Vec<(&'static str, Vec<Target>)> =
            self.arms.remove(&at).unwrap_or_default().into_iter().collect();
        let (labels, bound) = match self.program.function(at) {
            Some(function) => (function.returns.labels(), function.bound),
            None => (&[][..], None),
        };
        // What stands for all others comes last.
        arms.sort_by_key(|(label, _)| labels.iter().position(|other| other == label));
        if arms.iter().all(|(label, _)| *label != "_") {
            shuffle(self.random, &mut arms);
        }
        let mut texts = Vec::new();
        for (label, targets) in arms {
            let times = match bound {
                Some((bound, times)) if bound == label => format!(" (at most {times})"),
                _ => String::new(),
            };
            texts.push(format!("{label}{times}: {}", self.targets(&targets, depth)));
        }
        format!("<{}>", texts.join(", "))
    }

    /// The name by which an element is meant where a value comes from.
    fn name(&self, at: ElementIx) -> String {
        match self.program.what(at) {
            What::Start => "START".to_owned(),
            What::Function(function) => function_name(function),
            What::Each { gathers, .. } => function_name(gathers),
            What::Flow(flow) => flow_name(*flow),
            What::FirstN(_) => format!("first{at}"),
            What::Loop { inside, .. } => self.name(self.program.entry(inside.first)),
        }
    }
}
