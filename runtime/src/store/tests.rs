//! The stores of this crate.

mod in_memory {
    use crate::store::MemoryStore;

    crate::store_conformance!(async { (MemoryStore::new(), ()) });
}

#[cfg(feature = "sqlite")]
mod in_a_file {
    use tempfile::TempDir;

    use crate::store::SqliteStore;

    async fn open(directory: TempDir) -> (SqliteStore, TempDir) {
        (SqliteStore::open(directory.path().join("runs.db")).await.unwrap(), directory)
    }

    crate::store_conformance!(
        open(TempDir::new().unwrap()),
        reopen: async |store, directory| {
            drop(store);
            open(directory).await
        },
    );
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
