//! A server for the tests of the page, with workflows that have everything that the page shows.

use std::time::Duration;

use graphweft::prelude::*;
use graphweft::store::SqliteStore;
use graphweft::{Signal, StateKey};
use graphweft_agents::{Agent, Message, Models, Scripted, Tool};
use graphweft_inspector::Inspector;
use serde_json::json;

/// Who wants to know what, and how deep.
#[value]
struct Request {
    /// What the brief is to answer.
    question: String,
    audience: Audience,
    /// At most so many sources are read.
    #[serde(default)]
    max_sources: u32,
    #[serde(default)]
    notify: Vec<String>,
}

#[value]
enum Audience {
    Engineers,
    Management,
    Public,
}

#[value]
struct Source {
    title: String,
    url: String,
    fail: u32,
}

#[value]
struct Page {
    title: String,
    words: u32,
}

#[value]
#[derive(Route)]
enum Topic {
    Technical(Request),
    General(Request),
}

const COST: StateKey<String> = StateKey::new("cost");
const PAID: Signal<Payment> = Signal::new("paid");

/// What a bank tells.
#[value]
struct Payment {
    cents: u32,
    /// As the payer wrote it.
    #[serde(default)]
    reference: Option<String>,
}

/// Decides whether papers or the web are searched.
#[node]
async fn classify(request: Request, ctx: &Context, #[writes(COST)] cost: StateWriter<String>) -> Topic {
    ctx.message("audience decides");
    cost.set("0.01".to_owned());
    tokio::time::sleep(Duration::from_millis(300)).await;
    match request.audience {
        Audience::Engineers => Topic::Technical(request),
        _ => Topic::General(request),
    }
}

/// Reads the house style.
#[node(pool = "styles")]
async fn load_style(_request: Request) -> String {
    tokio::time::sleep(Duration::from_millis(150)).await;
    "plain".to_owned()
}

/// Looks up one word.
#[node]
async fn search(word: String, ctx: &Context) -> String {
    tokio::time::sleep(Duration::from_millis(400)).await;
    ctx.step("ping", || async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        Ok::<u32, String>(1)
    })
    .await
    .ok();
    word
}

fn sources(request: &Request) -> Vec<Source> {
    let bad = request.question.contains("fail");
    (0..request.max_sources.max(3))
        .map(|n| Source {
            title: format!("part {n} of <b>{}</b>", request.question),
            url: format!("https://papers.example/{n}"),
            fail: if n == 2 && bad { 9 } else { u32::from(n == 1) },
        })
        .collect()
}

/// Plans searches by topic, and runs each as a child.
#[node]
async fn plan_papers(request: Request, ctx: &Context) -> Vec<Source> {
    let (a, b) =
        (ctx.call::<search>("durable".to_owned()).key("durable"), ctx.call::<search>("typed".to_owned()).key("typed"));
    let (_a, _b) = tokio::join!(a, b);
    sources(&request)
}

/// Searches the open web.
#[node]
async fn plan_web(request: Request) -> Vec<Source> {
    sources(&request)
}

/// Takes what was planned.
#[node]
async fn gather(sources: Vec<Source>) -> Vec<Source> {
    sources
}

/// Fetches one source and extracts what matters.
#[node(retry(max_attempts = 3, initial_delay = "700ms"), max_parallel = 4)]
async fn fetch(source: Source, ctx: &Context) -> Result<Page, std::io::Error> {
    for n in 0..4u32 {
        ctx.progress(f64::from(n) / 4.0);
        tokio::time::sleep(Duration::from_millis(150)).await;
    }
    if ctx.attempt() <= source.fail {
        return Err(std::io::Error::other(format!("{}: 503 Service Unavailable after 700 ms", source.url)));
    }
    Ok(Page { title: source.title, words: 10 })
}

