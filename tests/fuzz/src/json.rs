//! Any JSON through the untyped doors: `start_json` takes what is of the workflow's type and refuses the rest with the
//! reason; an answer that is refused changes nothing.

use arbitrary::{Result, Unstructured};
use graphweft::prelude::*;
use graphweft::{AnswerError, Json, Payload, StartError};
use serde::{Serialize, de::DeserializeOwned};

use crate::logs::life;

#[value]
#[derive(Debug, PartialEq)]
struct Order {
    number: u32,
    lines: Vec<Line>,
    note: Option<String>,
    urgency: Urgency,
}

#[value]
#[derive(Debug, PartialEq)]
struct Line {
    article: String,
    price: f64,
    pieces: (u8, i16),
}

#[value]
#[derive(Debug, PartialEq)]
enum Urgency {
    Whenever,
    Within { days: u64 },
    At(String, bool),
}

#[node]
async fn same(order: Order) -> Order {
    order
}

#[node]
async fn same_number(number: i64) -> i64 {
    number
}

#[node]
async fn same_texts(texts: Vec<Option<String>>) -> Vec<Option<String>> {
    texts
}

#[node]
async fn same_json(json: Json) -> Json {
    json
}

#[node]
async fn letter(letter: char) -> String {
    letter.to_string()
}

workflow! { orders(Order) -> Order { START => same; } }
workflow! { numbers(i64) -> i64 { START => same_number; } }
workflow! { texts(Vec<Option<String>>) -> Vec<Option<String>> { START => same_texts; } }
workflow! { anything(Json) -> Json { START => same_json; } }
workflow! { letters(char) -> String { START => letter; } }
workflow! { asks(()) -> (Order, i64, Vec<Option<String>>) { START => (order, number, names) => all; } }

#[node]
async fn order(ctx: &Context) -> Order {
    ctx.ask("order", "Which one?").await
}

#[node]
async fn number(ctx: &Context) -> i64 {
    ctx.ask("number", "How many?").await
}

#[node]
async fn names(ctx: &Context) -> Vec<Option<String>> {
    ctx.ask("names", "Whose?").await
}

#[node]
async fn all(order: Order, number: i64, names: Vec<Option<String>>) -> (Order, i64, Vec<Option<String>>) {
    (order, number, names)
}

/// Values of JSON one after another, as text; or bytes that values are made of.
pub fn json(data: &[u8]) {
    let values: std::result::Result<Vec<Json>, _> = serde_json::Deserializer::from_slice(data).into_iter().collect();
    let values = values.unwrap_or_else(|_| from_bytes(data));
    life(async {
        let builder = Engine::builder().register::<orders>().register::<numbers>().register::<texts>();
        let engine =
            builder.register::<anything>().register::<letters>().register::<asks>().build().expect("an engine");
        for value in &values {
            starts::<Order>(&engine, "orders", value, Some(same_as)).await;
            starts::<i64>(&engine, "numbers", value, Some(same_as)).await;
            starts::<Vec<Option<String>>>(&engine, "texts", value, Some(same_as)).await;
            starts::<Json>(&engine, "anything", value, Some(same_as)).await;
            starts::<char>(&engine, "letters", value, None).await;
        }
        answers(&engine, &values).await;
    });
}

fn from_bytes(data: &[u8]) -> Vec<Json> {
    let mut bytes = Unstructured::new(data);
    let mut values = Vec::new();
    while let (false, Ok(value)) = (bytes.is_empty() || values.len() > 8, value(&mut bytes, 4)) {
        values.push(value);
    }
    values
}

