//! The stores of this crate.

mod in_memory {
    use crate::store::MemoryStore;

    crate::store_conformance!(async { (MemoryStore::new(), ()) });
}

#[cfg(feature = "sqlite")]
mod in_a_file {
    use crate::store::SqliteStore;

    crate::store_conformance!(async {
        let directory = tempfile::tempdir().unwrap();
        (SqliteStore::open(directory.path().join("runs.db")).await.unwrap(), directory)
    });
}

#[cfg(feature = "sqlite")]
mod in_a_file_relaxed {
    use crate::store::{Durability, SqliteStore};

    crate::store_conformance!(async {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::builder().durability(Durability::Relaxed);
        (store.open(directory.path().join("runs.db")).await.unwrap(), directory)
    });
}
