//! What every store does: the contract of [`Store`](super::Store), as tests.

pub mod claims;
pub mod deleting;
pub mod feed;
pub mod finding;
pub mod journal;
pub mod logs;
pub mod reopening;
pub mod runs;
pub mod snapshots;
pub mod starting_over;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use serde_json::json;

use super::{
    Append, Appended, AskedQuestion, Claim, Claimed, Created, Delete, FeedPage, FeedPlace, FeedQuery, HeaderChange,
    NewRun, OnClose, OpenQuestion, Owner, QuestionChange, QuestionQuery, Record, ReserveTask, RunHeader, RunKey,
    RunOverview, RunQuery, RunStatus, StartedBy, StartedOver, Store, Stored, Tags,
};
use crate::asked::Question;
use crate::event::EventKind;
use crate::fault::{Cause, Failure};

/// Tests of a store: each makes a new, empty store by the expression, which is a future of the store and of a value that
/// is kept until the test is over, such as its directory. The names of the tests say what is asserted.
///
/// It needs the feature `test-util`. Put it into a module, with one store each:
///
/// ```
/// mod in_memory {
///     graphweft::store_conformance!(async { (graphweft::store::MemoryStore::new(), ()) });
/// }
/// # fn main() {}
/// ```
///
/// A store that outlives its process is passed an async closure as well, which closes it and opens it again: then the tests assert
/// too that nothing is forgotten, and nothing given twice, over that.
///
/// ```
/// # #[cfg(feature = "sqlite")]
/// mod in_a_file {
///     use graphweft::store::SqliteStore;
///     use tempfile::TempDir;
///
///     async fn open(directory: TempDir) -> (SqliteStore, TempDir) {
///         (SqliteStore::open(directory.path().join("runs.db")).await.unwrap(), directory)
///     }
///
///     graphweft::store_conformance!(
///         open(TempDir::new().unwrap()),
///         reopen: async |store, directory| {
///             drop(store);
///             open(directory).await
///         },
///     );
/// }
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! store_conformance {
    ($open:expr, reopen: $reopen:expr $(,)?) => {
        $crate::store_conformance! { $open }
        $crate::store_conformance! { @reopened ($open) ($reopen)
            runs_and_their_records_are_as_they_were
            a_sleeping_run_is_taken_when_its_time_has_come
            open_questions_are_as_they_were
            the_id_and_the_number_of_a_deleted_run_are_kept
            places_of_the_feed_are_as_they_were
            an_owner_is_not_given_twice
            a_log_and_its_positions_are_as_they_were
            a_snapshot_fits_or_is_gone
        }
    };
    (@reopened $open:tt $reopen:tt $($case:ident)*) => {
        mod reopened {
            use super::*;

            $($crate::store_conformance! { @reopened_one $open $reopen $case })*
        }
    };
    (@reopened_one ($open:expr) ($reopen:expr) $case:ident) => {
        #[test]
        fn $case() {
            $crate::block_on(async {
                let (store, kept) = ($open).await;
                $crate::store::conformance_cases::reopening::$case(store, kept, $reopen).await;
            });
        }
    };
    ($open:expr) => {
        $crate::store_conformance! { @each ($open)
            finding {
                runs_are_found_by_their_tags
                runs_are_found_by_when_their_status_changed_last
                a_run_that_begins_later_sleeps_until_then
                an_overview_has_the_last_records_and_the_open_questions
                an_overview_has_no_values_and_of_texts_the_first_line
                open_questions_are_listed_by_when_they_were_asked
                a_question_that_is_closed_is_not_listed
                a_question_that_is_asked_again_keeps_its_place
                a_run_that_is_over_has_no_open_questions
                questions_are_filtered
                a_refused_append_leaves_the_open_questions
            }
            deleting {
                a_deleted_run_is_gone_with_its_records
                a_run_that_is_not_over_is_not_deleted
                the_id_of_a_deleted_run_is_kept_for_a_time
                the_id_of_a_deleted_run_is_free_at_once_if_it_is_not_kept
                the_number_of_a_deleted_run_is_not_given_again
                nothing_can_be_added_to_a_deleted_run
                a_long_run_is_deleted_whole
                a_task_belongs_to_one_owner_at_a_time
                a_task_of_an_owner_that_left_is_free
            }
            runs {
                a_new_run_is_running_and_has_its_first_records
                the_same_id_again_gives_the_same_run_unchanged
                of_many_who_create_one_id_exactly_one_does
                a_run_may_begin_without_records
                a_run_that_is_not_there_has_no_header
                the_header_follows_the_status
                only_a_waiting_run_has_a_time_to_wake
                a_run_that_is_over_belongs_to_nobody
                the_header_changes_without_records
                a_graph_is_kept_once_and_read_by_its_hash
                graphs_of_children_are_kept_and_leave_the_header_as_it_is
                the_list_is_newest_first_and_goes_on_where_a_page_ended
                the_list_is_filtered
                the_list_has_a_prefix_a_time_an_order_and_a_number
                the_list_leaves_workflows_out
                the_list_leaves_a_graph_out
                forks_are_found_by_their_origin
                runs_are_found_by_the_run_that_has_started_them
            }
            journal {
                records_are_read_in_the_order_in_which_they_were_added
                a_batch_at_a_number_that_is_too_low_changes_nothing
                a_batch_at_a_number_that_is_too_high_changes_nothing
                a_batch_at_a_number_inside_another_changes_nothing
                a_batch_for_a_run_that_is_not_there_changes_nothing
                of_many_who_add_at_one_number_exactly_one_does
                runs_do_not_see_each_others_records
                reading_begins_and_ends_inside_a_batch
                reading_behind_the_end_gives_nothing
                a_batch_of_hundreds_of_records_is_read_in_pages
                values_come_back_as_they_were
            }
            starting_over {
                the_end_and_the_next_run_are_there_at_once
                a_conflict_of_the_end_adds_no_run
                an_id_that_is_taken_leaves_the_run_as_it_is
                the_id_of_a_deleted_run_leaves_the_run_as_it_is_while_it_is_kept
                a_run_that_has_started_over_is_not_claimed_and_the_next_one_is
                of_many_who_start_over_with_one_id_exactly_one_does
            }
            feed {
                records_of_all_runs_come_in_the_order_of_their_commits
                a_feed_continues_at_every_place
                from_its_end_a_feed_has_what_is_added_later
                a_refused_append_is_not_in_the_feed
                a_takeover_is_in_the_feed
                records_of_deleted_runs_are_passed_over
                a_feed_is_filtered_by_workflows_and_tags
                nothing_is_left_out_or_repeated_while_others_add
            }
            snapshots {
                a_store_without_snapshots_takes_one_and_has_none
                the_snapshot_of_a_run_is_the_last_that_was_kept
                an_older_snapshot_changes_nothing
                a_snapshot_of_more_records_than_there_are_changes_nothing
                a_snapshot_of_any_bytes_comes_back_as_it_was
                a_snapshot_adds_no_record_and_changes_no_header
                the_snapshot_of_a_deleted_run_is_gone
            }
            logs {
                a_log_has_its_entries_in_the_order_in_which_they_were_added
                a_log_is_read_between_two_positions
                a_key_is_in_a_log_once_and_the_first_entry_stays
                an_entry_for_another_end_of_a_log_is_refused
                of_many_who_add_behind_one_entry_exactly_one_does
                logs_are_listed_by_the_beginning_of_their_names
                a_deleted_log_is_gone_and_its_positions_are_not_given_again
                the_beginning_of_a_log_becomes_one_entry_and_the_rest_stays
                keys_of_removed_entries_are_free_and_those_of_kept_ones_are_not
                a_log_is_not_trimmed_at_a_position_that_it_does_not_have
                of_two_who_trim_a_log_each_leaves_what_is_behind_its_entry
                a_log_adds_no_record
            }
            claims {
                a_running_run_of_nobody_is_taken_and_says_so
                a_run_is_resumed_behind_its_records_also_if_the_claim_has_waited
                a_run_of_another_workflow_is_left
                a_run_of_a_living_owner_is_left
                a_run_of_an_owner_that_left_is_taken
                a_run_of_its_own_that_the_claimer_is_not_at_is_taken
                a_sleeping_run_is_taken_when_its_time_has_come
                a_sleeping_run_is_taken_when_the_clock_was_set_back_since
                a_waiting_run_of_a_living_owner_is_left_when_its_time_has_come
                a_run_that_waits_for_an_answer_or_is_over_is_left
                the_next_time_to_wake_is_that_of_the_earliest_run_that_could_be_taken
                a_claim_takes_the_longest_ready_first_and_no_more_than_it_wants
                a_claim_for_one_run_takes_only_that
                its_own_running_run_is_left_unless_it_is_asked_for
                a_run_without_an_owner_is_taken_also_if_orphans_are_not
                of_two_who_claim_at_once_one_gets_the_run
                what_a_former_owner_adds_after_the_takeover_is_refused
                what_a_former_owner_changes_in_the_header_after_the_takeover_is_refused
                a_nudge_is_told_once_and_to_the_owner
                a_run_that_is_taken_is_not_nudged_as_well
                a_nudge_has_a_run_that_waits_go_on
                an_owner_is_never_given_twice
                a_workflow_is_served_while_an_owner_that_knows_it_lives
            }
        }
    };
    (@each $open:tt $($module:ident { $($case:ident)* })*) => {
        $($($crate::store_conformance! { @one $open $module $case })*)*
    };
    (@one ($open:expr) $module:ident $case:ident) => {
        #[test]
        fn $case() {
            $crate::block_on(async {
                let (store, _kept) = ($open).await;
                $crate::store::conformance_cases::$module::$case(store).await;
            });
        }
    };
}

