//! Stores that do something of their own in a few methods.

/// Methods of `Store` that do what those of the field `inner` do: `forward_store! { join leave .. }` among the methods
/// of its own.
#[macro_export]
macro_rules! forward_store {
    ($($method:ident)*) => { $($crate::forward_store!(@ $method);)* };
    (@ is_shared) => {
        fn is_shared(&self) -> bool {
            self.inner.is_shared()
        }
    };
    (@ transactional) => {
        fn transactional(&self) -> Option<&(dyn std::any::Any + Send + Sync)> {
            self.inner.transactional()
        }
    };
    (@ is_volatile) => {
        fn is_volatile(&self) -> bool {
            self.inner.is_volatile()
        }
    };
    (@ leave) => {
        fn leave(&self, owner: graphweft::store::Owner) -> graphweft::store::BoxFuture<'static, ()> {
            self.inner.leave(owner)
        }
    };
    (@ create) => {
        fn create(&self, run: graphweft::store::NewRun) -> graphweft::store::BoxFuture<'_, Result<graphweft::store::Created, graphweft::store::StoreError>> {
            self.inner.create(run)
        }
    };
    (@ append) => {
        fn append(&self, batch: graphweft::store::Append) -> graphweft::store::BoxFuture<'static, Result<graphweft::store::Appended, graphweft::store::StoreError>> {
            self.inner.append(batch)
        }
    };
    (@ start_over) => {
        fn start_over(&self, end: graphweft::store::Append, next: graphweft::store::NewRun) -> graphweft::store::BoxFuture<'static, Result<graphweft::store::StartedOver, graphweft::store::StoreError>> {
            self.inner.start_over(end, next)
        }
    };
    (@ read) => {
        fn read(&self, run: graphweft::store::RunKey, from: u64, limit: usize) -> graphweft::store::BoxFuture<'_, Result<Vec<graphweft::store::Stored>, graphweft::store::StoreError>> {
            self.inner.read(run, from, limit)
        }
    };
    (@ header) => {
        fn header(&self, id: &str) -> graphweft::store::BoxFuture<'_, Result<Option<graphweft::store::RunHeader>, graphweft::store::StoreError>> {
            self.inner.header(id)
        }
    };
    (@ list) => {
        fn list(&self, query: graphweft::store::RunQuery) -> graphweft::store::BoxFuture<'_, Result<Vec<graphweft::store::RunHeader>, graphweft::store::StoreError>> {
            self.inner.list(query)
        }
    };
    (@ count) => {
        fn count(&self, query: graphweft::store::RunQuery) -> graphweft::store::BoxFuture<'_, Result<u64, graphweft::store::StoreError>> {
            self.inner.count(query)
        }
    };
    (@ overview) => {
        fn overview(&self, query: graphweft::store::RunQuery) -> graphweft::store::BoxFuture<'_, Result<Vec<graphweft::store::RunOverview>, graphweft::store::StoreError>> {
            self.inner.overview(query)
        }
    };
    (@ open_questions) => {
        fn open_questions(&self, query: graphweft::store::QuestionQuery) -> graphweft::store::BoxFuture<'_, Result<Vec<graphweft::store::AskedQuestion>, graphweft::store::StoreError>> {
            self.inner.open_questions(query)
        }
    };
    (@ delete) => {
        fn delete(&self, delete: graphweft::store::Delete) -> graphweft::store::BoxFuture<'_, Result<Vec<graphweft::store::RunKey>, graphweft::store::StoreError>> {
            self.inner.delete(delete)
        }
    };
    (@ reserve_task) => {
        fn reserve_task(&self, task: graphweft::store::ReserveTask) -> graphweft::store::BoxFuture<'_, Result<bool, graphweft::store::StoreError>> {
            self.inner.reserve_task(task)
        }
    };
    (@ claim) => {
        fn claim(&self, claim: graphweft::store::Claim) -> graphweft::store::BoxFuture<'_, Result<graphweft::store::Claimed, graphweft::store::StoreError>> {
            self.inner.claim(claim)
        }
    };
    (@ is_alive) => {
        fn is_alive(&self, owner: graphweft::store::Owner) -> graphweft::store::BoxFuture<'_, Result<bool, graphweft::store::StoreError>> {
            self.inner.is_alive(owner)
        }
    };
    (@ is_served) => {
        fn is_served(&self, workflow: &str) -> graphweft::store::BoxFuture<'_, Result<bool, graphweft::store::StoreError>> {
            self.inner.is_served(workflow)
        }
    };
    (@ feed) => {
        fn feed(&self, query: graphweft::store::FeedQuery) -> graphweft::store::BoxFuture<'_, Result<graphweft::store::FeedPage, graphweft::store::StoreError>> {
            self.inner.feed(query)
        }
    };
    (@ feed_end) => {
        fn feed_end(&self) -> graphweft::store::BoxFuture<'_, Result<graphweft::store::FeedPlace, graphweft::store::StoreError>> {
            self.inner.feed_end()
        }
    };
    (@ graph) => {
        fn graph(&self, hash: u64) -> graphweft::store::BoxFuture<'_, Result<Option<graphweft::Json>, graphweft::store::StoreError>> {
            self.inner.graph(hash)
        }
    };
    (@ keeps_snapshots) => {
        fn keeps_snapshots(&self) -> bool {
            self.inner.keeps_snapshots()
        }
    };
    (@ put_snapshot) => {
        fn put_snapshot(&self, run: graphweft::store::RunKey, snapshot: graphweft::store::Snapshot) -> graphweft::store::BoxFuture<'_, Result<(), graphweft::store::StoreError>> {
            self.inner.put_snapshot(run, snapshot)
        }
    };
    (@ snapshot) => {
        fn snapshot(&self, run: graphweft::store::RunKey) -> graphweft::store::BoxFuture<'_, Result<Option<graphweft::store::Snapshot>, graphweft::store::StoreError>> {
            self.inner.snapshot(run)
        }
    };
    (@ logs) => {
        fn logs(&self) -> Option<std::sync::Arc<dyn graphweft::store::LogStore>> {
            self.inner.logs()
        }
    };
    (@ join) => {
        fn join(&self, workflows: Vec<String>) -> graphweft::store::BoxFuture<'_, Result<graphweft::store::Owner, graphweft::store::StoreError>> {
            self.inner.join(workflows)
        }
    };
}

