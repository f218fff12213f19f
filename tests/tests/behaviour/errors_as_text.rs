//! Errors of children and steps that are no payloads: recorded and returned as their texts.

use std::error::Error;
use std::fmt;
use std::io;

use graphweft::prelude::*;
use graphweft::{AfterFailure, ErrorText, RetryPolicy};
use graphweft_tests::{Death, Journal, OnDisk, life};

/// An error with a source, as most of them are.
#[derive(Debug)]
struct NoPrice(io::Error);

impl fmt::Display for NoPrice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no price")
    }
}

impl Error for NoPrice {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

#[node]
async fn charge(cents: u64, #[resource] journal: &Journal) -> io::Result<u64> {
    journal.note("charge");
    if cents > 0 { Ok(cents) } else { Err(io::Error::other("card declined")) }
}

#[node]
async fn price(cents: u64, #[resource] journal: &Journal) -> Result<u64, NoPrice> {
    journal.note("price");
    if cents > 0 { Ok(cents) } else { Err(NoPrice(io::Error::new(io::ErrorKind::NotFound, "file not found"))) }
}

/// How a request has ended, in full.
fn shown<T: fmt::Debug>(given: &Result<T, ChildError<ErrorText>>) -> String {
    match given {
        Ok(value) => format!("{value:?}"),
        Err(ChildError::Error(error)) => {
            let sources = std::iter::successors(error.source(), |error| (*error).source()).count();
            format!("{error:#} ({sources} sources)")
        }
        Err(fault) => format!("fault: {fault}"),
    }
}

#[node]
async fn buys(cents: u64, ctx: &Context, #[resource] death: &Death) -> Vec<String> {
    let charged = ctx.call::<charge>(cents).error_as_text().await;
    let priced = ctx.call::<price>(cents).error_as_text().await;
    let read = ctx.step("read", || async { std::fs::read("/no/such/file") }).error_as_text().await;
    let boxed = || async { Err::<u32, Box<dyn Error + Send + Sync>>(Box::new(NoPrice(io::Error::other("inner")))) };
    let boxed = ctx.step("boxed", boxed).error_as_text().await;
    death.come("after").await;
    vec![shown(&charged), shown(&priced), shown(&read), shown(&boxed)]
}

workflow! { pub buying(u64) -> Vec<String> { START => buys; } }

#[test]
fn an_error_as_text_is_the_same_live_and_after_a_restart() {
    let (live, _) = OnDisk::default().runs::<buying>(0);
    let disk = OnDisk::default();
    disk.dies_at::<buying>(0, "after");
    let (resumed, _) = disk.resumes::<buying>();

    let live = live.unwrap();
    assert_eq!(live[..2], ["card declined (0 sources)", "no price: file not found (1 sources)"]);
    assert!(live[2].starts_with("No such file or directory"), "{live:?}");
    assert_eq!(live[3], "no price: inner (1 sources)");
    assert_eq!(resumed.unwrap(), serde_json::to_value(live).unwrap());
    assert_eq!(disk.journal.lines(), ["charge", "price"]);
}

#[test]
fn the_texts_are_recorded_once() {
    let (_, events) = OnDisk::default().runs::<buying>(0);
    let failed: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::NodeFailed { cause, then: AfterFailure::Fails, error, .. } => Some((cause.chain.len(), error)),
            _ => None,
        })
        .collect();
    assert_eq!(failed, [(1, &None), (2, &None), (1, &None), (2, &None)]);
}

#[test]
fn a_fault_is_a_fault_in_this_form_too() {
    #[node]
    async fn panics(ctx: &Context, #[resource] death: &Death) -> String {
        let given = ctx.step("panics", || async { if true { panic!("no way") } else { io::Result::Ok(1) } });
        let given = given.error_as_text().await;
        death.come("after").await;
        shown(&given)
    }
    workflow! { panicking(()) -> String { START => panics; } }
    let disk = OnDisk::default();
    disk.dies_at::<panicking>((), "after");
    assert_eq!(disk.resumes::<panicking>().0.unwrap(), "fault: panicked: no way");
}

#[test]
fn an_error_as_text_is_retried_as_any_other() {
    #[node]
    async fn tries(ctx: &Context) -> String {
        let policy = RetryPolicy::with_max_attempts(2).initial_delay(std::time::Duration::ZERO);
        shown(&ctx.call::<charge>(0).retry(policy).error_as_text().await)
    }
    workflow! { trying(()) -> String { START => tries; } }
    let disk = OnDisk::default();
    assert_eq!(disk.runs::<trying>(()).0.unwrap(), "card declined (0 sources)");
    assert_eq!(disk.journal.count("charge"), 2);
}

#[test]
fn a_payload_that_was_recorded_as_such_can_be_read_as_text_and_a_text_not_as_a_payload() {
    mod typed {
        use graphweft::prelude::*;
        use graphweft_tests::Death;

        #[node]
        pub(super) async fn fails(ctx: &Context, #[resource] death: &Death) -> String {
            let given = ctx.step("step", || async { Err::<u32, String>("no".to_owned()) }).await;
            death.come("after").await;
            given.unwrap_err().to_string()
        }
        workflow! { pub(super) failing(()) -> String { START => fails; } }
    }
    mod as_text {
        use graphweft::prelude::*;
        use graphweft_tests::Death;

        #[node]
        pub(super) async fn fails(ctx: &Context, #[resource] death: &Death) -> String {
            let given = ctx.step("step", || async { Err::<u32, String>("no".to_owned()) }).error_as_text().await;
            death.come("after").await;
            given.unwrap_err().to_string()
        }
        workflow! { pub(super) failing(()) -> String { START => fails; } }
    }
    let disk = OnDisk::default();
    disk.dies_at::<typed::failing>((), "after");
    assert_eq!(disk.resumes::<as_text::failing>().0.unwrap(), "no");

    let disk = OnDisk::default();
    disk.dies_at::<as_text::failing>((), "after");
    let said = disk.resumes::<typed::failing>().0.unwrap();
    assert_eq!(said, "`failing/fails/step` failed, but the error was not recorded: no");
}

#[test]
fn a_text_is_a_payload_of_its_own() {
    #[node]
    async fn passes_on(ctx: &Context) -> Result<u64, ErrorText> {
        ctx.call::<charge>(0).error_as_text().await.map_err(|error| error.into_inner().unwrap())
    }
    #[node]
    async fn mends(error: ErrorText) -> u64 {
        error.message().len() as u64
    }
    workflow! {
        passing(()) -> u64 {
            START => passes_on;
            passes_on => <ok: END, err: mends>;
            mends => END;
        }
    }
    assert_eq!(OnDisk::default().runs::<passing>(()).0.unwrap(), 13);
}

#[test]
fn an_error_that_is_nested_too_deep_is_cut_in_its_text() {
    /// Its text and its drop recurse.
    #[derive(Debug)]
    struct Deep(Option<Box<Deep>>);

    impl fmt::Display for Deep {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("(")?;
            self.0.iter().try_for_each(|inner| write!(f, "{inner}"))
        }
    }
    impl Error for Deep {}

    #[node]
    async fn digs(ctx: &Context) -> bool {
        let deep = || async { Err::<u32, _>((0..100_000).fold(Deep(None), |inner, _| Deep(Some(Box::new(inner))))) };
        ctx.step("dig", deep).error_as_text().await.unwrap_err().to_string().ends_with("(cut: it is nested too deep)")
    }
    workflow! { digging(()) -> bool { START => digs; } }
    assert!(life(async { digging(()).await }).unwrap());
}
