//! Each rule of the analysis by an example, with a sound neighbour beside it.
use graphweft_graph::{
    Arrival, EdgeIx, Graph, NodeIx, Plan,
    Presence::{self, Always, MayBeSkipped},
    Problem, Route, analyse,
};

use crate::notation;

fn plan(text: &str) -> (Graph<String>, Plan) {
    let graph = notation::read(text);
    match analyse(&graph) {
        Ok(plan) => (graph, plan),
        Err(problems) => panic!("refused: {:?}", problems.iter().map(|at| say(&graph, at)).collect::<Vec<_>>()),
    }
}

fn is_sound(text: &str) {
    plan(text);
}

/// The problems of a graph in words.
fn refused(text: &str) -> Vec<String> {
    let graph = notation::read(text);
    match analyse(&graph) {
        Ok(_) => vec![],
        Err(problems) => problems.iter().map(|problem| say(&graph, problem)).collect(),
    }
}

fn say(graph: &Graph<String>, problem: &Problem) -> String {
    let name = |node: &NodeIx| graph.nodes[*node].id.clone();
    let names = |nodes: &[NodeIx]| nodes.iter().map(name).collect::<Vec<_>>().join(" ");
    let edge = |at: &EdgeIx| format!("{}->{}", name(&graph.edges[*at].from), name(&graph.edges[*at].to));
    let route =
        |when: &Route| when.iter().map(|(node, choice)| format!(" {}.{choice}", name(node))).collect::<String>();
    match problem {
        Problem::NoStart => "no start".into(),
        Problem::Unreachable { node } => format!("unreachable {}", name(node)),
        Problem::DuplicateEdge { first, second } => format!("duplicate {} {}", edge(first), edge(second)),
        Problem::UnconditionalCycle { path } => format!("cycle {}", names(path)),
        Problem::NoWayOut { nodes } => format!("no way out of {}", names(nodes)),
        Problem::MixedJoin { node, back, outside } => format!("mixed {}: {} {}", name(node), edge(back), edge(outside)),
        Problem::RunsTwice { node, first, second, when } => {
            format!("twice {}: {} {} when{}", name(node), edge(first), edge(second), route(when))
        }
        Problem::TwoTokens { node, first, second, heads } => {
            format!("two tokens from {}: {} {} in {}", name(node), edge(first), edge(second), names(heads))
        }
        Problem::JoinInHandOver { node, edge: at, heads } => {
            format!("join {} takes {} in {}", name(node), edge(at), names(heads))
        }
        Problem::EnteredTwice { heads, first, second, when } => {
            format!("entered twice {}: {} {} when{}", names(heads), edge(first), edge(second), route(when))
        }
        Problem::LoopsMeet { node, each_turn, other, heads } => {
            format!("loops meet at {}: {} of {}, {}", name(node), edge(each_turn), names(heads), edge(other))
        }
        Problem::EndInSide { edge: at, side, back, when } => {
            format!("end on the side: {} behind {} beside {} when{}", edge(at), edge(side), edge(back), route(when))
        }
        Problem::SeveralOutputs { first, second, when } => {
            format!("outputs {} {} when{}", edge(first), edge(second), route(when))
        }
        Problem::NoOutput { when } => format!("no output when{}", route(when)),
        other => format!("{other:?}"),
    }
}

/// What arrives at a node, for each way in.
fn arrivals(text: &str, name: &str) -> Vec<Arrival> {
    let (graph, plan) = plan(text);
    plan.arrivals[node(&graph, name)].clone()
}

fn places(places: &[Presence]) -> Arrival {
    Arrival::Places(places.to_vec())
}

fn node(graph: &Graph<String>, name: &str) -> NodeIx {
    graph.nodes.iter().position(|node| node.id == name).expect("a node of that name")
}

fn names(graph: &Graph<String>, nodes: &[NodeIx]) -> String {
    nodes.iter().map(|node| graph.nodes[*node].id.as_str()).collect::<Vec<_>>().join(" ")
}

// START, END and the wiring

#[test]
fn a_chain_is_sound() {
    is_sound("START => a => b => END");
}

#[test]
fn start_must_lead_somewhere() {
    assert_eq!(refused("a => END"), ["no start"]);
}

#[test]
fn start_may_be_a_router() {
    is_sound("START => <x: a, y: b>; a => END; b => END");
    assert_eq!(refused("START => <x: a, y: ->; a => END"), ["no output when START.1"]);
}