/// Any value, and often one that has the fields of an [`Order`].
fn value(bytes: &mut Unstructured<'_>, deep: usize) -> Result<Json> {
    Ok(match bytes.int_in_range(0..=if deep == 0 { 6 } else { 9u8 })? {
        0 => Json::Null,
        1 => Json::Bool(bytes.arbitrary()?),
        2 => Json::from(bytes.arbitrary::<i64>()?),
        3 => Json::from(bytes.arbitrary::<u64>()?),
        4 => Json::from(bytes.arbitrary::<f64>()?),
        5 => Json::from(bytes.arbitrary::<&str>()?),
        6 => Json::from(*bytes.choose(&["Whenever", "", "a", "order"])?),
        7 => (0..bytes.int_in_range(0..=3u8)?).map(|_| value(bytes, deep - 1)).collect::<Result<_>>()?,
        _ => {
            let mut fields = serde_json::Map::new();
            let names = ["number", "lines", "note", "urgency", "article", "price", "pieces", "Within", "At", "days"];
            for _ in 0..bytes.int_in_range(0..=5u8)? {
                fields.insert((*bytes.choose(&names)?).to_owned(), value(bytes, deep - 1)?);
            }
            Json::Object(fields)
        }
    })
}

fn same_as(value: &Json, output: &Json) -> bool {
    value == output
}

/// What is of the type runs, and nothing else does.
async fn starts<T: Payload + Serialize + DeserializeOwned>(
    engine: &Engine,
    workflow: &str,
    value: &Json,
    gives: Option<fn(&Json, &Json) -> bool>,
) {
    let typed = serde_json::from_value::<T>(value.clone()).ok().map(serde_json::to_value);
    match (engine.start_json(workflow, value.clone()).await, typed) {
        (Ok(run), Some(Ok(typed))) => {
            let output = run.result().await.unwrap_or_else(|error| panic!("{workflow} of {value}: {error}"));
            assert!(gives.is_none_or(|gives| gives(&typed, &output)), "{workflow} of {value} gave {output}");
        }
        (Err(StartError::InvalidInput { message, .. }), None) => assert!(!message.is_empty()),
        (started, typed) => panic!("{workflow} of {value}, which is {typed:?}: {started:?}"),
    }
}

/// Every value as the answer to every question, until it has been answered; those that are still open at the end are
/// answered then, and the run ends with what was taken.
async fn answers(engine: &Engine, values: &[Json]) {
    let run = engine.start_json("asks", Json::Null).id("run").await.expect("it takes nothing");
    let Ok(Outcome::Waiting(open)) = run.outcome().await else { panic!("it asks") };
    assert_eq!(open.len(), 3);
    let good = [
        serde_json::json!({"number": 1, "lines": [], "note": null, "urgency": "Whenever"}),
        Json::from(7),
        serde_json::json!(["Ada", null]),
    ];
    let (mut order, mut number, mut names) = (None, None, None);
    for value in values.iter().chain(&good) {
        answer::<Order>(engine, "asks/order/order", value, &mut order).await;
        answer::<i64>(engine, "asks/number/number", value, &mut number).await;
        answer::<Vec<Option<String>>>(engine, "asks/names/names", value, &mut names).await;
    }
    let output = run.result().await.expect("it has its answers");
    assert_eq!(output, serde_json::json!([order, number, names]));
}

async fn answer<T: Payload + Serialize + DeserializeOwned>(
    engine: &Engine,
    question: &str,
    value: &Json,
    taken: &mut Option<Json>,
) {
    let run = engine.get_run("run").await.expect("a store").expect("the run");
    let before = records(engine).await;
    let is_open = run.questions().await.expect("a store").iter().any(|open| open.id == question);
    assert_eq!(is_open, taken.is_none());
    match run.answer(question, value.clone()).await {
        Ok(()) => {
            let typed = serde_json::from_value::<T>(value.clone());
            let typed = typed.unwrap_or_else(|error| panic!("{question} took {value}: {error}"));
            *taken = serde_json::to_value(typed).ok();
            assert!(is_open, "{question} took a second answer, {value}");
            return;
        }
        Err(AnswerError::AlreadyAnswered { .. }) => assert!(!is_open),
        Err(AnswerError::Invalid { message, .. }) => assert!(is_open && !message.is_empty()),
        Err(other) => panic!("{question} of {value}: {other}"),
    }
    assert_eq!(records(engine).await, before, "a refused answer has left a record");
    assert_eq!(run.questions().await.expect("a store").iter().any(|open| open.id == question), is_open);
}

/// How many records the run has.
async fn records(engine: &Engine) -> usize {
    engine.history("run").await.expect("a store").map_or(0, |events| events.len())
}
