//! The options of `#[agent(..)]`.

use std::time::Duration;

use graphweft_macros_core::diagnostics::{Blame, Diagnostics};
use graphweft_macros_core::options::{NodeOptions, Reader, RetryOptions, Value, Written};
use proc_macro2::TokenStream;
use syn::parse::Parser as _;
use syn::punctuated::Punctuated;
use syn::{Expr, ExprPath, Path, Token};

const OF_AN_AGENT: [&str; 17] = [
    "tools",
    "model",
    "memory",
    "instructions",
    "max_turns",
    "repairs",
    "check",
    "max_tokens",
    "temperature",
    "timeout",
    "retry",
    "with",
    "name",
    "renamed_from",
    "max_parallel",
    "crate",
    "graphweft",
];

/// Every option that was written.
#[derive(Default)]
pub(crate) struct AgentOptions {
    pub(crate) tools: Vec<ToolOption>,
    /// Calls of the setters of an `Agent`: name and argument.
    pub(crate) setters: Vec<(&'static str, Setting)>,
    pub(crate) instructions: Option<Expr>,
    pub(crate) with: Option<Expr>,
    /// Those of its node.
    pub(crate) node: NodeOptions,
    /// The path of graphweft-agents.
    pub(crate) krate: Option<Path>,
}

pub(crate) enum ToolOption {
    /// A node, by its name.
    Node(Path),
    /// An expression that makes a tool.
    Value(Box<Expr>),
}

pub(crate) enum Setting {
    Expression(Box<Expr>),
    Count(u32),
    Number(f64),
    Duration(Duration),
    Retry(Box<RetryOptions>),
}

/// Reads the arguments of `#[agent(..)]`.
pub(crate) fn parse(args: TokenStream) -> (AgentOptions, Diagnostics) {
    let mut options = AgentOptions::default();
    let mut reader = Reader::default();
    reader.each(args, "agent", &OF_AN_AGENT, is_meant, |reader, option| read(&mut options, reader, option));
    (options, reader.diagnostics)
}

fn read(options: &mut AgentOptions, reader: &mut Reader, option: &Written) {
    let setting = match option.text.as_str() {
        "tools" => {
            options.tools = tools(reader, option);
            return;
        }
        "instructions" => {
            options.instructions = reader.value(option, "include_str!(\"refunds.md\")").cloned();
            return;
        }
        "with" => {
            options.with = reader.value(option, "|agent| agent.max_turns(6)").cloned();
            return;
        }
        "name" => {
            options.node.name = reader.name(option);
            return;
        }
        "renamed_from" => {
            options.node.renamed_from = reader.former_names(option);
            return;
        }
        "max_parallel" => {
            options.node.max_parallel = reader.count(option, "4").map(|most| (most, option.name.span()));
            return;
        }
        "crate" => {
            options.krate = reader.path(option, "::graphweft_agents");
            return;
        }
        "graphweft" => {
            options.node.krate = reader.path(option, "::graphweft");
            return;
        }
        "model" => {
            ("model", reader.value(option, "\"small\"").cloned().map(|value| Setting::Expression(Box::new(value))))
        }
        "memory" => {
            let memory = reader.value(option, "Memory::session(\"chat\")").cloned();
            ("memory", memory.map(|value| Setting::Expression(Box::new(value))))
        }
        "check" => {
            ("check", reader.value(option, "Refund::check").cloned().map(|value| Setting::Expression(Box::new(value))))
        }
        "max_turns" => ("max_turns", reader.count(option, "6").map(Setting::Count)),
        "repairs" => ("repairs", reader.count_from(option, "2", 0).map(Setting::Count)),
        "max_tokens" => ("max_tokens", reader.count(option, "1000").map(Setting::Count)),
        "temperature" => {
            let temperature = reader.factor(option, "0.2", "zero or more", |temperature| temperature >= 0.0);
            ("temperature", temperature.map(Setting::Number))
        }
        "retry" => ("retry", retry(reader, option).map(|retry| Setting::Retry(Box::new(retry)))),
        _ => {
            let limit = reader.duration(option, "2m").filter(|limit| {
                reader.longer_than_zero(
                    option,
                    limit.is_zero(),
                    "every model call would fail at once: write how long one may take",
                )
            });
            ("timeout", limit.map(Setting::Duration))
        }
    };
    let (name, setting) = setting;
    options.setters.extend(setting.map(|setting| (name, setting)));
}

fn tools(reader: &mut Reader, option: &Written) -> Vec<ToolOption> {
    const EXAMPLE: &str = "`tools(search, read)`";
    let Value::List(tools) = &option.value else {
        let blame = reader.blame(option);
        reader.diagnostics.error(blame, "the tools of an agent are written in parentheses").help(EXAMPLE);
        return Vec::new();
    };
    match Punctuated::<Expr, Token![,]>::parse_terminated.parse2(tools.clone()) {
        Ok(tools) => tools.into_iter().map(tool).collect(),
        Err(_) => {
            reader
                .diagnostics
                .error(Blame::tokens(tools), "a tool is the name of a node, or an expression that makes a `Tool`")
                .help("`tools(search, Tool::of::<pay>().approve())`");
            Vec::new()
        }
    }
}

fn tool(tool: Expr) -> ToolOption {
    match tool {
        Expr::Path(ExprPath { qself: None, path, attrs }) if attrs.is_empty() => ToolOption::Node(path),
        value => ToolOption::Value(Box::new(value)),
    }
}

/// The retries of a model call. Which errors are retried is known.
fn retry(reader: &mut Reader, option: &Written) -> Option<RetryOptions> {
    let retry = reader.retry(option)?;
    for (name, function) in [("when", &retry.when), ("after", &retry.after)] {
        if let Some(function) = function {
            reader
                .diagnostics
                .error(Blame::tokens(function), format!("the retries of a model call have no `{name}`"))
                .help("leave it out: errors that pass are retried, after the delay that the provider asks for");
        }
    }
    Some(retry)
}

/// What to write for a word that other libraries use, or that belongs elsewhere.
fn is_meant(word: &str) -> Option<&'static str> {
    Some(match word {
        "tool" | "functions" => "the tools are named in one option: `tools(search, read)`",
        "prompt" | "user" => {
            "the prompt is the body of the function: `{ format!(\"{} writes: {}\", mail.from, mail.text) }`"
        }
        "doc" | "description" => "what an agent is for is the first paragraph of its doc comment",
        "system" | "system_prompt" => {
            "the instructions are the doc comment, behind its first paragraph, or `instructions = ..`"
        }
        "output" | "response_format" | "schema" => "what the model has to give is the return type of the function",
        "at_most_once" | "approve" | "approve_when" => {
            "it belongs to a tool: `tools(Tool::of::<pay>().approve().at_most_once())`"
        }
        "max_iterations" | "max_steps" => "the number of model calls is `max_turns = 6`",
        "budget" => "it is set by `with = |agent| agent.budget(Budget::new().tokens(10_000))`",
        "session" => "it is a memory: `memory = Memory::session(\"chat\")`",
        "in_run" => "such an agent is made by value: `Agent::new(..).in_run()`",
        "uses" => "what an agent may call are its `tools(..)`",
        "resource" | "resources" => "a resource is a parameter: `#[resource] db: &Pool`",
        _ => return None,
    })
}
