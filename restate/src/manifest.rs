//! What a worker tells a server when it is registered: a virtual object for each workflow.

use graphweft::Json;
use serde_json::json;

/// The name of the object of a workflow.
pub(crate) fn service(workflow: &str) -> String {
    format!("graphweft.{workflow}")
}

/// The workflow of an object.
pub(crate) fn workflow(service: &str) -> Option<&str> {
    service.strip_prefix("graphweft.")
}

pub(crate) const CONTENT_TYPE: &str = "application/vnd.restate.endpointmanifest.v4+json";

/// The oldest and the newest version of the protocol that workers speak.
const PROTOCOL: (u32, u32) = (5, 7);

const MINUTE: u64 = 60 * 1000;

const DAY: u64 = 24 * 60 * MINUTE;

/// Longer than a node takes, and shorter than timers can count.
const TEN_YEARS: u64 = 3_650 * DAY;

/// Of a run that no worker can drive now, the server makes attempts for ever, until one can.
const ATTEMPTS: u64 = i32::MAX as u64;

pub(crate) fn manifest<'w>(workflows: impl Iterator<Item = &'w str>) -> Json {
    let drives = |name: &str, idempotency: u64| {
        json!({
            "name": name, "ty": "EXCLUSIVE",
            // A suspension is the decision of the run: the server does not ask for one while a record is on its way.
            "inactivityTimeout": TEN_YEARS, "abortTimeout": TEN_YEARS,
            // What has happened is in the state of the object.
            "journalRetention": 0, "idempotencyRetention": idempotency,
            "retryPolicyInitialInterval": 50, "retryPolicyMaxInterval": 5000, "retryPolicyExponentiationFactor": 2.0,
            "retryPolicyMaxAttempts": ATTEMPTS, "retryPolicyOnMaxAttempts": "PAUSE",
        })
    };
    // They read little of the state, which may be large, and are asked often.
    let short = |name: &str, ty: &str| json!({ "name": name, "ty": ty, "enableLazyState": true, "journalRetention": 0, "idempotencyRetention": MINUTE });
    let shared = |name: &str| short(name, "SHARED");
    let object = |workflow: &str| {
        json!({ "name": service(workflow), "ty": "VIRTUAL_OBJECT", "handlers": [
            // A run that was forgotten may be started anew, and the object knows it before that. A retry has a key for each end.
            drives("run", 0), drives("retry", DAY), short("forget", "EXCLUSIVE"),
            shared("answer"), shared("signal"), shared("cancel"), shared("status"), shared("events"),
        ] })
    };
    json!({
        "protocolMode": "BIDI_STREAM", "minProtocolVersion": PROTOCOL.0, "maxProtocolVersion": PROTOCOL.1,
        "services": workflows.map(object).collect::<Vec<_>>(),
    })
}
