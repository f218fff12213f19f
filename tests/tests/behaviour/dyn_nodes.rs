//! Nodes that are called by name, with JSON.

use std::collections::BTreeMap;
use std::time::Duration;

use graphweft::EventKind;
use graphweft::prelude::*;
use graphweft::{DynError, DynNode, Json, Workflow, json};
use graphweft_tests::{Death, Journal, OnDisk, failure};

#[value]
#[derive(Debug, Clone, PartialEq)]
struct Topic {
    text: String,
    tags: Vec<String>,
}

#[value]
#[derive(Debug, Clone, PartialEq)]
enum SearchError {
    Nothing { query: String },
}

impl std::fmt::Display for SearchError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("nothing was found")
    }
}

impl std::error::Error for SearchError {}

/// Searches the archive.
///
/// Slowly.
#[node]
async fn search(
    query: String,
    topic: Option<Topic>,
    _limit: u32,
    #[resource] journal: &Journal,
    ctx: &Context,
) -> Result<Vec<String>, SearchError> {
    journal.note(format!("search {query}"));
    assert_eq!(ctx.attempt(), 1);
    if query.is_empty() {
        return Err(SearchError::Nothing { query });
    }
    Ok(vec![query, format!("{topic:?}")])
}

#[node]
async fn doubles(n: f64) -> f64 {
    n * 2.0
}

#[node]
async fn classifies(topic: Topic) -> usize {
    topic.tags.len()
}

#[node(name = "clock")]
async fn now() -> u32 {
    12
}

#[node]
async fn reads(path: String) -> std::io::Result<String> {
    std::fs::read_to_string(path)
}

workflow! {
    /// Adds one, twice over.
    pub adds(f64) -> f64 { START => doubles; }
}

fn registry() -> BTreeMap<String, DynNode> {
    let nodes = [
        DynNode::new::<search>(),
        DynNode::new::<doubles>(),
        DynNode::new::<classifies>(),
        DynNode::new::<now>(),
        DynNode::new::<adds>(),
        DynNode::error_as_text::<reads>(),
    ];
    nodes.into_iter().map(|node| (node.name().to_owned(), node)).collect()
}

type Call = (String, Json);

fn call(name: &str, input: Json) -> Call {
    (name.to_owned(), input)
}

#[node]
async fn agent(calls: Vec<Call>, ctx: &Context, #[resource] death: &Death) -> Vec<Json> {
    let registry = registry();
    let mut said = Vec::new();
    for (at, (name, input)) in calls.into_iter().enumerate() {
        said.push(match registry[&name].call(ctx, input).key(at).await {
            Ok(output) => output,
            Err(ChildError::Error(error)) => json!({ "error": error }),
            Err(fault) => fault.to_string().into(),
        });
    }
    death.come("after").await;
    said
}

workflow! { pub asking(Vec<Call>) -> Vec<Json> { START => agent; } }

fn said(calls: Vec<Call>) -> Vec<Json> {
    OnDisk::default().runs::<asking>(calls).0.unwrap()
}

#[test]
fn a_node_has_its_name_its_docs_and_the_schemas_of_its_parameters() {
    let node = DynNode::new::<search>();
    assert_eq!((node.name(), node.description()), ("search", "Searches the archive.\n\nSlowly."));
    let schema = node.input_schema();
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["required"], json!(["query", "limit"]));
    assert_eq!(schema["properties"]["query"], json!({ "type": "string" }));
    assert_eq!(schema["properties"]["limit"]["format"], "uint32");
    assert_eq!(schema["$defs"]["Topic"]["properties"]["tags"]["type"], "array");
    assert_eq!(node.output_schema()["items"]["type"], "string");

    assert_eq!(DynNode::new::<doubles>().input_schema()["properties"]["n"]["type"], "number");
    assert_eq!(DynNode::new::<classifies>().input_schema()["properties"]["text"]["type"], "string");
    assert_eq!(DynNode::new::<now>().name(), "clock");
    assert_eq!(DynNode::new::<now>().input_schema()["type"], "object");
    assert_eq!(DynNode::new::<adds>().description(), "Adds one, twice over.");
    assert_eq!(format!("{:?}", DynNode::new::<adds>()), r#"DynNode { name: "adds", .. }"#);
}

#[value]
enum Expression {
    Number(i32),
    Minus(Box<Expression>),
}

impl Expression {
    fn value(self) -> i32 {
        match self {
            Expression::Number(number) => number,
            Expression::Minus(of) => -of.value(),
        }
    }
}

