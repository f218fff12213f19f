//! What a program has to return, by a plain interpreter that knows nothing of graphweft.

use std::collections::BTreeMap;

use crate::program::{Function, Input, Label, Program, Returns, Scope, Source, Style, What};
use crate::support::{mix, pick};

/// How many executions are enough. A loop may take long to find its way out.
const MANY: usize = 1_000;

/// How a run has to end, and how often each function has to be executed.
pub(crate) struct Expected {
    /// None: one of its nodes fails.
    pub(crate) output: Option<u64>,
    pub(crate) executed: BTreeMap<usize, usize>,
}

pub(crate) fn expected(program: &Program, input: u64) -> Option<Expected> {
    let mut model = Model { program, executed: BTreeMap::new(), total: 0 };
    let output = program.flows.last().map(|scope| model.output(scope, input))?;
    match output {
        Ok(output) => Some(Expected { output: Some(output), executed: model.executed }),
        Err(Ends::Fails) => Some(Expected { output: None, executed: model.executed }),
        Err(Ends::IsLong) => None,
    }
}

enum Ends {
    Fails,
    IsLong,
}

/// What is there in a scope. `none` carries nothing.
type Values = BTreeMap<Source, Value>;

#[derive(Clone)]
enum Value {
    Nothing,
    One(u64),
    Arrivals(Vec<u64>),
}

struct Model<'a> {
    program: &'a Program,
    executed: BTreeMap<usize, usize>,
    total: usize,
}

impl Model<'_> {
    /// What a scope gives, which is exactly one value.
    fn output(&mut self, scope: &Scope, input: u64) -> Result<u64, Ends> {
        let values = self.scope(scope, input, 1)?;
        let outputs: Vec<u64> = scope.ends.iter().filter_map(|end| one(values.get(end)?)).collect();
        assert_eq!(outputs.len(), 1, "a scope has one output");
        Ok(outputs[0])
    }

    fn scope(&mut self, scope: &Scope, input: u64, turn: u32) -> Result<Values, Ends> {
        let mut values = Values::from([(Source { element: scope.start, label: None }, Value::One(input))]);
        for at in &scope.elements {
            let element = &self.program.elements[*at];
            let arrived = |way: &Vec<Source>| -> Vec<Option<Value>> {
                way.iter().map(|source| values.get(source).cloned()).collect()
            };
            let mut ways: Vec<Vec<Option<Value>>> = element.ways.iter().map(arrived).collect();
            ways.retain(|way| way.iter().any(Option::is_some));
            if ways.is_empty() {
                continue;
            }
            let mut give = |label, value| drop(values.insert(Source { element: *at, label }, value));
            if let What::FirstN(count) = &element.what {
                let mut all: Vec<u64> = ways.concat().iter().flatten().filter_map(one).collect();
                assert_eq!(all.len(), *count, "all of them come");
                all.sort_unstable();
                give(None, Value::Arrivals(all));
                continue;
            }
            assert_eq!(ways.len(), 1, "an element is executed once");
            let inputs = ways.remove(0);
            match &element.what {
                What::Start | What::FirstN(_) => {}
                What::Function(function) => {
                    let hash = self.execute(function, &given(function, &inputs))?;
                    let (label, value) = routed(function, hash, turn);
                    if let Some(label) = label {
                        give(Some(Label::Arm(label)), if label == "none" { Value::Nothing } else { value.clone() });
                    }
                    give(None, value);
                }
                What::Loop { inside, exits, back } => {
                    let mut input = single(&inputs);
                    let mut turn = 1;
                    let (exit, value) = loop {
                        let inner = self.scope(inside, input, turn)?;
                        let found = |sources: &[Source]| -> Vec<(usize, u64)> {
                            let value = |source: &Source| inner.get(source).and_then(one);
                            sources.iter().enumerate().filter_map(|(at, end)| Some((at, value(end)?))).collect()
                        };
                        let (out, again) = (found(exits), found(back));
                        assert_eq!(out.len() + again.len(), 1, "a turn ends in one way");
                        if let Some(out) = out.first() {
                            break *out;
                        }
                        input = again[0].1;
                        turn += 1;
                    };
                    give(Some(Label::Exit(exit)), Value::One(value));
                }
                What::Each { items, inside, gathers } => {
                    let hash = self.execute(items, &given(items, &inputs))?;
                    let mut outputs = Vec::new();
                    for item in 0..pick(hash, 4) {
                        outputs.push(Some(self.output(inside, hash.wrapping_add(item))?));
                    }
                    give(None, Value::One(self.execute(gathers, &outputs)?));
                }
                What::Flow(flow) => {
                    let output = self.output(&self.program.flows[*flow], single(&inputs))?;
                    give(None, Value::One(output));
                }
            }
        }
        Ok(values)
    }

    fn execute(&mut self, function: &Function, inputs: &[Option<u64>]) -> Result<u64, Ends> {
        let hash = mix(function.id as u64, inputs);
        if function.style == Style::Fails && pick(hash, 9) == 0 {
            return Err(Ends::Fails);
        }
        *self.executed.entry(function.id).or_default() += 1;
        self.total += 1;
        if self.total > MANY { Err(Ends::IsLong) } else { Ok(hash) }
    }
}

fn one(value: &Value) -> Option<u64> {
    match value {
        Value::One(value) => Some(*value),
        _ => None,
    }
}

fn single(inputs: &[Option<Value>]) -> u64 {
    inputs.iter().flatten().find_map(one).expect("a value comes")
}

/// What a function is given, of what has come to it.
fn given(function: &Function, inputs: &[Option<Value>]) -> Vec<Option<u64>> {
    let came: Vec<Option<u64>> = inputs.iter().map(|input| input.as_ref().and_then(one)).collect();
    match function.inputs[..] {
        [] => Vec::new(),
        [Input::Arrivals] => match &inputs[0] {
            Some(Value::Arrivals(all)) => all.iter().copied().map(Some).collect(),
            _ => panic!("arrivals come"),
        },
        // Of several that exclude each other, it takes the one that comes.
        [Input::Value] => {
            assert_eq!(came.iter().flatten().count(), 1, "one value comes");
            vec![came.into_iter().flatten().next()]
        }
        _ => {
            for (input, came) in function.inputs.iter().zip(&came) {
                assert!(came.is_some() || *input == Input::Maybe, "a value comes for sure");
            }
            came
        }
    }
}

/// The label that a function takes, and what it carries.
fn routed(function: &Function, hash: u64, turn: u32) -> (Option<&'static str>, Value) {
    let labels = function.returns.labels();
    let (at, value) = match function.returns {
        Returns::Value | Returns::List => return (None, Value::One(hash)),
        Returns::Number => match pick(hash, 14) {
            number @ 0..=9 => (0, number),
            number @ 10..=11 => (1, number),
            number => (2, number),
        },
        _ => (pick(hash, labels.len() as u64) as usize, hash),
    };
    let label = match function.bound {
        Some((bound, times)) if bound == labels[at] && turn > times => "spent",
        _ => labels[at],
    };
    (Some(label), Value::One(value))
}