#[test]
fn a_node_without_a_way_in_is_unreachable_and_those_behind_it_are_not_reported() {
    assert_eq!(refused("START => a => END; b => c => d"), ["unreachable b"]);
}

#[test]
fn a_circle_that_nothing_leads_to_is_reported_once() {
    assert_eq!(refused("START => a => END; b => c; c.x => b; c.y => d"), ["unreachable b"]);
}

#[test]
fn an_end_behind_an_unreachable_node_is_not_reported() {
    assert_eq!(refused("START => a; b => END"), ["unreachable b"]);
}

#[test]
fn the_same_edge_twice_is_a_duplicate_and_not_a_node_that_runs_twice() {
    assert_eq!(refused("START => a; a => b; a => b; b => END"), ["duplicate a->b a->b"]);
    assert_eq!(refused("START => a; (a, a) => b => END"), ["duplicate a->b a->b"]);
}

#[test]
fn a_plain_edge_beside_a_labelled_one_runs_its_target_twice() {
    assert_eq!(refused("START => a; a.x => b; a => b; a.y => c; b => END"), ["twice b: a->b a->b when a.0"]);
}

#[test]
fn two_labels_that_lead_to_one_node_are_one_way_in() {
    is_sound("START => a; a.x.y => d => END");
    is_sound("START => a; a.x => d; a.y => d; d => END");
}

// Running twice

#[test]
fn a_node_behind_both_branches_of_a_fork_runs_twice() {
    assert_eq!(refused("START => a => (b, c); b => d; c => d; d => END"), ["twice d: b->d c->d when"]);
    is_sound("START => a => (b, c); (b, c) => d => END");
}

#[test]
fn a_node_behind_exclusive_routes_runs_once() {
    is_sound("START => a => <ok: b, err: c>; b => d; c => d; d => END");
}

#[test]
fn the_routes_that_run_a_node_twice_leave_out_what_does_not_matter() {
    assert_eq!(
        refused(
            "START => (a, e); a => <x: b, y: c, z: (b, c)>; b => d; c => d; e => <k: f, l: g>; f => h; g => h; (d, h) => END"
        ),
        ["twice d: b->d c->d when a.2"]
    );
}

#[test]
fn a_place_that_two_live_edges_feed_is_refused() {
    assert_eq!(refused("START => a => (b, c, d); (b & c, d) => e => END"), ["twice e: b->e c->e when"]);
    is_sound("START => (a, d); a => <x: b, y: c>; (b & c, d) => e => END");
}

#[test]
fn a_join_beside_a_plain_way_in_is_sound_where_they_exclude_each_other() {
    is_sound("START => a => <ok: (b, c), err: d>; (b, c) => e; d => e; e => END");
    assert_eq!(refused("START => a => (b, c, d); (b, c) => e; d => e; e => END"), ["twice e: b->e d->e when"]);
}

// The output

#[test]
fn two_ways_into_end_that_both_come_are_several_outputs() {
    assert_eq!(refused("START => a => (b, c); b => END; c => END"), ["outputs b->END c->END when"]);
    is_sound("START => a => (b, c); (b, c) => END");
}

#[test]
fn a_route_past_end_is_no_output() {
    assert_eq!(refused("START => a => <x: END, y: b>; b => c"), ["no output when a.1"]);
}

#[test]
fn a_terminal_node_beside_end_is_a_branch_on_the_side() {
    is_sound("START => a => (b, log); b => END");
}

#[test]
fn an_end_that_nothing_leads_to_is_no_output() {
    assert_eq!(refused("START => a"), ["no output when"]);
}

#[test]
fn only_the_choices_of_the_last_turn_are_named_where_end_is_missed() {
    assert_eq!(refused("START => h => <again: h, done: f>; f => <x: END, y: ->"), ["no output when f.1"]);
}

// What a join is given (P7)

#[test]
fn a_join_is_given_all_that_always_run() {
    assert_eq!(arrivals("START => a => (b, c); (b, c) => d => END", "d"), [places(&[Always, Always])]);
}

#[test]
fn a_join_is_given_the_one_value_of_branches_that_exclude_each_other() {
    let text = "START => a => <x: b, y: c, z: END>; (b, c) => d => END";
    assert_eq!(arrivals(text, "d"), [Arrival::One]);
}

#[test]
fn a_join_is_given_both_values_where_it_only_fires_with_both() {
    let text = "START => a => <x: (b, c), z: END>; (b, c) => d => END";
    assert_eq!(arrivals(text, "d"), [places(&[Always, Always])]);
}

