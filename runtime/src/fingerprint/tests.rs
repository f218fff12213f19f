use std::sync::Arc;

use serde_json::json;

use super::past::Translation;
use super::{Change, Fingerprint, Past, canonical, fnv1a};
use crate::compile;
use crate::json_graphs::{Made, made};
use crate::table::{Definition, ScopeKind};

fn print(made: Made) -> Arc<Fingerprint> {
    compile::fingerprint(&made.build())
}

/// The same with something about it changed that a line of text does not say.
fn print_with(made: Made, change: impl FnOnce(&mut Definition)) -> Arc<Fingerprint> {
    let mut definition = Arc::into_inner(made.build()).expect("nobody else has it yet");
    change(&mut definition);
    compile::fingerprint(&Arc::new(definition))
}

fn was(made: Made, name: &str, former: &'static [&'static str]) -> Arc<Fingerprint> {
    print_with(made, |definition| entry(definition, name).renamed_from = former)
}

fn entry<'d>(definition: &'d mut Definition, name: &str) -> &'d mut crate::table::Entry {
    definition.entries.iter_mut().find(|entry| entry.name == name).expect("a node of that name")
}

/// What a run has recorded: `a` for a node that gave an output, `a?` for one that was started, `a=ok` for a label.
fn past(then: &Fingerprint, recorded: &str) -> Past {
    let mut past = Past::read(&then.body).expect("a fingerprint");
    for path in recorded.split(' ').filter(|path| !path.is_empty()) {
        match (path.strip_suffix('?'), path.split_once('=')) {
            (Some(path), _) => past.started(path),
            (None, Some((path, label))) => past.completed(path, Some(label)),
            (None, None) => past.completed(path, None),
        }
    }
    past
}

fn translation(then: &Fingerprint, recorded: &str, now: &Fingerprint) -> Translation {
    let (translation, changes) = past(then, recorded).under(now);
    assert!(changes.is_empty(), "{changes:?}");
    translation
}

fn changes(then: &Fingerprint, recorded: &str, now: &Fingerprint) -> Vec<String> {
    past(then, recorded).under(now).1.iter().map(Change::to_string).collect()
}

#[test]
fn hashes_are_those_of_fnv_1a() {
    assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
    assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
}

#[test]
fn the_text_of_an_object_has_its_keys_in_order() {
    assert_eq!(
        canonical(&json!({"b": [1, {"d": null, "c": "\""}], "a": 1.5})),
        r#"{"a":1.5,"b":[1,{"c":"\"","d":null}]}"#
    );
}

#[test]
fn the_same_graph_has_the_same_fingerprint() {
    let text = "START>a; a>ok:b; a>err:c; (b/c)>END";
    assert_eq!(print(made(text)).hash, print(made(text)).hash);
}

#[test]
fn the_hash_is_the_same_in_every_process() {
    assert_eq!(print(made("START>a; a>END")).hash, 14_502_549_315_725_258_686);
}

#[test]
fn it_is_taken_once() {
    let definition = made("START>a; a>END").build();
    assert!(Arc::ptr_eq(&compile::fingerprint(&definition), &compile::fingerprint(&definition)));
}

#[test]
fn how_often_a_node_is_tried_is_not_in_it() {
    let patient = made("START>a; a>END").options("a", |options| options.retry.max_attempts = 9);
    assert_eq!(print(patient).hash, print(made("START>a; a>END")).hash);
}

#[test]
fn whether_a_node_may_be_repeated_is_in_it() {
    let once = made("START>a; a>END").options("a", |options| options.at_most_once = true);
    assert_ne!(print(once).hash, print(made("START>a; a>END")).hash);
}

#[test]
fn it_comes_back_from_what_was_stored() {
    let print = print(made("START>a; a>ok:b; a>err:c; (b/c)>END"));
    let stored = serde_json::from_str(&print.body.to_string()).unwrap();
    let mut past = Past::read(&stored).unwrap();
    past.completed("w/a", Some("ok"));
    assert_eq!(past.under(&print).1, []);
}

