//! Tools for models that know none.

use graphweft::prelude::*;
use graphweft::{Json, json};
use graphweft_agents::{Agent, AgentError, Constrained, Delta, Message, Models, Request, Scripted, Tool};
use graphweft_tests::failure;

use crate::scene::{last_text, run};

#[value]
#[derive(Debug, PartialEq)]
enum Unit {
    Celsius,
    Kelvin,
}

#[value]
struct Place {
    city: String,
    unit: Unit,
}

/// Says what the weather is.
#[node]
async fn weather(place: Place) -> String {
    format!("{:?} in {}", place.unit, place.city)
}

/// Another type of the same name as that of the other tool.
mod money {
    use graphweft::prelude::*;

    #[value]
    pub(super) enum Unit {
        Euro,
        Dollar,
    }

    /// Says what a thing costs.
    #[node]
    pub(super) async fn price(item: String, unit: Unit) -> String {
        let unit = if matches!(unit, Unit::Euro) { "euros" } else { "dollars" };
        format!("{item}: 3 {unit}")
    }
}

fn helper() -> Agent<String, String> {
    Agent::new("You help.").tool(Tool::of::<weather>()).tool(Tool::of::<money::price>()).max_turns(4)
}

workflow! {
    help(String) -> String {
        let helper: Agent<String, String> = helper();
        START => helper;
    }
}

fn counter() -> Agent<String, u32> {
    Agent::new("You count.").tool(Tool::of::<weather>())
}

workflow! {
    count(String) -> u32 {
        let counter: Agent<String, u32> = counter();
        START => counter;
    }
}

fn weather_in(city: &str) -> Message {
    Message::assistant(json!({ "tool": "weather", "arguments": { "city": city, "unit": "Kelvin" } }).to_string())
}

fn answer(text: &str) -> Message {
    Message::assistant(json!({ "answer": text }).to_string())
}

/// The schemas of the replies to each request.
fn schemas(model: &Scripted) -> Vec<Json> {
    let schema = |request: &Request| request.format.as_ref().map(|format| format.schema.clone()).unwrap_or_default();
    model.requests().iter().map(schema).collect()
}

#[tokio::test]
async fn the_first_reply_is_a_call_and_after_its_result_comes_the_answer() {
    let model = Scripted::turns([weather_in("Paris"), answer("Take a coat.")]);
    assert_eq!(run::<help>(Constrained::new(model.clone()), "Paris?".into()).await.unwrap(), "Take a coat.");

    let requests = model.requests();
    assert!(requests.iter().all(|request| request.tools.is_empty()));
    let roles = [Message::user("Paris?"), weather_in("Paris"), Message::user("`weather` returned: Kelvin in Paris")];
    assert_eq!(requests[1].messages[..], roles);
    assert!(requests[0].instructions.contains("Tool `weather`: Says what the weather is."));

    let [first, second] = &schemas(&model)[..] else { panic!("two requests") };
    let tools: Vec<&Json> =
        first["anyOf"].as_array().unwrap().iter().map(|way| &way["properties"]["tool"]["const"]).collect();
    assert_eq!(tools, ["weather", "price"]);
    assert_eq!(second["required"], json!(["answer"]));
    assert_eq!(second["properties"]["answer"]["type"], "string");
}

#[tokio::test]
async fn types_of_one_name_in_two_tools_stay_apart_in_the_schema() {
    let model = Scripted::turns([
        Message::assistant(json!({ "tool": "price", "arguments": { "item": "tea", "unit": "Euro" } }).to_string()),
        answer("Three."),
    ]);
    assert_eq!(run::<help>(Constrained::new(model.clone()), "Tea?".into()).await.unwrap(), "Three.");
    assert!(last_text(&model.requests()[1]).ends_with("tea: 3 euros"), "{:?}", model.requests()[1]);

    let schema = &schemas(&model)[0];
    for (way, first) in [(0, "Celsius"), (1, "Euro")] {
        let arguments = &schema["anyOf"][way]["properties"]["arguments"];
        let reference = arguments["properties"]["unit"]["$ref"].as_str().expect("a definition");
        let definition = schema.pointer(reference.trim_start_matches('#')).expect("it is at the root");
        assert_eq!(definition["enum"][0], first, "{schema:#}");
        assert!(arguments.get("$defs").is_none());
    }
}

