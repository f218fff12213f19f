//! A `macro_rules!` may pass on the options of a node, each in a group that is not seen.

use graphweft::prelude::*;

macro_rules! node_with {
    ($node:ident, $name:literal, $timeout:literal, $attempts:expr, $factor:literal, $when:path) => {
        #[node(
                    name = $name,
                    renamed_from($name),
                    timeout = $timeout,
                    retry(max_attempts = $attempts, initial_delay = $timeout, backoff_factor = $factor, when = $when)
                )]
        async fn $node(n: u8) -> Result<u8, String> {
            Ok(n)
        }
    };
}

macro_rules! limited {
    ($name:ident, $node:ident, $timeout:literal, $attempts:literal, $most:literal) => {
        workflow! {
            #[timeout = $timeout]
            #[max_parallel = $most]
            $name(u8) -> u8 {
                let again = $node(timeout = $timeout, retry(max_attempts = $attempts));
                START => $node => again => <0..=9 (at most $most): $node, _: END, spent: END>;
            }
        }
    };
}

node_with!(price, "price_of", "10s", 3, 1.5, String::is_empty);

limited!(shop, price, "1m", 2, 4);
