//! What a worker tells a server when it is registered: a virtual object for each workflow, and a service for each pool.

use graphweft::Json;
use serde_json::json;

/// The name of the object of a workflow.
pub(crate) fn service(workflow: &str) -> String {
    format!("graphweft.{workflow}")
}

/// The name of the service of a pool, whose letters Restate takes: others are written as their numbers.
pub(crate) fn pool_service(pool: &str) -> String {
    let mut name = "graphweft.pool.".to_owned();
    for letter in pool.chars() {
        if letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-') {
            name.push(letter);
        } else {
            name.push_str(&format!("_x{:x}_", u32::from(letter)));
        }
    }
    name
}

/// The handler of the service of a pool.
pub(crate) const EXECUTE: &str = "execute";

/// The handler that gives what a fork of a run copies.
pub(crate) const EXPORT: &str = "export";

/// The workflow of an object.
pub(crate) fn workflow(service: &str) -> Option<&str> {
    service.strip_prefix("graphweft.")
}

pub(crate) const CONTENT_TYPE: &str = "application/vnd.restate.endpointmanifest.v4+json";

/// The oldest and the newest version of the protocol that workers speak.
const PROTOCOL: (u32, u32) = (5, 7);

const MINUTE: u64 = 60 * 1000;

const DAY: u64 = 24 * 60 * MINUTE;

/// How long the result of a task is kept for the run that waits for it, which may have no worker meanwhile, in milliseconds.
pub(crate) const RESULTS: u64 = 7 * DAY;

/// Longer than a node takes, and shorter than timers can count.
const TEN_YEARS: u64 = 3_650 * DAY;

/// Of a run that no worker can drive now, the server makes attempts for ever, until one can.
const ATTEMPTS: u64 = i32::MAX as u64;

pub(crate) fn manifest<'w>(workflows: impl Iterator<Item = &'w str>, pools: impl Iterator<Item = String>) -> Json {
    // `null`: a handler of a service without a key.
    let handler = |name: &str, ty: Option<&str>, idempotency: u64| {
        json!({
            "name": name, "ty": ty,
            // What has happened is in the state of the object.
            "journalRetention": 0, "idempotencyRetention": idempotency,
            // One that has its object for itself and is paused would keep it from all others.
            "retryPolicyInitialInterval": 50, "retryPolicyMaxInterval": 5000, "retryPolicyExponentiationFactor": 2.0,
            "retryPolicyMaxAttempts": ATTEMPTS, "retryPolicyOnMaxAttempts": "PAUSE",
        })
    };
    let long = |name: &str, ty: Option<&str>, idempotency: u64| {
        let mut long = handler(name, ty, idempotency);
        // A suspension is the decision of the run: the server does not ask for one while a record is on its way.
        (long["inactivityTimeout"], long["abortTimeout"]) = (TEN_YEARS.into(), TEN_YEARS.into());
        long
    };
    // The server would have all of the state in memory at once, and pauses an invocation whose object holds more than 32 MiB.
    let lazy = |mut handler: Json| {
        handler["enableLazyState"] = true.into();
        handler
    };
    let drives = |name: &str, idempotency: u64| lazy(long(name, Some("EXCLUSIVE"), idempotency));
    let pool = |name: String| json!({ "name": name, "ty": "SERVICE", "handlers": [long(EXECUTE, None, RESULTS)] });
    // They read little of the state, which may be large, and are asked often.
    let short = |name: &str, ty: &str, idempotency: u64| lazy(handler(name, Some(ty), idempotency));
    let reads = |name: &str| short(name, "SHARED", MINUTE);
    // A client may send the same again that was away for a while.
    let sends = |name: &str| short(name, "SHARED", DAY);
    let object = |workflow: &str| {
        json!({ "name": service(workflow), "ty": "VIRTUAL_OBJECT", "handlers": [
            // A run that was forgotten may be started anew, and the object knows it before that. A retry has a key for each end.
            drives("run", 0), drives("fork", 0), drives("retry", DAY), short("forget", "EXCLUSIVE", MINUTE),
            sends("answer"), sends("signal"), sends("cancel"), reads("status"), reads("events"), reads(EXPORT),
        ] })
    };
    json!({
        "protocolMode": "BIDI_STREAM", "minProtocolVersion": PROTOCOL.0, "maxProtocolVersion": PROTOCOL.1,
        "services": workflows.map(object).chain(pools.map(pool)).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::{DAY, manifest};

    #[test]
    fn all_handlers_are_tried_for_ever_and_a_message_is_known_for_a_day() {
        let manifest = manifest(["pay"].into_iter(), ["gpu".to_owned()].into_iter());
        let services = manifest["services"].as_array().unwrap();
        let handlers = services.iter().flat_map(|service| service["handlers"].as_array().unwrap());
        let mut names = Vec::new();
        for handler in handlers {
            let name = handler["name"].as_str().unwrap();
            assert!(handler["retryPolicyMaxAttempts"].as_u64() > Some(1_000_000_000), "{name}");
            // The state of an object may be larger than a server sends.
            assert!(handler["enableLazyState"] == true || name == "execute", "{name}");
            let is_known_for = handler["idempotencyRetention"].as_u64().unwrap();
            assert!(is_known_for >= DAY || !["answer", "signal", "cancel"].contains(&name), "{name}");
            names.push(name);
        }
        assert_eq!(names.len(), 11, "{names:?}");
    }
}