#[test]
fn a_join_takes_none_for_the_branch_that_a_route_skipped() {
    let text = "START => (a, b); a => <x: c, y: d>; (b, c, d) => e => END";
    assert_eq!(arrivals(text, "e"), [places(&[Always, MayBeSkipped, MayBeSkipped])]);
}

#[test]
fn a_place_that_several_routes_feed_is_always_given() {
    let text = "START => (a, b); a => <x: c, y: d>; (b, c & d) => e => END";
    assert_eq!(arrivals(text, "e"), [places(&[Always, Always])]);
}

#[test]
fn each_way_into_a_node_is_judged_by_itself() {
    let text = "START => a => <ok: (b, c), err: d>; (b, c) => e; d => e; e => END";
    assert_eq!(arrivals(text, "e"), [places(&[Always, Always]), Arrival::One]);
}

#[test]
fn end_may_be_a_join() {
    let text = "START => (a, b); a => <x: c, y: ->; (b, c) => END";
    assert_eq!(arrivals(text, "END"), [places(&[Always, MayBeSkipped])]);
}

#[test]
fn a_join_inside_a_loop_is_judged_within_one_turn() {
    // `c` runs in some turns and not in others, and `d` in each of them.
    let text = "START => h; h => <x: (b, c), y: b>; (b, c) => d; d => <again: h, done: END>";
    assert_eq!(arrivals(text, "d"), [places(&[Always, MayBeSkipped])]);
    let text = "START => (h, o); o => <x: p, y: ->; h => (b, c); (b, c) => d; d => <again: h, done: e>; (e, p) => END";
    assert_eq!(arrivals(text, "d"), [places(&[Always, Always])]);
    assert_eq!(arrivals(text, "END"), [places(&[Always, MayBeSkipped])]);
}

#[test]
fn exits_of_a_loop_exclude_each_other_only_if_those_of_its_last_turn_do() {
    let text = "START => h => <again: (h, w), a: (b, c), d: b>; w => -; (b, c) => END";
    assert_eq!(arrivals(text, "END"), [places(&[Always, MayBeSkipped])]);
}

// Collecting nodes

#[test]
fn a_collecting_node_may_be_given_several_arrivals() {
    assert_eq!(arrivals("START => (a, b); a | b => c => END", "c"), [Arrival::One]);
}

#[test]
fn a_collecting_node_with_another_way_in_runs_twice() {
    assert_eq!(refused("START => (a, b, d); a | b => c; d => c; c => END"), ["twice c: a->c d->c when"]);
}

#[test]
fn a_collecting_node_at_the_head_of_a_loop_collects_what_leads_back() {
    is_sound("START => h => <go: (x, y), done: END>; x | y => h");
    assert_eq!(refused("START => (s, t); s => h => <go: x, done: END>; s | x => h; t => -"), ["duplicate s->h s->h",]);
    assert_eq!(refused("START => s; s | x => h; h => <go: x, done: END>"), ["mixed h: x->h s->h"]);
}

#[test]
fn a_collecting_node_does_not_mix_loops() {
    assert_eq!(
        refused("START => (h, o); h => <again: (h, log), done: e>; log | o => c; (e, o) => END"),
        ["loops meet at c: log->c of h, o->c"]
    );
}

// Loops

#[test]
fn a_loop_has_its_head_and_body_as_members_and_its_edge_back() {
    let (graph, plan) = plan("START => draft => review => <redo: draft, good: publish>; publish => END");
    assert_eq!(plan.loops.len(), 1);
    assert_eq!(names(&graph, &plan.loops[0].heads), "draft");
    assert_eq!(names(&graph, &plan.loops[0].members), "draft review");
    let back: Vec<EdgeIx> = (0..graph.edges.len()).filter(|edge| plan.leads_back(*edge)).collect();
    assert_eq!(back.len(), 1);
    assert_eq!(graph.edges[back[0]].to, node(&graph, "draft"));
    assert_eq!(plan.node_loop[node(&graph, "publish")], None);
}

#[test]
fn an_unconditional_cycle_is_one_problem_that_spells_its_path() {
    assert_eq!(refused("START => a => b => c => a"), ["cycle a b c"]);
    assert_eq!(refused("START => a => a"), ["cycle a"]);
    assert_eq!(refused("START => a => b => a; b => END"), ["cycle a b"]);
}

#[test]
fn a_loop_whose_routes_all_stay_inside_has_no_way_out() {
    assert_eq!(refused("START => a => <x: b, y: c>; b => a; c => a"), ["no way out of a b c"]);
    is_sound("START => a => <x: b, y: c, z: END>; b => a; c => a");
}

