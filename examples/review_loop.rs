//! A loop: a draft goes round until the review is content with it, or has seen enough of it.
//!
//! An arm that leads back to an earlier node makes a loop. Each turn is recorded under its own path:
//! `article/draft`, `article/draft#2`, and so on.
//!
//! The page to it: `docs/guide/shapes.md`. `cargo run --example review_loop`

use graphweft::prelude::*;

/// A draft is written either from the topic or from the remarks on the draft before. The edges that lead to `draft`
/// bring one or the other, and convert with `From`.
#[value]
enum Assignment {
    Fresh(String),
    Again(Remarks),
}

impl From<String> for Assignment {
    fn from(topic: String) -> Self {
        Assignment::Fresh(topic)
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

/// What this reviewer looks for, one after the other.
const WANTED: [&str; 2] = ["an example", "a summary"];

#[node]
async fn draft(assignment: Assignment, ctx: &Context) -> String {
    let text = match assignment {
        Assignment::Fresh(topic) => format!("An article on {topic}"),
        Assignment::Again(Remarks { draft, missing }) => format!("{draft}, with {missing}"),
    };
    println!("{:<18} {text}", ctx.path());
    text
}

#[node]
async fn review(draft: String, ctx: &Context) -> Verdict {
    let missing = WANTED.into_iter().find(|wanted| !draft.contains(wanted));
    println!("{:<18} lacks {}", ctx.path(), missing.unwrap_or("nothing"));
    match missing {
        Some(missing) => Verdict::Redo(Remarks { draft, missing: missing.to_owned() }),
        None => Verdict::Good(draft),
    }
}

#[node]
async fn publish(text: String) -> String {
    format!("published: {text}")
}

workflow! {
    /// Draft and review, until the review is content.
    article(String) -> String {
        START => draft => review => <redo: draft, good: publish>;
    }
}

#[tokio::main]
async fn main() -> Result<(), graphweft::RunError> {
    println!("{}", article("rivers".to_owned()).await?);
    Ok(())
}
