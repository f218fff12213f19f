//! A template is checked like any code.

use askama::Template;
use graphweft::prelude::*;
use graphweft_agents::agent;

#[derive(Template)]
#[template(source = "{{ customer }} writes: {{ txt }}", ext = "txt")]
struct Prompt {
    customer: String,
    text: String,
}

#[value]
struct Mail {
    from: String,
    text: String,
}

/// You decide on refunds.
#[agent]
fn refunds(mail: Mail) -> String {
    Prompt { customer: mail.from, text: mail.text }
}

fn main() {}
