//! Each label of a classifier needs an arm.

use graphweft::prelude::*;
use graphweft_agents::Classifier;

#[value]
#[derive(Route)]
enum Desk {
    /// The customer wants money back.
    Refund(String),
    /// Everything else.
    Other(String),
}

#[node]
async fn pay(mail: String) -> String {
    mail
}

workflow! {
    desk(String) -> String {
        let triage: Classifier<String, Desk> = Classifier::new("You sort the mail of a shop.");
        START => triage => <refund: pay>;
    }
}

fn main() {}
