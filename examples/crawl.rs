//! Children and steps: a node that learns from each page which one comes next. Run it twice: the second process does not fetch
//! again what the first one has fetched.
//!
//! The page to it: `docs/guide/children.md`.
//!
//! ```sh
//! cargo run --example crawl -- crawl.db --die # ends in the middle, without a goodbye
//! cargo run --example crawl -- crawl.db
//! ```

use std::process::ExitCode;

use graphweft::prelude::*;

/// A small web: each page, with its links.
const WEB: [(&str, &[&str]); 5] = [
    ("home", &["shop", "about"]),
    ("shop", &["lamps", "home"]),
    ("about", &["imprint"]),
    ("lamps", &["shop"]),
    ("imprint", &[]),
];

/// A connection to it. The page at which the process dies, if there is one.
struct Web {
    dies_at: Option<&'static str>,
}

impl Web {
    fn links(&self, page: &str) -> Result<Vec<String>, String> {
        if self.dies_at == Some(page) {
            println!("dies at {page}");
            std::process::exit(3);
        }
        println!("fetches {page}");
        let found = WEB.iter().find(|(name, _)| *name == page).ok_or_else(|| format!("there is no page `{page}`"))?;
        Ok(found.1.iter().map(|link| (*link).to_owned()).collect())
    }
}

/// A child: a node of its own, with retries of its own.
#[node(retry(max_attempts = 3))]
async fn fetch(page: String, #[resource] web: &Web) -> Result<Vec<String>, String> {
    web.links(&page)
}

#[node(uses(fetch))]
async fn crawl(home: String, ctx: &Context) -> Result<Vec<String>, ChildError<String>> {
    let mut pages = vec![home];
    let mut at = 0;
    while at < pages.len() {
        let page = pages[at].clone();
        // The key makes it another child than that of every other page.
        for link in ctx.call::<fetch>(page.clone()).key(page).await? {
            if !pages.contains(&link) {
                pages.push(link);
            }
        }
        at += 1;
    }
    // A step: a closure instead of a node, recorded in the same way.
    let stored = ctx.step("store", || async { Ok::<usize, String>(pages.len()) }).await?;
    ctx.message(format!("{stored} pages are stored"));
    Ok(pages)
}

workflow! {
    site(String) -> Vec<String> { START => crawl; }
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let crawled = match arguments.as_slice() {
        [file] => crawl_in(file, None).await,
        [file, "--die"] => crawl_in(file, Some("lamps")).await,
        _ => Err("usage: crawl FILE [--die]".into()),
    };
    match crawled {
        Ok(pages) => {
            println!("{}", pages.join(", "));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn crawl_in(file: &str, dies_at: Option<&'static str>) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let store = SqliteStore::open(file).await?;
    let engine = Engine::builder().store(store).resource(Web { dies_at }).register::<site>().build()?;
    engine.recover().await?;
    // The same id is the same run: begun here, resumed by `recover`, or completed before.
    let pages = engine.start::<site>("home".into()).id("crawl-1").await?.result().await?;
    engine.shutdown().await;
    Ok(pages)
}