#[test]
fn what_is_no_fingerprint_is_refused() {
    assert!(Past::read(&json!({"graphs": []})).is_err());
    let mut body = print(made("START>a; a>END").inside("a", ScopeKind::Each, made("START>x; x>END"))).body.clone();
    body["graphs"][0]["nodes"][0]["kind"] = json!({"each": 0});
    assert!(Past::read(&body).is_err(), "a `[..]` inside of itself");
    body["graphs"][0]["nodes"][0]["kind"] = json!({"each": 9});
    assert!(Past::read(&body).is_err(), "a graph that is not there");
}

#[test]
fn what_has_not_run_may_change() {
    let then = print(made("START>a; a>b; b>END"));
    let now = print(made("START>a; a>ok:c; a>err:d; (c/d)>e; e>END"));
    assert_eq!(changes(&then, "w/a", &now), [""; 0]);
}

#[test]
fn a_node_that_has_run_is_still_there() {
    let then = print(made("START>a; a>b; b>END"));
    let now = print(made("START>a; a>c; c>END"));
    assert_eq!(
        changes(&then, "w/a w/b?", &now),
        ["node `w/b`: it was removed; if it was renamed, add `renamed_from = \"b\"` to the node"]
    );
}

#[test]
fn a_node_may_have_another_name_now() {
    let then = print(made("START>a; a>b; b>END"));
    let now = was(made("START>a; a>c; c>END"), "c", &["x", "b"]);
    let translation = translation(&then, "w/a w/b", &now);
    assert_eq!(translation.path("w/b"), "w/c");
    assert_eq!(translation.path("w/b#2.3"), "w/c#2.3");
    assert_eq!(translation.path("w/b/search:b"), "w/c/search:b");
    assert_eq!(translation.path("w/a"), "w/a");
    assert_eq!(translation.path("w"), "w");
}

#[test]
fn the_sources_of_a_node_may_have_other_names_now() {
    let then = print(made("START>a; a>b; b>END"));
    let now = was(made("START>first; first>b; b>END"), "first", &["a"]);
    assert_eq!(changes(&then, "w/a w/b?", &now), [""; 0]);
}

#[test]
fn two_nodes_may_have_changed_names() {
    let then = print(made("START>a; a>b; b>END"));
    let now = print_with(made("START>b; b>a; a>END"), |definition| {
        entry(definition, "a").renamed_from = &["b"];
        entry(definition, "b").renamed_from = &["a"];
    });
    let translation = translation(&then, "w/a w/b", &now);
    assert_eq!((translation.path("w/a"), translation.path("w/b")), ("w/b".into(), "w/a".into()));
}

#[test]
fn names_may_have_moved_on_by_one() {
    let then = print(made("START>a; a>b; b>END"));
    let now = print_with(made("START>b; b>c; c>END"), |definition| {
        entry(definition, "b").renamed_from = &["a"];
        entry(definition, "c").renamed_from = &["b"];
    });
    let translation = translation(&then, "w/a w/b", &now);
    assert_eq!((translation.path("w/a"), translation.path("w/b")), ("w/b".into(), "w/c".into()));
}

#[test]
fn a_former_name_from_before_the_record_means_nothing() {
    let swapped = |text| {
        print_with(made(text), |definition| {
            entry(definition, "a").renamed_from = &["b"];
            entry(definition, "b").renamed_from = &["a"];
        })
    };
    let (then, now) = (swapped("START>a; a>b; b>END"), swapped("START>a; a>b; b>c; c>END"));
    assert_eq!(translation(&then, "w/a w/b", &now).path("w/a"), "w/a");
}

#[test]
fn two_nodes_that_were_one_are_not_clear() {
    let then = print(made("START>a; a>END"));
    let now = print_with(made("START>x; x>y; y>END"), |definition| {
        entry(definition, "x").renamed_from = &["a"];
        entry(definition, "y").renamed_from = &["a"];
    });
    assert_eq!(changes(&then, "w/a", &now), ["node `w/a`: it was renamed ambiguously: 2 nodes have that former name"]);
}

#[test]
fn a_node_cannot_have_been_two_of_the_runs_nodes() {
    let then = print(made("START>a; a>b; b>END"));
    let now = was(made("START>b; b>END"), "b", &["a"]);
    let changes = changes(&then, "w/a", &now);
    assert_eq!(changes, ["node `w/a`: it was removed: the node with that former name is another node of the run"]);
}