/// Boils the pages down to what they agree on.
#[node]
async fn digest(pages: Vec<Page>, ctx: &Context) -> String {
    for n in 0..10u32 {
        ctx.progress(serde_json::json!({ "done": n, "total": 10 }));
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    format!("{} pages", pages.len())
}

/// Joins the digest with the house style into sections.
#[node]
async fn outline((digest, style): (String, String)) -> String {
    format!("{digest} in {style}")
}

#[value]
enum Assignment {
    Fresh(String),
    Again(Remarks),
}
impl From<String> for Assignment {
    fn from(text: String) -> Self {
        Assignment::Fresh(text)
    }
}
impl From<Remarks> for Assignment {
    fn from(remarks: Remarks) -> Self {
        Assignment::Again(remarks)
    }
}
#[value]
struct Remarks {
    draft: String,
    missing: String,
}
#[value]
#[derive(Route)]
enum Verdict {
    Redo(Remarks),
    Good(String),
}

/// Writes, or rewrites by the remarks of the review.
#[node]
async fn draft(assignment: Assignment) -> String {
    tokio::time::sleep(Duration::from_millis(500)).await;
    match assignment {
        Assignment::Fresh(text) => text,
        Assignment::Again(remarks) => format!("{} + {}", remarks.draft, remarks.missing),
    }
}

/// Looks for what is missing.
#[node]
async fn review(draft: String, ctx: &Context) -> Verdict {
    tokio::time::sleep(Duration::from_millis(250)).await;
    if draft.matches('+').count() < 2 {
        ctx.message("sent back");
        Verdict::Redo(Remarks { draft, missing: "numbers".to_owned() })
    } else {
        Verdict::Good(draft)
    }
}

#[node]
async fn find_claims(text: String) -> String {
    tokio::time::sleep(Duration::from_millis(200)).await;
    text
}
#[node]
async fn check_numbers(text: String) -> u32 {
    tokio::time::sleep(Duration::from_millis(300)).await;
    text.len() as u32
}
#[node]
async fn check_names(text: String) -> u32 {
    tokio::time::sleep(Duration::from_millis(200)).await;
    text.len() as u32
}
#[node]
async fn conclude((text, numbers, names): (String, u32, u32)) -> String {
    format!("{text} ({numbers}, {names})")
}

workflow! {
    /// Checks every claim of a draft against its sources.
    verify(String) -> String {
        START => find_claims => (check_numbers, check_names);
        (find_claims, check_numbers, check_names) => conclude;
    }
}

/// What the editor decides about a brief.
#[value]
struct SignOff {
    /// Whether it goes out, waits, or is dropped.
    decision: Decision,
    /// Hours until it becomes public.
    #[serde(default)]
    #[schemars(range(min = 0, max = 168))]
    embargo_hours: u32,
    #[serde(default)]
    channels: Vec<Channel>,
    /// Where it is sent, with how.
    delivery: Option<Delivery>,
    remark: Option<String>,
    #[serde(default)]
    labels: std::collections::BTreeMap<String, u32>,
}
#[value]
enum Decision {
    Publish,
    Hold,
}
#[value]
enum Channel {
    Web,
    Newsletter,
    Partners,
}
#[value]
enum Delivery {
    /// By mail.
    Mail {
        address: String,
        copies: u8,
    },
    Post(String),
    Nowhere,
}
#[value]
#[derive(Route)]
enum Signed {
    Publish(String),
    Hold(String),
}

/// Asks the editor on duty.
#[node]
async fn sign_off(text: String, ctx: &Context) -> Signed {
    let payload = serde_json::json!({ "title": text, "words": text.len(), "doubtful": [] });
    let answer = ctx.ask::<SignOff>("sign_off", "Publish this brief?").payload(&payload).await;
    match answer.decision {
        Decision::Publish => Signed::Publish(text),
        Decision::Hold => Signed::Hold(text),
    }
}

/// Uploads it, and mails the subscribers.
#[node]
async fn publish(text: String, ctx: &Context) -> String {
    ctx.step("upload", || async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        Ok::<u32, String>(1)
    })
    .await
    .ok();
    ctx.sleep(Duration::from_secs(3)).await;
    format!("published {text}")
}

/// Puts it aside.
#[node]
async fn shelve(text: String) -> String {
    text
}

workflow! {
    /// From a question to a brief that an editor has signed off.
    ///
    /// Reads sources, writes and reviews until nothing is missing, checks every claim, and asks before anything becomes public.
    briefing(Request) -> String {
        START => (classify, load_style);
        classify => <technical: plan_papers, general: plan_web>;
        (plan_papers, plan_web) => gather => [fetch] => digest;
        (digest, load_style) => outline => draft => review => <redo: draft, good: verify>;
        verify => sign_off => <publish: publish, hold: shelve>;
    }
}

#[node]
async fn wait_for_it(due: u32, ctx: &Context) -> u32 {
    ctx.wait(PAID).await.cents + due
}
workflow! { /// Waits for a payment.
invoice(u32) -> u32 { START => wait_for_it; } }

