//! What every store does.

graphweft::store_conformance!(async { (graphweft_postgres_tests::store().await, ()) });
