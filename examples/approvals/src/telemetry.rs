//! Logs and traces.

use std::error::Error;

use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Layer, SubscriberExt};

/// Warnings go to standard error, and spans over OTLP to the collector that `OTEL_EXPORTER_OTLP_ENDPOINT` names, if it names one.
///
/// # Errors
/// If the address cannot be read.
pub(crate) fn install() -> Result<SdkTracerProvider, Box<dyn Error>> {
    let mut provider =
        SdkTracerProvider::builder().with_resource(Resource::builder().with_service_name("approvals").build());
    let is_exported = std::env::var_os("OTEL_EXPORTER_OTLP_ENDPOINT").is_some();
    if is_exported {
        provider = provider.with_batch_exporter(SpanExporter::builder().with_http().build()?);
    }
    let provider = provider.build();
    let traces = is_exported.then(|| tracing_opentelemetry::layer().with_tracer(provider.tracer("approvals")));
    let logs = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_filter(LevelFilter::WARN);
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(traces).with(logs))?;
    Ok(provider)
}
