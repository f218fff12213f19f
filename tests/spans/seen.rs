//! A layer that keeps all spans of the program.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

/// A span, which may have ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    id: u64,
    pub(crate) name: &'static str,
    pub(crate) fields: BTreeMap<String, String>,
    parent: Option<usize>,
    is_open: bool,
}

static SEEN: Mutex<Vec<Seen>> = Mutex::new(Vec::new());

fn seen() -> MutexGuard<'static, Vec<Seen>> {
    SEEN.lock().unwrap_or_else(PoisonError::into_inner)
}

struct All;

struct Fields<'f>(&'f mut BTreeMap<String, String>);

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        let before = self.0.insert(field.name().to_owned(), value.to_owned());
        assert_eq!(before, None, "{} is recorded once", field.name());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

fn open(spans: &mut [Seen], id: u64) -> &mut Seen {
    spans.iter_mut().rev().find(|seen| seen.id == id && seen.is_open).expect("it is open")
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for All {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let parent = context.span(id).and_then(|span| Some(span.parent()?.id().into_u64()));
        let mut spans = seen();
        let mut fields = BTreeMap::new();
        attributes.record(&mut Fields(&mut fields));
        let parent = parent.and_then(|parent| spans.iter().rposition(|seen| seen.id == parent && seen.is_open));
        let name = attributes.metadata().name();
        spans.push(Seen { id: id.into_u64(), name, fields, parent, is_open: true });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        values.record(&mut Fields(&mut open(&mut seen(), id.into_u64()).fields));
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        open(&mut seen(), id.into_u64()).is_open = false;
    }
}

/// Panics in one function for a run with the id `panics in ..`.
struct Panics;

struct PanicsIn(String);

impl Panics {
    fn check<S: Subscriber + for<'a> LookupSpan<'a>>(function: &str, id: &Id, context: &Context<'_, S>) {
        let span = context.span(id).expect("it is open");
        let is_here = span.extensions().get::<PanicsIn>().is_some_and(|of_run| of_run.0 == function);
        // The registry closes the span around one while it unwinds from that, where a second panic aborts.
        assert!(!is_here || std::thread::panicking(), "a subscriber panics in {function}");
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Panics {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = BTreeMap::new();
        attributes.record(&mut Fields(&mut fields));
        let Some(function) = fields.get("graphweft.run_id").and_then(|run| run.strip_prefix("panics in ")) else {
            return;
        };
        context.span(id).expect("it is open").extensions_mut().insert(PanicsIn(function.to_owned()));
        Self::check("on_new_span", id, &context);
    }

    fn on_record(&self, id: &Id, _: &Record<'_>, context: Context<'_, S>) {
        Self::check("on_record", id, &context);
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        Self::check("on_enter", id, &context);
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        Self::check("on_exit", id, &context);
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        Self::check("on_close", &id, &context);
    }
}

/// Has all spans kept from here on, in all threads.
pub(crate) fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let wanted = Targets::new().with_target("graphweft::span", Level::INFO).with_target("mine", Level::INFO);
        let subscriber =
            tracing_subscriber::registry().with(All.with_filter(wanted.clone())).with(Panics.with_filter(wanted));
        tracing::subscriber::set_global_default(subscriber).expect("the first");
    });
}

/// A span as text: its name, and whether it is over and how.
fn text(span: &Seen) -> String {
    let name = span.fields.get("otel.name").map_or(span.name, String::as_str).trim_start_matches("graphweft.");
    match (span.is_open, span.fields.get("graphweft.outcome")) {
        (true, _) => format!("{name} ..."),
        (false, Some(outcome)) => format!("{name}: {outcome}"),
        (false, None) => name.to_owned(),
    }
}

/// Those that are wanted, in the order in which they began, each behind those around it.
fn chains(is_wanted: impl Fn(&[Seen], &Seen) -> bool) -> Vec<String> {
    let spans = seen();
    let mut found = Vec::new();
    for span in spans.iter().filter(|span| is_wanted(&spans, span)) {
        let mut names = vec![text(span)];
        let mut at = span.parent;
        while let Some(around) = at.map(|at| &spans[at]) {
            names.push(around.fields.get("otel.name").map_or(around.name, String::as_str).replace("graphweft.", ""));
            at = around.parent;
        }
        names.reverse();
        found.push(names.join(" > "));
    }
    found
}

fn is_of_run(span: &Seen, id: &str) -> bool {
    span.fields.get("graphweft.run_id").is_some_and(|run| run == id)
}

/// The spans of a run.
pub(crate) fn of_run(id: &str) -> Vec<String> {
    chains(|_, span| is_of_run(span, id))
}

/// The spans of which the outermost has this name.
pub(crate) fn in_span(name: &str) -> Vec<String> {
    chains(|spans, span| {
        let mut outermost = span;
        while let Some(around) = outermost.parent {
            outermost = &spans[around];
        }
        outermost.name == name
    })
}

/// The spans of a run with this name.
pub(crate) fn spans_of(run: &str, name: &str) -> Vec<Seen> {
    let named = |seen: &Seen| seen.fields.get("otel.name").is_some_and(|own| own == name);
    seen().iter().filter(|seen| is_of_run(seen, run) && named(seen)).cloned().collect()
}

/// The first span of a run with this name.
pub(crate) fn span(run: &str, name: &str) -> Seen {
    spans_of(run, name).into_iter().next().expect("there is such a span")
}

/// The spans of a run that are open.
pub(crate) fn open_of_run(id: &str) -> Vec<String> {
    of_run(id).into_iter().filter(|text| text.ends_with("...")).collect()
}