/// The same for methods of `LogStore`.
#[macro_export]
macro_rules! forward_logs {
    ($($method:ident)*) => { $($crate::forward_logs!(@ $method);)* };
    (@ append) => {
        fn append(&self, entry: graphweft::store::NewLogEntry) -> graphweft::store::BoxFuture<'_, Result<graphweft::store::LogAppended, graphweft::store::StoreError>> {
            self.inner.append(entry)
        }
    };
    (@ read) => {
        fn read(&self, log: &str, after: u64, until: u64) -> graphweft::store::BoxFuture<'_, Result<Vec<graphweft::store::LogEntry>, graphweft::store::StoreError>> {
            self.inner.read(log, after, until)
        }
    };
    (@ list) => {
        fn list(&self, prefix: &str) -> graphweft::store::BoxFuture<'_, Result<Vec<String>, graphweft::store::StoreError>> {
            self.inner.list(prefix)
        }
    };
    (@ trim) => {
        fn trim(&self, trim: graphweft::store::LogTrim) -> graphweft::store::BoxFuture<'_, Result<bool, graphweft::store::StoreError>> {
            self.inner.trim(trim)
        }
    };
    (@ delete) => {
        fn delete(&self, log: &str) -> graphweft::store::BoxFuture<'_, Result<bool, graphweft::store::StoreError>> {
            self.inner.delete(log)
        }
    };
}