/// Computes.
#[node]
async fn computes(expression: Expression) -> i32 {
    expression.value()
}

workflow! { computing(Json) -> Json { START => computes_any; } }

#[node]
async fn computes_any(input: Json, ctx: &Context) -> Result<Json, String> {
    DynNode::new::<computes>().call(ctx, input).await.map_err(|error| error.to_string())
}

#[test]
fn the_schema_of_a_parameter_with_a_recursive_type_refers_to_that_and_not_to_all_parameters() {
    let node = DynNode::new::<computes>();
    let schema = node.input_schema();
    assert_eq!(schema["properties"]["expression"], json!({ "$ref": "#/$defs/expression" }));
    let minus = &schema["$defs"]["expression"]["oneOf"][1]["properties"]["Minus"];
    assert_eq!(minus["$ref"], "#/$defs/expression", "{schema:#}");
    let input = json!({ "expression": { "Minus": { "Number": 1 } } });
    assert_eq!(graphweft::block_on(computing(input)).unwrap(), json!(-1));
}

#[test]
fn a_registry_can_be_shared_between_threads() {
    fn is_shared<T: Clone + Send + Sync + 'static>(_: &T) {}
    is_shared(&registry());
}

#[test]
fn each_form_of_input_is_taken() {
    let calls = vec![
        call("search", json!({ "query": "ants", "limit": 3 })),
        call("search", json!({ "query": "bees", "limit": 3, "topic": { "text": "x", "tags": [] } })),
        call("doubles", json!({ "n": 2 })),
        call("classifies", json!({ "text": "a", "tags": ["b", "c"] })),
        call("clock", json!({})),
        call("clock", Json::Null),
        call("adds", json!(4.5)),
    ];
    let wanted = vec![
        json!(["ants", "None"]),
        json!(["bees", "Some(Topic { text: \"x\", tags: [] })"]),
        json!(4.0),
        json!(2),
        json!(12),
        json!(12),
        json!(9.0),
    ];
    assert_eq!(said(calls), wanted);
}

#[test]
fn what_a_node_does_not_take_is_refused_with_its_field_before_anything_runs() {
    let topic = |tags: Json| json!({ "query": "a", "limit": 1, "topic": { "text": "x", "tags": tags } });
    let refused = [
        (call("search", json!({ "query": 1, "limit": 3 })), "at `query`: invalid type: integer `1`, expected a string"),
        (call("search", json!({ "query": "a" })), "at `limit`: it is missing"),
        (call("search", topic(json!(["b", 2]))), "at `topic.tags[1]`: invalid type: integer `2`, expected a string"),
        (
            call("search", json!({ "query": "a", "limit": 1, "lim": 2 })),
            "at `lim`: there is no such parameter: they are `query`, `topic`, `limit`",
        ),
        (call("search", json!(["a", null, 1])), "an object with the names of the parameters is expected"),
        (call("doubles", json!({ "n": "2" })), "at `n`: invalid type: string \"2\", expected f64"),
        (call("clock", json!({ "zone": 1 })), "at `zone`: there is no such parameter: there are none"),
        (
            call("classifies", json!({ "text": "a", "tags": [[]] })),
            "at `tags[0]`: invalid type: sequence, expected a string",
        ),
    ];
    for (call, message) in refused {
        let disk = OnDisk::default();
        let name = call.0.clone();
        let (said, events) = disk.runs::<asking>(vec![call]);
        assert_eq!(said.unwrap(), [format!("`{name}` does not take this input: {message}")]);
        assert!(disk.journal.lines().is_empty());
        assert!(!events.iter().any(|event| event.path.starts_with("asking/agent/")), "{events:?}");
    }
}

#[tokio::test]
async fn an_input_that_is_nested_too_deep_is_refused() {
    #[node]
    async fn calls(depth: usize, ctx: &Context) -> String {
        let deep = (0..depth).fold(Json::Null, |inner, _| Json::Array(vec![inner]));
        let input = Json::Object([("n".to_owned(), deep)].into_iter().collect());
        DynNode::new::<doubles>().call(ctx, input).await.unwrap_err().to_string()
    }
    workflow! { calling(usize) -> String { START => calls; } }
    let said = calling(200_000).await.unwrap();
    assert!(said.starts_with("`doubles` does not take this input"), "{said}");
    assert!(said.contains("nested more than 100 levels deep"), "{said}");
}

