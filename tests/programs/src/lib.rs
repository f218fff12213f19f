//! Programs that are drawn, each a tree of workflows with functions for its nodes, and what each of them has to return.
//!
//! `tests/programs/check.sh` has a hundred of them compiled, and runs them: without an engine, in one, on one thread and on several, and with a
//! crash at every commit. The macros, the types that they emit, and the runtime are held against an interpreter of a few lines. It found
//! a workflow that ended with an index out of bounds: it needed a nested workflow, several threads and no engine.

mod draw;
mod model;
mod program;
mod source;
pub mod support;

use std::fmt::Write;

use graphweft_judge::random_graphs::Random;

/// A program as source.
pub struct Drawn {
    /// The items of a module: functions, workflows, and a function `check` that runs the program.
    pub text: String,
    /// The bodies of its workflows, as they are given to `workflow!`.
    pub workflows: Vec<String>,
}

/// The inputs with which each program is run.
const INPUTS: u64 = 8;

/// The program of a seed.
pub fn draw(seed: u64) -> Drawn {
    let mut random = Random::new(seed);
    let (program, cases) = loop {
        let program = draw::program(&mut random);
        let cases = (0..INPUTS).filter_map(|input| Some((input, model::expected(&program, input)?)));
        let cases: Vec<(u64, model::Expected)> = cases.collect();
        if !cases.is_empty() {
            break (program, cases);
        }
    };
    let (items, name) = source::source(&program, &mut random);
    let functions = source::all_functions(&program);
    let count = functions.iter().map(|function| function.id + 1).max().unwrap_or_default();
    let names: Vec<String> = functions.iter().map(|function| source::function_name(function)).collect();
    let mut text = format!(
        "use std::sync::atomic::{{AtomicUsize, Ordering::SeqCst}};\nuse graphweft::FirstN;\nuse graphweft::prelude::*;\n\
         use graphweft::testing::Lab;\nuse graphweft_programs::support::*;\n\n\
         static EXECUTED: [AtomicUsize; {count}] = [const {{ AtomicUsize::new(0) }}; {count}];\n\n{items}\n\
         fn lab() -> Lab<{name}> {{\n    Lab::of::<{name}>()"
    );
    for name in names {
        let _ = write!(text, ".repeatable::<{name}>()");
    }
    // What comes first may be another one after a crash.
    let lab = if items.contains("FirstN") { "None" } else { "Some(lab)" };
    let _ = write!(
        text,
        "\n}}\n\npub fn check(checks: &mut Checks) {{\n    checks.program::<{name}, _>(\"seed {seed}\", &EXECUTED, |input| {name}(input).into_future(), {lab}, &[\n"
    );
    for (input, model::Expected { output, executed }) in cases {
        let executed: Vec<(usize, usize)> = executed.into_iter().collect();
        let _ = writeln!(text, "        Case {{ input: {input}, output: {output:?}, executed: &{executed:?} }},");
    }
    text += "    ]);\n}\n";
    let workflows = items.split("workflow! {").skip(1);
    let workflows = workflows.filter_map(|text| Some(text.split_once("\n}\n")?.0.to_owned())).collect();
    Drawn { text, workflows }
}