#[test]
fn a_node_that_gives_another_type_is_found_by_its_recorded_path() {
    let inside = || made("START>x; x>END");
    let graph = |inside| made("START>a; a>b; b>END").inside("b", ScopeKind::Nested, inside);
    let then = print(graph(inside()));
    let changed = |made: Made| print_with(made, |of| entry(of, "a").output_schema = || schemars::schema_for!(u32));
    let translation = translation(&then, "w/a w/b/x", &changed(graph(inside())));
    let retyped = translation.retyped("w/a#2").expect("it gives numbers now");
    assert_eq!((retyped.node.as_str(), retyped.graph, retyped.at), ("w/a", 0, 0));
    assert!(translation.retyped("w/b").is_none() && translation.retyped("w/b/x").is_none(), "they give what they gave");
    assert!(translation.retyped("w/a/search:1").is_none(), "what the node has started has another type anyway");
}

#[test]
fn what_a_node_took_may_have_another_type() {
    let then = print(made("START>a; a>END"));
    let now = print_with(made("START>a; a>END"), |definition| {
        entry(definition, "a").input_schema = || schemars::schema_for!(u32);
    });
    assert_eq!(changes(&then, "w/a", &now), [""; 0]);
}

#[test]
fn a_workflow_that_takes_another_type_is_told_from_one_that_takes_the_same() {
    let then = print(made("START>a; a>END"));
    let now = print_with(made("START>a; a>END"), |definition| {
        definition.door.input_schema = || schemars::schema_for!(u32);
    });
    assert!(translation(&then, "", &now).has_other_input);
    assert!(!translation(&then, "", &then).has_other_input);
}

#[test]
fn the_label_that_a_node_took_is_still_there() {
    let then = print(made("START>a; a>ok:b; a>err:c; (b/c)>END"));
    let now = print(made("START>a; a>ok:b; a>bad:c; (b/c)>END"));
    assert_eq!(changes(&then, "w/a=ok", &now), [""; 0]);
    assert_eq!(changes(&then, "w/a=err", &now), ["node `w/a`: it took the label `err`, which it no longer has"]);
}

#[test]
fn an_error_went_by_a_label_too() {
    let then = print(made("START>a; a>ok:b; a>err:c; (b/c)>END"));
    let mut past = past(&then, "");
    past.error_routed("w/a", "err");
    let (_, changes) = past.under(&print(made("START>a; a>END")));
    assert_eq!(changes[0].what, "it took the label `err`, which it no longer has");
}

#[test]
fn a_label_may_have_company_and_be_spelled_otherwise() {
    let labelled = |labels: [&'static str; 2]| {
        print_with(made("START>a; a>x:b; a>y:c; (b/c)>END"), |definition| definition.labels[2] = labels.to_vec())
    };
    let then = labelled(["low | NeedsWork", "\"High\""]);
    assert_eq!(changes(&then, "w/a=NeedsWork", &labelled(["needs_work | low", "\"High\""])), [""; 0]);
    assert_eq!(changes(&then, "w/a=low w/b?", &labelled(["needs_work | low", "_"])), [""; 0]);
    assert_eq!(changes(&then, "w/a=\"High\"", &labelled(["low", "\"high\""])).len(), 1, "a literal is what it is");
}

#[test]
fn a_node_that_has_begun_is_reached_as_it_was() {
    let then = print(made("START>a; a>b; b>END"));
    let now = print(made("START>a; a>x; x>b; b>END"));
    assert_eq!(changes(&then, "w/a", &now), [""; 0]);
    assert_eq!(changes(&then, "w/a w/b?", &now), ["node `w/b`: its ways in changed: `a` then, `x` now"]);
}

#[test]
fn a_node_that_has_begun_is_reached_by_the_same_labels() {
    let then = print(made("START>a; a>ok:b; a>err:c; (b/c)>END"));
    let now = print(made("START>a; a>err:b; a>ok:c; (b/c)>END"));
    assert_eq!(changes(&then, "w/a=ok w/b?", &now), ["node `w/b`: its ways in changed: `a <ok>` then, `a <err>` now"]);
}

