//! A tool of a server as a step of a graph.

use graphweft::prelude::*;
use graphweft_agents::{McpClient, ToolNode, ToolNodeError};
use graphweft_tests::failure;

use crate::scene::{Unreliable, everything};

#[value]
struct Place {
    location: String,
}

#[value]
#[derive(Debug)]
struct Weather {
    temperature: f64,
    conditions: String,
}

#[node]
async fn report(weather: Weather) -> String {
    format!("{} at {}", weather.conditions, weather.temperature)
}

fn weather_of(server: &McpClient) -> ToolNode<Place, Weather> {
    ToolNode::new(server.tool("get-structured-content").unwrap())
}

#[tokio::test]
async fn a_tool_of_a_server_is_a_step_with_typed_input_and_output() {
    let server = everything().connect().await.unwrap();
    let weather = weather_of(&server);
    let flow = workflow! {
        let weather: ToolNode<Place, Weather> = weather.clone();
        START => weather => report;
    };
    let chicago = Place { location: "Chicago".into() };
    assert_eq!(flow.run(chicago).await.unwrap(), "Light rain / drizzle at 36");
    let nowhere = failure(flow.run(Place { location: "Atlantis".into() }).await);
    let Some(ToolNodeError::Failed { tool, message }) = nowhere.error_as() else { panic!("{nowhere}") };
    assert_eq!(tool, "get-structured-content");
    assert!(message.contains("location"), "{message}");
}

#[value]
struct Word {
    word: String,
}

#[tokio::test]
async fn a_result_that_is_no_output_is_an_error_with_its_place() {
    let unreliable = Unreliable::new();
    let server = unreliable.server().connect().await.unwrap();
    let echo: ToolNode<Word, Weather> = ToolNode::new(server.tool("echo").unwrap());
    let flow = workflow! {
        let echo: ToolNode<Word, Weather> = echo.clone();
        START => echo;
    };
    let read = flow.run(Word { word: r#"{"temperature": 3, "conditions": "Fog"}"#.into() }).await.unwrap();
    assert_eq!((read.temperature, read.conditions.as_str()), (3.0, "Fog"));
    let failure = failure(flow.run(Word { word: r#"{"temperature": "cold"}"#.into() }).await);
    let Some(ToolNodeError::Misfit { misfit, .. }) = failure.error_as() else { panic!("{failure}") };
    assert_eq!(misfit.field, "temperature");
}
