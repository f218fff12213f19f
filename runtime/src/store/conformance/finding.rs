//! Runs by their tags, what a list shows of them, and their open questions.

use super::*;

fn tags<const N: usize>(tags: [(&str, &str); N]) -> Tags {
    tags.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

pub async fn runs_are_found_by_their_tags(store: impl Store) {
    for (id, wears) in [
        ("a", tags([("tenant", "acme"), ("kind", "big")])),
        ("b", tags([("tenant", "acme"), ("kind", "small")])),
        ("c", tags([("tenant", "other"), ("kind", "big")])),
        ("d", tags([])),
        ("e", tags([("tenant", "acme"), ("kind", "big")])),
    ] {
        let created = create(&store, NewRun { tags: wears.clone(), ..new_run(id) }).await;
        assert_eq!((created.tags, header(&store, id).await.tags), (wears.clone(), wears));
    }
    let b = header(&store, "b").await;
    set_status(&store, b.key, RunStatus::Completed, None).await;

    for (wanted, expected) in [
        (tags([("tenant", "acme")]), &["e", "b", "a"][..]),
        (tags([("tenant", "acme"), ("kind", "big")]), &["e", "a"]),
        (tags([("kind", "big")]), &["e", "c", "a"]),
        (tags([("tenant", "unknown")]), &[]),
        (tags([("tenan", "acme")]), &[]),
    ] {
        let query = RunQuery { tags: wanted.clone(), ..RunQuery::default() };
        assert_eq!(ids(&store.list(query.clone()).await.unwrap()), expected, "{wanted:?}");
        assert_eq!(store.count(query.clone()).await.unwrap(), expected.len() as u64, "{wanted:?}");
        let oldest = store.list(RunQuery { oldest_first: true, limit: 2, ..query }).await.unwrap();
        let expected: Vec<_> = expected.iter().rev().take(2).copied().collect();
        assert_eq!(ids(&oldest), expected, "{wanted:?}, the oldest two");
    }
    let acme = RunQuery { tags: tags([("tenant", "acme")]), ..RunQuery::default() };
    let page = |before, after, oldest_first| RunQuery { before, after, oldest_first, ..acme.clone() };
    assert_eq!(ids(&store.list(page(Some(b.key), None, false)).await.unwrap()), ["a"]);
    assert_eq!(ids(&store.list(page(None, Some(b.key), true)).await.unwrap()), ["e"]);
    let running = RunQuery { status: vec![RunStatus::Running], workflows: vec!["checkout".to_owned()], ..acme.clone() };
    assert_eq!(ids(&store.list(running).await.unwrap()), ["e", "a"]);
}

pub async fn runs_are_found_by_when_their_status_changed_last(store: impl Store) {
    for (id, time) in [("a", 10), ("b", 20), ("c", 30)] {
        let run = create(&store, new_run(id)).await.key;
        let header = HeaderChange { status: Some((RunStatus::Failed, None)), ..HeaderChange::default() };
        let end = Append { header, time: at(time), ..batch(run, 1, &[]) };
        assert_eq!(store.append(end).await.unwrap(), Appended::Done);
    }
    create(&store, new_run("d")).await;

    let since = |millis| RunQuery {
        status: vec![RunStatus::Failed],
        unchanged_since: Some(at(millis)),
        oldest_first: true,
        ..RunQuery::default()
    };

    assert_eq!(ids(&store.list(since(30)).await.unwrap()), ["a", "b"]);
    assert_eq!(ids(&store.list(since(10)).await.unwrap()), [""; 0]);
    let any = RunQuery { status: Vec::new(), ..since(11) };
    assert_eq!(ids(&store.list(any).await.unwrap()), ["a", "d"]);
}

pub async fn a_run_that_begins_later_sleeps_until_then(store: impl Store) {
    let owner = store.join(vec!["checkout".to_owned()]).await.unwrap();
    let run = create(&store, NewRun { wake_at: Some(at(2000)), ..new_run("a") }).await;
    assert_eq!((run.status, run.wake_at), (RunStatus::Sleeping, Some(at(2000))));

    let early = store.claim(claim(owner)).await.unwrap();
    let due = store.claim(Claim { now: at(2000), ..claim(owner) }).await.unwrap();

    assert_eq!((early.runs.len(), early.next_wake), (0, Some(at(2000))));
    assert_eq!(ids(&due.runs), ["a"]);
}

pub async fn an_overview_has_the_last_records_and_the_open_questions(store: impl Store) {
    let a = create(&store, new_run("a")).await.key;
    let said: Vec<Record> = (0..20).map(|number| said(&number.to_string())).collect();
    add(&store, a, 1, &said).await;
    let open = QuestionChange { open: vec![asked("late", 9), asked("early", 3)], ..QuestionChange::default() };
    change_questions(&store, a, open).await;
    create(&store, new_run("b")).await;

    let overview = store.overview(RunQuery::default()).await.unwrap();

    let [b, a] = &overview[..] else { panic!("{overview:?}") };
    assert_eq!((b.header.id.as_str(), b.open, &b.question), ("b", 0, &None));
    assert_eq!(b.last.as_ref().map(Vec::len), Ok(1));
    let all = read_all(&store, a.header.key).await;
    assert_eq!(a.last, Ok(all[all.len() - RunOverview::RECORDS as usize..].to_vec()));
    let first = RunOverview::new(a.header.clone(), Ok(Vec::new()), 2, Some(asked("early", 3))).question;
    assert_eq!((a.open, &a.question), (2, &first));
    assert_eq!(a.header, header(&store, "a").await);
}

/// A list of runs is small, however large their values and errors are.
pub async fn an_overview_has_no_values_and_of_texts_the_first_line(store: impl Store) {
    let large = "x".repeat(100_000);
    let a = create(&store, new_run("a")).await.key;
    let mut question = asked("early", 3);
    question.question.prompt.push_str(&large);
    question.question.payload = large.clone().into();
    change_questions(&store, a, QuestionChange { open: vec![question], ..QuestionChange::default() }).await;
    let completed =
        EventKind::NodeCompleted { label: None, output: Some(large.clone().into()), state: Vec::new(), items: None };
    add(&store, a, 2, &[said(&large), Record::new("checkout/charge", completed)]).await;
    let b = create(&store, new_run("b")).await.key;
    let failure = Failure::new("checkout/charge", Cause::new(format!("no\u{1F4B0}{large}\nsecond line")));
    let failed = Record::new("checkout", EventKind::RunFailed { failure });
    let header = HeaderChange { status: Some((RunStatus::Failed, None)), ..HeaderChange::default() };
    let change = Append { header, ..batch(b, 1, &[said(&large), failed]) };
    assert_eq!(store.append(change).await.unwrap(), Appended::Done);

    let overview = store.overview(RunQuery::default()).await.unwrap();

    assert!(format!("{overview:?}").len() < 10_000, "{} bytes", format!("{overview:?}").len());
    let [Ok(failed), Ok(open)] = [&overview[0].last, &overview[1].last] else { panic!("{overview:?}") };
    assert_eq!(open.len(), 4);
    let [Stored { record: Record { kind: EventKind::RunFailed { failure }, .. }, .. }] = &failed[..] else {
        panic!("{failed:?}")
    };
    assert_eq!(failure.cause.to_string(), format!("no\u{1F4B0}{}…", "x".repeat(197)));
}

/// Changes the open questions of a run, with a record.
async fn change_questions(store: &impl Store, run: RunKey, questions: QuestionChange) {
    let records = read_all(store, run).await.len() as u64;
    let header = HeaderChange { questions, ..HeaderChange::default() };
    let change = Append { header, ..batch(run, records, &[said("it asks")]) };
    assert_eq!(store.append(change).await.unwrap(), Appended::Done);
}

/// The run and the name of each open question, in order.
async fn inbox(store: &impl Store, query: QuestionQuery) -> Vec<(String, String)> {
    let found = store.open_questions(query).await.unwrap();
    found.into_iter().map(|asked| (asked.id, asked.question.question.name)).collect()
}

fn of(run: &str, names: &[&str]) -> Vec<(String, String)> {
    names.iter().map(|name| (run.to_owned(), (*name).to_owned())).collect()
}

pub async fn open_questions_are_listed_by_when_they_were_asked(store: impl Store) {
    let (a, b) = (create(&store, new_run("a")).await.key, create(&store, new_run("b")).await.key);
    let opens = |open: Vec<OpenQuestion>| QuestionChange { open, ..QuestionChange::default() };
    change_questions(&store, a, opens(vec![asked("one", 5), asked("three", 7)])).await;
    change_questions(&store, b, opens(vec![asked("two", 6), asked("four", 7)])).await;

    let all = store.open_questions(QuestionQuery::default()).await.unwrap();

    let names: Vec<&str> = all.iter().map(|asked| asked.question.question.name.as_str()).collect();
    assert_eq!(names, ["one", "two", "three", "four"]);
    let AskedQuestion { run, id, workflow, tags, question } = all[0].clone();
    assert_eq!((run, id.as_str(), workflow.as_str(), tags), (a, "a", "checkout", Tags::new()));
    assert_eq!(question, asked("one", 5));
    for (from, asked) in all.iter().enumerate() {
        let page = QuestionQuery { after: Some(asked.place()), limit: 2, ..QuestionQuery::default() };
        let behind: Vec<_> = all.iter().skip(from + 1).take(2).cloned().collect();
        assert_eq!(store.open_questions(page).await.unwrap(), behind);
    }
}

pub async fn a_question_that_is_closed_is_not_listed(store: impl Store) {
    let a = create(&store, new_run("a")).await.key;
    let open = vec![asked("one", 5), asked("two", 6), asked("three", 7)];
    change_questions(&store, a, QuestionChange { open, ..QuestionChange::default() }).await;

    let closed = vec!["checkout/charge/two".to_owned(), "checkout/charge/never".to_owned()];
    change_questions(&store, a, QuestionChange { closed, ..QuestionChange::default() }).await;
    assert_eq!(inbox(&store, QuestionQuery::default()).await, of("a", &["one", "three"]));

    let open = vec![asked("three", 9), asked("four", 9)];
    change_questions(&store, a, QuestionChange { is_all: true, open, closed: Vec::new() }).await;
    assert_eq!(inbox(&store, QuestionQuery::default()).await, of("a", &["three", "four"]));
}

pub async fn a_question_that_is_asked_again_keeps_its_place(store: impl Store) {
    let a = create(&store, new_run("a")).await.key;
    let open = vec![asked("one", 5), asked("two", 6)];
    change_questions(&store, a, QuestionChange { open, ..QuestionChange::default() }).await;
    let mut again = asked("one", 9);
    again.question.prompt = "Really?".to_owned();

    change_questions(&store, a, QuestionChange { open: vec![again], ..QuestionChange::default() }).await;

    let all = store.open_questions(QuestionQuery::default()).await.unwrap();
    assert_eq!(all.len(), 2);
    assert_eq!((all[0].question.question.prompt.as_str(), all[0].question.asked), ("Really?", at(5)));
}

pub async fn a_run_that_is_over_has_no_open_questions(store: impl Store) {
    let (a, b) = (create(&store, new_run("a")).await.key, create(&store, new_run("b")).await.key);
    for run in [a, b] {
        let open = vec![asked("one", 5)];
        change_questions(&store, run, QuestionChange { open, ..QuestionChange::default() }).await;
    }

    set_status(&store, a, RunStatus::Failed, None).await;

    assert_eq!(inbox(&store, QuestionQuery::default()).await, of("b", &["one"]));
}

pub async fn questions_are_filtered(store: impl Store) {
    let wears = tags([("tenant", "acme")]);
    let a = create(&store, NewRun { tags: wears.clone(), ..new_run("acme/a") }).await.key;
    let b = create(&store, NewRun { workflow: "other".to_owned(), ..new_run("b") }).await.key;
    for (run, keyed) in [(a, "approve:1"), (b, "approve:2")] {
        let open = vec![asked("name", 5), asked(keyed, 6)];
        change_questions(&store, run, QuestionChange { open, ..QuestionChange::default() }).await;
    }
    let all = QuestionQuery::default;

    let by_name = QuestionQuery { name: Some("approve".to_owned()), ..all() };
    assert_eq!(inbox(&store, by_name).await, [of("acme/a", &["approve:1"]), of("b", &["approve:2"])].concat());
    let by_prefix = QuestionQuery { id_prefix: "acme/".to_owned(), ..all() };
    assert_eq!(inbox(&store, by_prefix).await, of("acme/a", &["name", "approve:1"]));
    let by_workflow = QuestionQuery { workflows: vec!["other".to_owned()], ..all() };
    assert_eq!(inbox(&store, by_workflow).await, of("b", &["name", "approve:2"]));
    let by_tag = QuestionQuery { tags: wears, limit: 1, ..all() };
    assert_eq!(inbox(&store, by_tag).await, of("acme/a", &["name"]));
}

pub async fn a_refused_append_leaves_the_open_questions(store: impl Store) {
    let a = create(&store, new_run("a")).await.key;
    let questions = QuestionChange { open: vec![asked("one", 5)], ..QuestionChange::default() };
    let header = HeaderChange { questions, ..HeaderChange::default() };

    let refused = store.append(Append { header, ..batch(a, 7, &[said("no")]) }).await.unwrap();

    assert_eq!(refused, Appended::Conflict);
    assert_eq!(inbox(&store, QuestionQuery::default()).await, of("a", &[]));
}
