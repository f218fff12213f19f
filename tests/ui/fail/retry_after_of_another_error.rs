//! `retry(after = ..)` takes the node's own error, and returns an `Option<Duration>`.

use std::time::Duration;

use graphweft::prelude::*;

#[value]
pub enum ApiError {
    Busy(u64),
}

impl ApiError {
    fn retry_after(&self) -> Option<Duration> {
        let ApiError::Busy(seconds) = self;
        Some(Duration::from_secs(*seconds))
    }

    fn seconds(&self) -> u64 {
        let ApiError::Busy(seconds) = self;
        *seconds
    }
}

#[node(retry(after = ApiError::retry_after))]
async fn sound(n: u64) -> Result<u64, ApiError> {
    Err(ApiError::Busy(n))
}

#[node(retry(after = ApiError::seconds))]
async fn counts(n: u64) -> Result<u64, ApiError> {
    Err(ApiError::Busy(n))
}

#[node(retry(after = ApiError::retry_after))]
async fn other(n: u64) -> Result<u64, String> {
    Err(n.to_string())
}

#[node(retry(after = "5s"))]
async fn text(n: u64) -> Result<u64, String> {
    Err(n.to_string())
}

fn main() {}