pub fn at(millis: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_000 + millis)
}

pub fn started() -> Record {
    let kind = EventKind::RunStarted {
        workflow: "checkout".to_owned(),
        input: json!({"item": 7}),
        state: serde_json::Map::new(),
        tags: Tags::new(),
        previous: None,
        begins: None,
        limit: None,
    };
    Record { path: "checkout".to_owned(), kind }
}

pub fn said(text: &str) -> Record {
    Record { path: "checkout/charge".to_owned(), kind: EventKind::Message { text: text.to_owned() } }
}

pub fn new_run(id: &str) -> NewRun {
    NewRun {
        id: id.to_owned(),
        workflow: "checkout".to_owned(),
        owner: None,
        graph: Arc::new((7, json!({"nodes": ["charge"]}))),
        forked_from: None,
        previous: None,
        started_by: None,
        tags: Tags::new(),
        wake_at: None,
        time: at(0),
        records: vec![started()],
    }
}

/// Adds a run and gives its header.
pub async fn create(store: &impl Store, run: NewRun) -> RunHeader {
    match store.create(run).await.unwrap() {
        Created::New(header) => header,
        other => panic!("it is not new: {other:?}"),
    }
}

pub fn batch(run: RunKey, number: u64, records: &[Record]) -> Append {
    Append { run, at: number, time: at(1), records: records.to_vec().into(), header: HeaderChange::default() }
}

