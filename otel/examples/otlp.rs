//! Exports the traces of a run to a collector over OTLP: to `OTEL_EXPORTER_OTLP_ENDPOINT`, or to `http://localhost:4318`. Belongs to the
//! page of the guide about telemetry.
//!
//! ```sh
//! docker run --rm -p 16686:16686 -p 4318:4318 jaegertracing/jaeger   # in another terminal
//! cargo run -p graphweft-otel --example otlp
//! ```
//!
//! The page at <http://localhost:16686> then shows two traces of the run, one up to the question and one after the answer, with a link
//! from the second to the first.

use std::error::Error;

use graphweft::prelude::*;
use graphweft_otel::Resumed;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing_subscriber::layer::SubscriberExt;

#[node]
async fn price(item: String, ctx: &Context) -> Result<u32, String> {
    let net = ctx.step("look_up", || async { Ok::<_, String>(4000) }).key(&item).await;
    net.map(|cents| cents * 119 / 100).map_err(|error| error.to_string())
}

#[node]
async fn approve(cents: u32, ctx: &Context) -> Result<u32, String> {
    if ctx.ask::<bool>("large", "Pay this?").payload(cents).await { Ok(cents) } else { Err("it was declined".into()) }
}

#[node(at_most_once)]
async fn pay(cents: u32) -> String {
    format!("paid {cents} cents")
}

workflow! {
    pub purchase(String) -> String {
        START => price => approve => pay;
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let provider = SdkTracerProvider::builder()
        .with_resource(Resource::builder().with_service_name("shop").build())
        .with_batch_exporter(SpanExporter::builder().with_http().build()?)
        .build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("shop"));
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer))?;

    let engine = Engine::builder().register::<purchase>().trace_context(Resumed::AsLink).build()?;
    let run = engine.start::<purchase>("a lamp".into()).tag("shop", "north").await?;
    let Outcome::Waiting(questions) = run.outcome().await? else { return Err("it asks".into()) };
    println!("{}: {}", run.id(), questions[0].prompt);
    run.answer("large", true).await?;
    println!("{}", run.result().await?);
    println!("started in {}", run.info().await?.tags["traceparent"]);

    // What is not exported yet would be lost.
    provider.shutdown()?;
    Ok(())
}