/// The head of the loop that a choice leads round again, and how many loops there are around that one.
fn turned(text: &str, node: &str, choice: usize) -> Option<(String, usize)> {
    let (graph, plan) = plan(text);
    let at = graph.nodes.iter().position(|known| known.id == node).unwrap();
    let turned = plan.turned(&graph, at, choice)?;
    Some((graph.nodes[plan.loops[turned].heads[0]].id.clone(), plan.level(turned)))
}

#[test]
fn a_choice_leads_round_again_at_once_or_after_further_nodes() {
    let head = |name: &str, level| Some((name.to_owned(), level));
    let writing = "START => a => b => <x: c, y: d>; c => a; d => END";
    assert_eq!(turned(writing, "b", 0), head("a", 0));
    assert_eq!(turned(writing, "b", 1), None, "leads out");
    assert_eq!(turned("START => a => <x: a, y: END>", "a", 0), head("a", 0));
    // The side branch does not come back.
    assert_eq!(turned("START => a => b => <x: a, y: END>; b.x => s", "b", 0), head("a", 0));
    let nested = "START => a => b => c => <x: b, y: a, z: d, w: e>; d => a; e => END";
    assert_eq!(turned(nested, "c", 0), head("b", 1));
    assert_eq!(turned(nested, "c", 1), head("a", 0));
    assert_eq!(turned(nested, "c", 2), head("a", 0));
    assert_eq!(turned(nested, "c", 3), None);
    assert_eq!(turned("START => a; a => END", "a", 0), None, "there is no loop");
}

#[test]
fn each_loop_that_cannot_be_left_is_reported_and_what_leads_into_it_is_not() {
    assert_eq!(refused("START => s => a => b => a; b => c => d => c"), ["cycle c d", "cycle a b"]);
}

#[test]
fn a_planner_joins_its_workers_at_its_own_head() {
    let text = "START => h => <go: (x, y), done: END>; (x, y) => h";
    assert_eq!(arrivals(text, "h"), [Arrival::One, places(&[Always, Always])]);
}

#[test]
fn a_join_at_a_head_does_not_mix_ways_back_with_others() {
    assert_eq!(refused("START => (s, t); (s, r.again) => h => r; r.done => e; (e, t) => END"), ["mixed h: r->h s->h"]);
}

#[test]
fn two_ways_back_that_both_come_run_the_head_twice() {
    assert_eq!(refused("START => h => <go: (x, y), done: END>; x => h; y => h"), ["twice h: x->h y->h when h.0"]);
}

#[test]
fn loops_nest() {
    let (graph, plan) = plan("START => a => b => c => <inner: b, outer: a, done: END>");
    let around: Vec<String> =
        plan.loops_around(node(&graph, "c")).map(|at| names(&graph, &plan.loops[at].heads)).collect();
    assert_eq!(around, ["b", "a"]);
    assert_eq!(plan.loops[1].parent, Some(0));
    assert_eq!(names(&graph, &plan.loops[0].members), "a");
}

// Branches on the side of a loop

#[test]
fn a_branch_that_leaves_a_loop_which_goes_on_runs_once_for_each_turn() {
    let (graph, plan) = plan("START => h => <again: (h, log), done: END>; log => file");
    assert_eq!(names(&graph, &plan.loops[0].members), "h log file");
}

#[test]
fn a_branch_that_only_the_last_turn_takes_is_not_on_the_side() {
    let (graph, plan) = plan("START => h => <again: h, done: (log, END)>");
    assert_eq!(plan.node_loop[node(&graph, "log")], None);
}

#[test]
fn a_branch_on_the_side_holds_no_end() {
    assert_eq!(
        refused("START => h => <again: (h, log), done: END>; log => END"),
        ["end on the side: log->END behind h->log beside h->h when h.0"]
    );
}

#[test]
fn a_branch_on_the_side_is_not_joined_with_what_comes_after_the_loop() {
    assert_eq!(
        refused("START => h => <again: (h, log), done: fin>; (log, fin) => out => END"),
        ["loops meet at out: log->out of h, fin->out"]
    );
}

#[test]
fn a_branch_on_the_side_may_take_edges_of_its_own_loop() {
    is_sound("START => h => b => <again: (h, log), done: END>; (log, h) => note");
}

