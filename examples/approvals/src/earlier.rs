//! The version before, which did not look at a refund before it asked a person. Its runs wait for their answers; when
//! `approvals-admin check` finds none any more, this file is deleted.

use graphweft::prelude::*;

use crate::refunds::{Refund, decide, pay, refuse, settle};

workflow! {
    /// As it was.
    pub refund(Refund) -> String {
        START => decide => <approved: pay, declined: refuse>;
        pay => <ok: settle, err: refuse>;
    }
}
