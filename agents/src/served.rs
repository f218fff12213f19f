//! Tools whose schemas come from elsewhere while the program runs, and can change between two processes of a run.

use std::collections::BTreeMap;

use graphweft::Context;
use serde_json::json;

use crate::agent_error::{AgentError, fault_of};
use crate::tool::Tool;

/// Under which name an agent records the schemas of its tools, as a step.
const SCHEMAS: &str = "schemas";

/// Records the schemas of those tools; if others are recorded, it records and logs which tools have changed.
pub(crate) async fn report_changes(ctx: &Context, tools: &[Tool]) -> Result<(), AgentError> {
    let served =
        tools.iter().filter_map(|tool| Some((tool.spec().name.clone(), tool.fingerprint()?.as_str().to_owned())));
    let now: BTreeMap<String, String> = served.collect();
    if now.is_empty() && !ctx.__has_result(SCHEMAS) {
        return Ok(());
    }
    let schemas = ctx.step(SCHEMAS, || {
        let now = now.clone();
        async move { Ok::<_, String>(now) }
    });
    let recorded = schemas.await.map_err(fault_of)?;
    let names = |of: &BTreeMap<String, String>, is: &dyn Fn(&String, &String) -> bool| -> Vec<String> {
        of.iter().filter(|(name, schema)| is(name, schema)).map(|(name, _)| name.clone()).collect()
    };
    let changed = names(&recorded, &|name, schema| now.get(name).is_some_and(|now| now != schema));
    let removed = names(&recorded, &|name, _| !now.contains_key(name));
    let added = names(&now, &|name, _| !recorded.contains_key(name));
    if !(changed.is_empty() && removed.is_empty() && added.is_empty()) {
        tracing::warn!(
            path = ctx.path(),
            ?changed,
            ?removed,
            ?added,
            "an agent resumes with other tools than recorded"
        );
        ctx.note("tools_changed", json!({ "changed": changed, "removed": removed, "added": added }));
    }
    Ok(())
}