#[test]
fn a_loop_may_stand_in_a_branch_on_the_side_of_a_loop() {
    let (graph, plan) = plan("START => h => <again: (h, s), done: END>; s => t => <more: s, stop: u>");
    assert_eq!(plan.loops.len(), 2);
    assert_eq!(plan.loops[1].parent, Some(0));
    assert_eq!(names(&graph, &plan.loops[0].members), "h u");
    assert_eq!(names(&graph, &plan.loops[1].members), "s t");
}

#[test]
fn a_branch_on_the_side_of_an_inner_loop_does_not_lead_into_the_outer_one() {
    assert_eq!(
        refused("START => o => h => r => <again: (h, s), done: t>; s => o; t => END"),
        ["loops meet at o: s->o of h, START->o"]
    );
    assert_eq!(
        refused("START => o => m => h => <again: (h, m), up: o, done: END>"),
        ["loops meet at m: h->m of h, o->m"]
    );
}

#[test]
fn a_second_token_on_one_edge_is_a_branch_on_the_side() {
    // `x` is left by one edge in both arms, so that it would be given a token in each turn.
    assert_eq!(
        refused("START => h; h.again.done => x; h.again => h; x => END"),
        ["end on the side: x->END behind h->x beside h->h when h.0"]
    );
}

// Loops that are entered at several nodes

const AGENTS: &str = "a => <hand: b, done: END>; b => <hand: a, done: END>";

#[test]
fn agents_that_hand_over_to_each_other_hold_one_token() {
    let (graph, plan) = plan(&format!("START => <x: a, y: b>; {AGENTS}"));
    assert_eq!(names(&graph, &plan.loops[0].heads), "a b");
    assert_eq!(names(&graph, &plan.loops[0].members), "a b");
    assert_eq!((0..graph.edges.len()).filter(|edge| plan.leads_back(*edge)).count(), 2);
}

#[test]
fn every_member_of_a_loop_that_is_entered_at_several_nodes_is_a_head() {
    let (graph, plan) = plan("START => <x: a, y: b>; a => <hand: b, done: END>; b => c => <hand: a, done: END>");
    assert_eq!(names(&graph, &plan.loops[0].heads), "a b c");
}

#[test]
fn two_tokens_that_enter_such_a_loop_are_refused() {
    assert_eq!(refused(&format!("START => (a, b); {AGENTS}")), ["entered twice a b: START->a START->b when"]);
}

#[test]
fn two_tokens_that_enter_such_a_loop_at_one_node_run_it_twice() {
    let entries = "START => (s, t, r); s => a; t => a; r => <x: b, y: ->";
    let problems = refused(&format!("{entries}; {AGENTS}"));
    assert_eq!(problems, ["twice a: s->a t->a when"]);
}

#[test]
fn a_node_of_such_a_loop_does_not_hand_over_to_two() {
    let text =
        "START => <x: a, y: b>; a => <hand: (b, c), done: END>; b => <hand: a, done: END>; c => <hand: a, done: END>";
    assert_eq!(refused(text), ["two tokens from a: a->b a->c in a b"]);
}

#[test]
fn no_join_takes_an_edge_from_inside_such_a_loop() {
    let text = "START => <x: a, y: b>; (a.hand, b.other) => c; a.done => END; b.done => END; a.to => b; b.hand => a; c => <z: a, done: END>";
    assert_eq!(refused(text), ["join c takes a->c in a b"]);
}

#[test]
fn such_a_loop_shows_only_its_last_step_to_what_comes_after_it() {
    // `a` never leaves by itself: what comes after the loop is what `b` alone can do.
    let text = "START => (o, s); s => <x: a, y: b>; a => b; b => <hand: a, done: e>; (e, o) => END";
    assert_eq!(arrivals(text, "END"), [places(&[Always, Always])]);
}

#[test]
fn a_join_on_the_side_of_such_a_loop_is_judged_step_by_step() {
    // `log` is given what `a` and `b` do in different steps, one at a time.
    let text = "START => <x: a, y: b>; a => <hand: (b, p), done: END>; b => <hand: (a, q), done: END>; (p, q) => log";
    assert_eq!(arrivals(text, "log"), [Arrival::One]);
}

// Several problems at once

#[test]
fn all_problems_of_a_graph_are_reported_together() {
    assert_eq!(
        refused("START => a => (b, c); b => d; c => d; d => END; d => END; x => d"),
        ["duplicate d->END d->END", "unreachable x", "twice d: b->d c->d when"]
    );
}

#[test]
fn the_notation_of_these_tests_is_written_as_it_is_read() {
    let text = "START => a; a.0 => b; a.1 => c; (b & c, a.0) => d; d | a.1 => e";
    assert_eq!(notation::write(&notation::read(text)), text);
}