pub async fn add(store: &impl Store, run: RunKey, number: u64, records: &[Record]) -> Appended {
    store.append(batch(run, number, records)).await.unwrap()
}

pub async fn set_status(store: &impl Store, run: RunKey, status: RunStatus, wake_at: Option<SystemTime>) {
    let header = HeaderChange { status: Some((status, wake_at)), ..HeaderChange::default() };
    let records = read_all(store, run).await.len() as u64;
    let change = Append { header, ..batch(run, records, &[]) };
    assert_eq!(store.append(change).await.unwrap(), Appended::Done);
}

pub async fn header(store: &impl Store, id: &str) -> RunHeader {
    store.header(id).await.unwrap().expect("the run is there")
}

pub async fn read_all(store: &impl Store, run: RunKey) -> Vec<Stored> {
    store.read(run, 0, usize::MAX).await.unwrap()
}

pub fn claim(owner: Owner) -> Claim {
    Claim { own: true, ..Claim::new(owner, vec!["checkout".to_owned()], at(1000)) }
}

pub fn ids(runs: &[RunHeader]) -> Vec<&str> {
    runs.iter().map(|run| run.id.as_str()).collect()
}

/// An open question of `checkout/charge`, asked at this time.
pub fn asked(name: &str, millis: u64) -> OpenQuestion {
    let question = Question {
        id: format!("checkout/charge/{name}"),
        name: name.to_owned(),
        path: "checkout/charge".to_owned(),
        prompt: format!("{name}?"),
        payload: json!({"item": 7}),
        schema: json!({"type": "boolean"}),
        until: None,
    };
    OpenQuestion { question, asked: at(millis) }
}