#[test]
fn a_join_that_has_begun_has_its_places_in_their_order() {
    let then = print(made("START>a; START>b; (a,b)>c; c>END"));
    let now = print(made("START>a; START>b; (b,a)>c; c>END"));
    assert_eq!(changes(&then, "w/a w/b", &now), [""; 0]);
    assert_eq!(changes(&then, "w/c?", &now), ["node `w/c`: its ways in changed: `(a, b)` then, `(b, a)` now"]);
}

#[test]
fn separate_ways_in_have_no_order() {
    let then = print(made("START>a; a>x:b; a>y:c; b>d; c>d; d>END"));
    let now = print(made("START>a; a>x:b; a>y:c; c>d; b>d; d>END"));
    assert_eq!(changes(&then, "w/d", &now), [""; 0]);
}

#[test]
fn a_loop_around_what_has_run_is_a_change() {
    let then = print(made("START>a; a>x:b; a>y:u; u>b; b>END"));
    let now = print(made("START>a; a>x:b; a>y:u; u>b; b>again:u; b>done:END"));
    assert_eq!(
        changes(&then, "w/a=x w/b", &now),
        ["node `w/b`: the loops that it stands in changed, so that its turns are counted otherwise"]
    );
}

#[test]
fn the_kind_of_a_node_is_the_same() {
    let then = print(made("START>a; a>END"));
    let now = print(made("START>a; a>END").inside("a", ScopeKind::Nested, made("START>x; x>END").named("inner")));
    assert_eq!(changes(&then, "w/a", &now), ["node `w/a`: it was a node of its own and is the workflow `inner` now"]);
}

fn nested(inside: Made) -> Made {
    made("START>a; a>deliver; deliver>END").inside("deliver", ScopeKind::Nested, inside.named("delivery"))
}

#[test]
fn a_nested_workflow_is_looked_into() {
    let then = print(nested(made("START>pack; pack>send; send>END")));
    let now = print(nested(made("START>pack; pack>weigh; weigh>send; send>END")));
    assert_eq!(changes(&then, "w/a w/deliver? w/deliver/pack", &now), [""; 0]);
    assert_eq!(
        changes(&then, "w/deliver/pack w/deliver/send#2?", &now),
        ["node `w/deliver/send`: its ways in changed: `pack` then, `weigh` now"]
    );
}

#[test]
fn a_node_of_a_nested_workflow_may_have_another_name_now() {
    let then = print(nested(made("START>pack; pack>send; send>END")));
    let mut inside = Arc::into_inner(made("START>wrap; wrap>send; send>END").named("delivery").build()).unwrap();
    entry(&mut inside, "wrap").renamed_from = &["pack"];
    let now = print(made("START>a; a>deliver; deliver>END").enters("deliver", ScopeKind::Nested, Arc::new(inside)));
    let translation = translation(&then, "w/a w/deliver/pack", &now);
    assert_eq!(translation.path("w/deliver#2/pack#3"), "w/deliver#2/wrap#3");
    assert_eq!(translation.path("w/deliver/send"), "w/deliver/send");
}

fn each(name: &str, inside: &str) -> Made {
    made(&format!("START>a; a>{name}; {name}>b; b>END")).inside(name, ScopeKind::Each, made(inside).named(name))
}

#[test]
fn the_nodes_of_brackets_are_found_by_their_items() {
    let then = print(each("[x]", "START>x; x>END"));
    let now = print(each("[x]", "START>y; y>END"));
    assert_eq!(
        changes(&then, "w/a w/[x]? w/x[3]", &now),
        ["node `w/x`: it was removed; if it was renamed, add `renamed_from = \"x\"` to the node"]
    );
    assert_eq!(
        changes(&then, "w/x", &now),
        ["node `w/x`: the record names it, but the graph that the run was recorded under has no such node"]
    );
}

#[test]
fn brackets_before_whose_first_node_another_was_put_are_not_said_to_have_lost_it() {
    let then = print(each("[x]", "START>x; x>END"));
    let what = |now: &str, inside: &str| changes(&then, "w/a w/[x]?", &print(each(now, inside))).concat();
    assert_eq!(
        what("[z=x]", "START>z; z>x; x>END"),
        "node `w/[x]`: inside the brackets, `z` was put before `x` (add nodes behind those that were there, or keep the version \
         before by `register_earlier`)"
    );
    let beside = what("[(x,y)=z]", "START>x; START>y; (x,y)>z; z>END");
    assert!(beside.contains("it began with `x`, and begins with `x` and `y` now (add nodes behind"), "{beside}");
}

