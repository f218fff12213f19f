//! The error of a step is recorded as a payload, or as text: one error, which says what to write.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn read(path: String, ctx: &Context) -> Result<String, String> {
    let sound = ctx.step("sound", || async { std::fs::read_to_string("a").map_err(|error| error.to_string()) }).await?;
    let text = ctx.step("text", || async { std::fs::read_to_string("b") }).error_as_text().await?;
    let text = ctx.step("read", || async { std::fs::read_to_string("b") }).await.map_err(|error| error.to_string())?;
    Ok(text)
}

fn main() {}
