//! A classifier passes its input on, so each variant holds that or nothing.

use graphweft::prelude::*;
use graphweft_agents::Classifier;

#[value]
struct Mail {
    text: String,
}

#[value]
#[derive(Route)]
enum Desk {
    Refund(Mail),
    Bug(String),
    Spam,
}

#[node]
async fn pay(mail: Mail) -> String {
    mail.text
}

#[node]
async fn file(bug: String) -> String {
    bug
}

#[node]
async fn ignore() -> String {
    String::new()
}

workflow! {
    desk(Mail) -> String {
        let triage: Classifier<Mail, Desk> = Classifier::new("You sort the mail of a shop.");
        START => triage => <refund: pay, bug: file, spam: ignore>;
        pay => END;
        file => END;
        ignore => END;
    }
}

fn main() {}
