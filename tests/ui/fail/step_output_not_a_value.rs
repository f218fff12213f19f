//! The output of a step is recorded: one error, at the step.
#![allow(unused)]

use graphweft::prelude::*;

#[derive(Debug)]
pub struct Reply {
    code: u16,
}

#[node]
async fn fetch(ctx: &Context) -> Result<u16, String> {
    let sound = ctx.step("sound", || async { Ok::<_, String>(Reply { code: 200 }.code) }).await?;
    let reply = ctx.step("fetch", || async { Ok::<_, String>(Reply { code: 200 }) }).await?;
    Ok(reply.code)
}

fn main() {}
