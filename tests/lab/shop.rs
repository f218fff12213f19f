//! A shop that takes money.

use graphweft::prelude::*;

#[node]
pub(crate) async fn validate(cents: u64) -> Result<u64, String> {
    if cents > 0 { Ok(cents) } else { Err("nothing to pay".to_owned()) }
}

#[node(retry(max_attempts = 3, initial_delay = "1h", max_delay = "1h"))]
pub(crate) async fn charge(cents: u64) -> Result<String, std::io::Error> {
    Err(std::io::Error::other(format!("{cents} for real")))
}

#[node]
pub(crate) async fn refuse(why: String) -> String {
    format!("refused: {why}")
}

#[node]
pub(crate) async fn notify(text: String) -> String {
    format!("Dear customer: {text}")
}

workflow! {
    pub(crate) checkout(u64) -> String {
        START => validate => <ok: charge, err: refuse> => notify;
    }
}