#[test]
fn an_error_is_its_text_and_its_json_and_the_same_after_a_restart() {
    let calls =
        || vec![call("search", json!({ "query": "", "limit": 1 })), call("reads", json!({ "path": "/no/such/file" }))];
    let live = said(calls());
    let disk = OnDisk::default();
    disk.dies_at::<asking>(calls(), "after");
    let resumed = disk.resumes::<asking>().0.unwrap();

    let of_search = json!({ "text": ["nothing was found"], "json": { "Nothing": { "query": "" } } });
    assert_eq!(live[0], json!({ "error": of_search }));
    assert_eq!(live[1]["error"]["json"], Json::Null);
    assert!(live[1]["error"]["text"][0].as_str().unwrap().contains("No such file"));
    assert_eq!(resumed, Json::Array(live));
    assert_eq!(disk.journal.count("search "), 1);
}

/// Calls the same child by its type in one program, by its name in the other.
mod typed {
    use super::{Death, adds, search};
    use graphweft::prelude::*;

    #[node]
    pub(super) async fn calls(ctx: &Context, #[resource] death: &Death) -> (Vec<String>, String, f64) {
        let found = ctx.call::<search>(("ants".to_owned(), None, 3)).key("a").await;
        let failed = ctx.call::<search>((String::new(), None, 3)).key("b").await;
        let sum = ctx.call::<adds>(4.5).await;
        death.come("after").await;
        (found.unwrap_or_default(), failed.unwrap_err().to_string(), sum.unwrap_or_default())
    }

    workflow! { pub(super) calling(()) -> (Vec<String>, String, f64) { START => calls; } }
}

mod by_name {
    use super::{Death, json, registry};
    use graphweft::prelude::*;

    #[node]
    pub(super) async fn calls(ctx: &Context, #[resource] death: &Death) -> (Vec<String>, String, f64) {
        let registry = registry();
        let search = |query: &str| registry["search"].call(ctx, json!({ "query": query, "limit": 3 }));
        let found = search("ants").key("a").await;
        let failed = search("").key("b").await;
        let sum = registry["adds"].call(ctx, json!(4.5)).await;
        death.come("after").await;
        let strings = found.unwrap().as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect();
        (strings, failed.unwrap_err().to_string(), sum.unwrap().as_f64().unwrap())
    }

    workflow! { pub(super) calling(()) -> (Vec<String>, String, f64) { START => calls; } }
}

#[test]
fn what_a_typed_call_has_recorded_is_returned_to_one_by_name_and_the_other_way_round() {
    let wanted = json!([["ants", "None"], "nothing was found", 9.0]);
    let disk = OnDisk::default();
    disk.dies_at::<typed::calling>((), "after");
    assert_eq!(disk.resumes::<by_name::calling>().0.unwrap(), wanted);
    assert_eq!(disk.journal.lines(), ["search ants", "search "]);

    let disk = OnDisk::default();
    disk.dies_at::<by_name::calling>((), "after");
    assert_eq!(disk.resumes::<typed::calling>().0.unwrap(), wanted);
    assert_eq!(disk.journal.lines(), ["search ants", "search "]);
}

/// The same tool of an agent in several versions.
mod tool {
    macro_rules! version {
        ($version:ident, $input:tt, ($($name:ident: $ty:ty),+)) => {
            pub(super) mod $version {
                use super::super::{Death, DynNode, Journal, Json, json};
                use graphweft::prelude::*;

                #[node]
                async fn finds($($name: $ty,)+ #[resource] journal: &Journal) -> String {
                    journal.note("finds");
                    format!("{:?}", ($($name,)+))
                }

                #[node]
                async fn agent(ctx: &Context, #[resource] death: &Death) -> Json {
                    let found = DynNode::new::<finds>().call(ctx, json!($input)).await;
                    death.come("after").await;
                    found.unwrap_or_else(|error| json!(error.to_string()))
                }

                workflow! { pub(in super::super) asking(()) -> Json { START => agent; } }
            }
        };
    }
    version!(of_one, { "words": ["a", "b"] }, (words: Vec<String>));
    version!(of_two, { "words": ["a", "b"], "limit": 3 }, (words: Vec<String>, limit: Option<u32>));
    version!(of_two_left_out, { "words": ["a", "b"] }, (words: Vec<String>, limit: Option<u32>));
    version!(
        of_four,
        { "words": ["a", "b"], "limit": 3 },
        (author: Option<String>, words: Vec<String>, limit: Option<u32>, since: Option<u64>)
    );
    version!(
        of_four_given,
        { "words": ["a", "b"], "limit": 3, "since": 0 },
        (author: Option<String>, words: Vec<String>, limit: Option<u32>, since: Option<u64>)
    );
    version!(of_a_list, { "words": [1, null] }, (words: Vec<Option<u32>>));
    version!(of_a_longer_list, { "words": [1, null, null] }, (words: Vec<Option<u32>>));
}