/// Sends an invoice, which is a workflow of its own.
#[node]
async fn settle(due: u32, ctx: &Context) -> u32 {
    ctx.call::<invoice>(due).await.unwrap_or_default()
}
workflow! { settlement(u32) -> u32 { START => settle; } }

const CONFIRMED: Signal<u64> = Signal::new("confirmed");

/// Where money is sent.
#[value]
struct Account {
    number: u64,
    #[serde(default)]
    others: Vec<u64>,
}

/// Asks for numbers that a JavaScript number does not hold.
#[node]
async fn ask_account(customer: u64, ctx: &Context) -> Vec<u64> {
    let account = ctx.ask::<Account>("account", "Which account?").payload(json!({ "customer": customer })).await;
    let confirmed = ctx.wait(CONFIRMED).await;
    [customer, account.number].into_iter().chain(account.others).chain([confirmed]).collect()
}
workflow! { transfer(u64) -> Vec<u64> { START => ask_account; } }

/// Records 1,000 messages a second.
#[node]
async fn talk(seconds: u32, ctx: &Context) -> u32 {
    let mut ticks = tokio::time::interval(Duration::from_millis(20));
    for tick in 0..50 * seconds {
        ticks.tick().await;
        for message in 0..20 {
            ctx.message(format!("{tick}.{message}"));
        }
    }
    seconds
}
workflow! { busy(u32) -> u32 { START => talk; } }

#[node]
async fn yes_no(name: String, ctx: &Context) -> bool {
    ctx.ask::<bool>("title", format!("Is <script>alert(1)</script> {name} fine?")).await
}
workflow! { name_release(String) -> bool { START => yes_no; } }

#[node]
async fn many(n: u32) -> Vec<u32> {
    (0..n).collect()
}
#[node]
async fn prepare(n: u32) -> u32 {
    tokio::time::sleep(Duration::from_millis(20)).await;
    n
}
#[node]
async fn work(n: u32, ctx: &Context) -> u32 {
    ctx.message(format!("item {n}"));
    tokio::time::sleep(Duration::from_millis(20)).await;
    n
}
#[node]
async fn count(all: Vec<u32>) -> u32 {
    all.len() as u32
}
workflow! { /// Many items, each through two nodes.
wide(u32) -> u32 { START => many => [prepare => work] => count; } }

/// Looks up the orders of a customer.
#[node]
async fn orders(customer: String) -> Vec<String> {
    vec![format!("order 7 of {customer}, <b>1200</b> cents")]
}

/// Pays money back.
#[node]
async fn pay_back(order: String, cents: u32) -> String {
    format!("{cents} cents for order {order}")
}

fn clerk() -> Agent<String, String> {
    Agent::new("You decide on refunds.").tool(Tool::of::<orders>()).tool(Tool::of::<pay_back>().approve())
}

workflow! {
    /// Decides on refunds.
    desk(String) -> String {
        let clerk: Agent<String, String> = clerk();
        START => clerk;
    }
}

/// Looks, pays, and says so.
fn model() -> Scripted {
    Scripted::turns([
        Scripted::calls([("orders", json!({ "customer": "Ada" }))]),
        Scripted::calls([("pay_back", json!({ "cents": 1200, "order": "7" }))]),
        Message::assistant("It is <script>alert(1)</script> paid \u{202e}back.\n\nAnything else?"),
    ])
}

/// `page-server STORE PORT`: serves the page over a store, and resumes its runs. Prints its address, and that of the same page in an
/// app, which serves `/runs` and not `/runs/`.
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(path), Some(port)) = (arguments.next(), arguments.next()) else {
        return Err("usage: page-server STORE PORT".into());
    };
    let store = SqliteStore::open(&path).await?;
    let builder = Engine::builder().store(store).register::<briefing>().register::<verify>();
    let builder = builder.register::<settlement>().register::<transfer>().register::<busy>();
    let builder = builder.resource(Models::new(model())).register::<desk>();
    let engine = builder.register::<invoice>().register::<name_release>().register::<wide>().pool("styles").build()?;
    engine.recover().await?;
    let app = axum::Router::new().nest("/runs", graphweft_inspector::router(engine.clone()));
    let listener = tokio::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).await?;
    let mounted = listener.local_addr()?;
    let serving = Inspector::new(engine).bind(port.parse()?).await?;
    println!("{} http://{mounted}/runs", serving.url());
    tokio::try_join!(axum::serve(listener, app).into_future(), serving.run())?;
    Ok(())
}