#[value]
struct Tree {
    name: String,
    children: Vec<Tree>,
}

/// Plants a tree.
#[node]
async fn plant(tree: Tree) -> String {
    format!("{} with {}", tree.name, tree.children.len())
}

fn planter() -> Agent<String, String> {
    Agent::new("You plant.").tool(Tool::of::<plant>())
}

workflow! {
    planted(String) -> String {
        let planter: Agent<String, String> = planter();
        START => planter;
    }
}

#[tokio::test]
async fn a_recursive_type_refers_to_itself_and_not_to_the_step() {
    let oak = json!({ "name": "oak", "children": [{ "name": "twig", "children": [] }] });
    let call = json!({ "tool": "plant", "arguments": oak });
    let model = Scripted::turns([Message::assistant(call.to_string()), answer("Planted.")]);
    assert_eq!(run::<planted>(Constrained::new(model.clone()), "Plant.".into()).await.unwrap(), "Planted.");
    assert!(last_text(&model.requests()[1]).ends_with("oak with 1"));
    let schema = &schemas(&model)[0];
    let tree = &schema["properties"]["arguments"]["$ref"];
    assert_eq!(*tree, "#/$defs/plant.plant", "{schema:#}");
    assert_eq!(schema["$defs"]["plant.plant"]["properties"]["children"]["items"]["$ref"], *tree);
}

#[tokio::test]
async fn more_calls_are_made_if_they_are_allowed_and_then_it_has_to_answer() {
    let model = Scripted::turns([weather_in("Paris"), weather_in("Rome"), answer("Rome.")]);
    let both = Constrained::new(model.clone()).max_calls(2);
    assert_eq!(run::<help>(both, "Paris or Rome?".into()).await.unwrap(), "Rome.");
    let ways: Vec<Option<usize>> = schemas(&model).iter().map(|it| it["anyOf"].as_array().map(Vec::len)).collect();
    assert_eq!(ways, [Some(2), Some(3), None]);
}

#[tokio::test]
async fn a_reply_that_is_no_step_is_the_answer_and_an_unknown_tool_goes_back_to_the_model() {
    let model = Scripted::turns([Message::assistant("It rains.")]);
    assert_eq!(run::<help>(Constrained::new(model), "Paris?".into()).await.unwrap(), "It rains.");

    let dig = Message::assistant(json!({ "tool": "dig", "arguments": {} }).to_string());
    let model = Scripted::turns([dig, answer("No spade.")]);
    assert_eq!(run::<help>(Constrained::new(model.clone()), "Dig!".into()).await.unwrap(), "No spade.");
    assert!(last_text(&model.requests()[1]).starts_with("`dig` returned: error: there is no tool `dig`"));
}

#[tokio::test]
async fn a_typed_output_is_repaired_with_its_own_schema() {
    let model = Scripted::turns([weather_in("Paris"), answer("many"), Message::assistant("{\"answer\": 3}")]);
    assert_eq!(run::<count>(Constrained::new(model.clone()), "How many?".into()).await.unwrap(), 3);
    let schema = &schemas(&model)[2];
    assert_eq!(schema["properties"]["answer"]["type"], "integer");
}

#[tokio::test]
async fn a_step_that_is_cut_off_is_an_error_and_no_tool_runs() {
    let model = Scripted::replies(|request| {
        let reply = Scripted::reply(request, weather_in("Paris"));
        Ok(reply.cut_off())
    });
    let failure = failure(run::<help>(Constrained::new(model.clone()), "Paris?".into()).await);
    assert_eq!(failure.error_as::<AgentError>(), Some(AgentError::CutOff { turn: 1, tokens: 5 }));
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn the_answer_is_shown_and_the_json_around_it_is_not() {
    let model = Scripted::turns([weather_in("Paris"), answer("Take a coat.")]);
    let engine = Engine::builder().resource(Models::new(Constrained::new(model))).build().unwrap();
    let run = engine.start::<help>("Paris?".into()).await.unwrap();
    let mut events = run.events();
    let mut shown = Vec::new();
    while let Some(event) = events.next().await {
        if let EventKind::Progress { data, .. } = event.kind {
            shown.push(data);
        }
    }
    assert_eq!(shown, [json!(Delta::Text("Take a coat.".into()))]);
}