/// What the run came to in the second program, and how often the tool was used.
fn tool_after<Then, Now>() -> (String, usize)
where
    Then: Workflow<Input = (), Output = Json>,
    Now: Workflow<Input = (), Output = Json>,
{
    let disk = OnDisk::default();
    disk.dies_at::<Then>((), "after");
    let result = disk.resumes::<Now>().0;
    let came_to = result.map_or_else(|error| error.to_string(), |output| output.as_str().unwrap().to_owned());
    (came_to, disk.journal.count("finds"))
}

#[test]
fn a_tool_may_gain_parameters_that_are_left_out() {
    let found = |output: &str| (output.to_owned(), 1);
    assert_eq!(tool_after::<tool::of_one::asking, tool::of_two_left_out::asking>(), found(r#"(["a", "b"],)"#));
    assert_eq!(tool_after::<tool::of_two::asking, tool::of_four::asking>(), found(r#"(["a", "b"], Some(3))"#));
    let refused = |(output, times): (String, usize)| {
        assert!(output.contains("was recorded with a different input"), "{output}");
        assert_eq!(times, 1);
    };
    refused(tool_after::<tool::of_one::asking, tool::of_two::asking>());
    refused(tool_after::<tool::of_two::asking, tool::of_four_given::asking>());
    refused(tool_after::<tool::of_two::asking, tool::of_one::asking>());
    refused(tool_after::<tool::of_a_list::asking, tool::of_a_longer_list::asking>());
}

#[test]
fn the_records_of_both_are_the_same() {
    let kinds = |events: Vec<graphweft::Event>| -> Vec<_> {
        let without_time = |mut kind: EventKind| {
            if let EventKind::NodeStarted { began, .. } = &mut kind {
                *began = None;
            }
            kind
        };
        events.into_iter().map(|event| (event.path, without_time(event.kind))).collect()
    };
    let (_, typed) = OnDisk::default().runs::<typed::calling>(());
    let (_, by_name) = OnDisk::default().runs::<by_name::calling>(());
    assert_eq!(kinds(typed), kinds(by_name));
}

#[tokio::test(start_paused = true)]
async fn a_call_takes_the_options_of_a_child() {
    #[derive(Clone)]
    struct Flaky {
        sound_from: u32,
    }
    impl Node for Flaky {
        type Input = Json;
        type Output = u32;
        type Error = String;

        async fn run(&self, _: Json, ctx: &Context) -> Result<u32, String> {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if ctx.attempt() < self.sound_from { Err("not yet".to_owned()) } else { Ok(ctx.attempt()) }
        }
    }
    #[node]
    async fn calls(ctx: &Context) -> Result<Vec<Json>, ChildError<DynError>> {
        let flaky = DynNode::by_value("flaky", Flaky { sound_from: 3 });
        let policy = RetryPolicy::with_max_attempts(3);
        let sound = flaky.call(ctx, json!({})).key("sound").retry(policy).await?;
        let late = flaky.call(ctx, json!({})).key("late").timeout(Duration::from_millis(10)).await;
        let once = flaky.call(ctx, json!({})).key("once").at_most_once().await;
        Ok(vec![sound, late.unwrap_err().to_string().into(), once.unwrap_err().to_string().into()])
    }
    workflow! { calling(()) -> Vec<Json> { START => calls; } }
    assert_eq!(calling(()).await.unwrap(), [json!(3), json!("timed out after 10ms"), json!("not yet")]);
}

#[tokio::test]
async fn a_name_that_is_used_twice_without_a_key_is_refused() {
    #[node]
    async fn calls(ctx: &Context) -> Result<Json, ChildError<DynError>> {
        let doubles = DynNode::new::<doubles>();
        doubles.call(ctx, json!({ "n": 1 })).await?;
        doubles.call(ctx, json!({ "n": 1 })).await
    }
    workflow! { calling(()) -> Json { START => calls; } }
    let failed = failure(calling(()).await);
    assert!(failed.to_string().contains("duplicate request `calling/calls/doubles`"), "{failed}");
}