#[test]
fn brackets_are_known_again_by_the_former_names_of_the_nodes_with_which_they_begin() {
    let then = print(each("[x=y]", "START>x; x>y; y>END"));
    let gone = print(each("[z=y]", "START>z; z>y; y>END"));
    let help = "it was removed; if `x` in it was renamed, add `renamed_from = \"x\"` to the node inside the brackets";
    assert_eq!(changes(&then, "w/a w/[x=y]?", &gone), [format!("node `w/[x=y]`: {help}")]);
    let mut inside = Arc::into_inner(made("START>z; z>y; y>END").named("[z=y]").build()).unwrap();
    entry(&mut inside, "z").renamed_from = &["x"];
    let outside = made("START>a; a>[z=y]; [z=y]>b; b>END");
    let now = print(outside.enters("[z=y]", ScopeKind::Each, Arc::new(inside)));
    let translation = translation(&then, "w/a w/[x=y]? w/x[1]?", &now);
    assert_eq!(translation.path("w/x[1]"), "w/z[1]");

    let then = print(each("[(x,y)=z]", "START>x; START>y; (x,y)>z; z>END"));
    let help = "if `x` or `y` in it were renamed, add `renamed_from = \"..\"` with its former name to each of these nodes inside";
    let now = changes(&then, "w/a w/[(x,y)=z]?", &gone);
    assert!(now[0].contains(help), "{now:?}");

    let inner = || made("START>x; x>END").named("[x]");
    let outer = || made("START>[x]; [x]>END").inside("[x]", ScopeKind::Each, inner()).named("[[x]]");
    let then = print(made("START>[[x]]; [[x]]>END").inside("[[x]]", ScopeKind::Each, outer()));
    assert_eq!(changes(&then, "w/[[x]]?", &gone), ["node `w/[[x]]`: it was removed"]);
}

#[test]
fn brackets_that_have_begun_may_go_on_otherwise() {
    let then = print(each("[x]", "START>x; x>END"));
    let now = print(each("[x=y]", "START>x; x>y; y>END"));
    let translation = translation(&then, "w/a w/[x]? w/x[0] w/x[1]#2?", &now);
    assert_eq!(translation.path("w/[x]#2"), "w/[x=y]#2");
    assert_eq!(translation.path("w/x[1]#2"), "w/x[1]#2");
}

#[test]
fn brackets_within_brackets_have_two_items() {
    let inner = || made("START>x; x>END").named("[x]");
    let outer = || made("START>[x]; [x]>END").inside("[x]", ScopeKind::Each, inner()).named("[[x]]");
    let flow = || print(made("START>[[x]]; [[x]]>END").inside("[[x]]", ScopeKind::Each, outer()));
    assert_eq!(changes(&flow(), "w/[[x]]? w/[x][0]? w/x[0][7]", &flow()), [""; 0]);
    assert_eq!(changes(&flow(), "w/x[0]", &flow()).len(), 1);
}

#[test]
fn what_a_node_has_started_belongs_to_it() {
    let then = print(made("START>plan; plan>END"));
    let now = print(made("START>other; other>END"));
    assert_eq!(changes(&then, "w/plan/search:a%2Fb/fetch", &then), [""; 0]);
    assert_eq!(changes(&then, "w/plan/search:rust", &now).len(), 1);
}

#[test]
fn a_name_may_begin_like_another() {
    let then = print(made("START>a; a>a.b; a.b>END"));
    let now = print(made("START>a.b; a.b>END"));
    assert_eq!(changes(&then, "w/a.b", &now).len(), 1, "its way in");
    assert_eq!(translation(&then, "w/a", &then).path("w/a.b#2"), "w/a.b#2");
}

#[test]
fn all_that_changed_is_told_at_once() {
    let then = print(made("START>a; a>b; b>c; c>END"));
    let now = print(made("START>b; b>END"));
    assert_eq!(changes(&then, "w/a w/b w/c", &now).len(), 3);
}
