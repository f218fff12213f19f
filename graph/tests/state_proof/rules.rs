//! Each rule by an example, with a sound neighbour beside it.

use graphweft_graph::state_proof::{
    GraphNames, Message, NodeKeys, NodeRoles, PackedGraph, StateFacts, StateGraph, StateKeyFact, StateProof, Summary,
    numbers_of, overlapping_write, pack, pack_names, summary, summary_len, unpack, unwritten_read,
};
use graphweft_graph::{Graph, NodeIx, analyse};
use graphweft_judge::notation;

const OWNER: StateKeyFact = StateKeyFact::overwrite("owner");
const COST: StateKeyFact = StateKeyFact::reduced("cost", true);
const BEST: StateKeyFact = StateKeyFact::reduced("best", false);

const READS: StateFacts = StateFacts { reads: &[OWNER], ..StateFacts::NONE };
const WRITES: StateFacts = StateFacts { writes: &[OWNER], ..StateFacts::NONE };
const MAY_WRITE: StateFacts = StateFacts { may_write: &[OWNER], ..StateFacts::NONE };

/// A graph whose labels are `first` and `second`, in this order, and what its nodes do. An arm `err` is a failure.
struct Example {
    graph: Graph<String>,
    numbers: Vec<u32>,
    facts: Vec<StateFacts>,
    labels: Vec<String>,
}

/// The choices that fail, and the nodes that run for items.
struct Roles<'a> {
    failing: Vec<(NodeIx, usize)>,
    items: &'a str,
    graph: &'a Graph<String>,
}

impl NodeRoles for Roles<'_> {
    fn is_failure(&self, node: NodeIx, choice: usize) -> bool {
        self.failing.contains(&(node, choice))
    }

    fn runs_for_items(&self, node: NodeIx) -> bool {
        self.graph.nodes[node].id == self.items
    }
}

fn example(text: &str, facts: &[(&str, StateFacts)]) -> Example {
    with_items(text, "", facts)
}

fn with_items(text: &str, items: &str, facts: &[(&str, StateFacts)]) -> Example {
    let graph = notation::read(text);
    let node = |name: &str| graph.nodes.iter().position(|node| node.id == name).expect("a node of the graph");
    let mut labels = Vec::new();
    let mut failing = Vec::new();
    for (at, data) in graph.nodes.iter().enumerate() {
        let mut known: Vec<&str> = Vec::new();
        for mention in text.split([' ', ',', '(', ')', ';']).filter_map(|word| word.strip_prefix(&data.id)) {
            known.extend(mention.strip_prefix('.').filter(|label| !known.contains(label)));
        }
        for choice in 0..data.choices.len() {
            let label = known.get(choice).copied().unwrap_or_default();
            failing.extend((label == "err").then_some((at, choice)));
            labels.push(label.to_owned());
        }
    }
    let plan = analyse(&graph).expect("a sound graph");
    let numbers = StateGraph::encode(&graph, &plan, &Roles { failing, items, graph: &graph });
    let mut all = vec![StateFacts::NONE; graph.nodes.len()];
    facts.iter().for_each(|(name, facts)| all[node(name)] = *facts);
    Example { numbers, facts: all, labels, graph }
}

impl Example {
    /// Everything that is wrong with it, in words.
    fn problems(&self) -> Vec<String> {
        self.problems_given(&[])
    }

    fn problems_given(&self, given: &[StateKeyFact]) -> Vec<String> {
        let nodes = pack_names(self.graph.nodes.iter().map(|node| node.id.as_str()));
        let choices = pack_names(self.labels.iter().map(String::as_str));
        let names = GraphNames { nodes: &nodes, choices: &choices };
        let mut problems = Vec::new();
        for node in 0..self.graph.nodes.len() {
            let read = unwritten_read(&self.numbers, &self.facts, given, node);
            let text = |found| Message::of_unwritten_read(&self.numbers, &self.facts, names, node, &found);
            problems.extend(read.map(|found| text(found).as_str().to_owned()));
            let overlap = overlapping_write(&self.numbers, &self.facts, node);
            let text = |found| Message::of_overlapping_write(names, node, &found).as_str().to_owned();
            problems.extend(overlap.map(text));
        }
        problems
    }
}

fn is_fine(text: &str, facts: &[(&str, StateFacts)]) {
    assert_eq!(example(text, facts).problems(), Vec::<String>::new());
}

fn has_problem(text: &str, facts: &[(&str, StateFacts)], problem: &str) {
    assert_eq!(example(text, facts).problems(), [problem]);
}

#[test]
fn a_reader_comes_after_its_writer() {
    let facts = [("assign", WRITES), ("report", READS)];
    is_fine("START => assign; assign => work; work => report; report => END", &facts);
    let missing = "node `report` reads `owner`, but does not wait for `assign`, which writes it";
    has_problem("START => report; report => assign; assign => END", &facts, missing);
    has_problem("START => (assign, report); (assign, report) => END", &facts, missing);
}

#[test]
fn a_key_that_nothing_writes_is_given_or_has_a_value_to_begin_with() {
    let text = "START => report; report => END";
    let alone = example(text, &[("report", READS)]);
    assert_eq!(alone.problems(), ["node `report` reads `owner`, which nothing writes before it"]);
    assert!(alone.problems_given(&[OWNER]).is_empty());
    is_fine(text, &[("report", StateFacts { reads: &[COST], ..StateFacts::NONE })]);
    let problem = "node `report` reads `best`, which nothing writes before it";
    has_problem(text, &[("report", StateFacts { reads: &[BEST], ..StateFacts::NONE })], problem);
    let problem = "node `report` reads `owner`, which only it writes itself";
    has_problem(text, &[("report", StateFacts { reads: &[OWNER], writes: &[OWNER], ..StateFacts::NONE })], problem);
}

#[test]
fn a_route_may_pass_a_writer_by() {
    let text = "START => route; route.yes => assign; route.no => skip; (assign, skip) => report; report => END";
    let problem = "node `report` reads `owner`, which `assign` may leave unwritten when `route` takes `no`";
    has_problem(text, &[("assign", WRITES), ("report", READS)], problem);
    is_fine(text, &[("assign", WRITES), ("skip", WRITES), ("report", READS)]);
    is_fine(text, &[("route", WRITES), ("report", READS)]);
}

#[test]
fn a_writer_that_fails_has_not_written() {
    let text = "START => assign; assign.ok => report; assign.err => report; report => END";
    let problem = "node `report` reads `owner`, which `assign` may leave unwritten when it takes `err`";
    has_problem(text, &[("assign", WRITES), ("report", READS)], problem);
    let text = "START => assign; assign.ok => report; assign.err => regret; (report, regret) => END";
    is_fine(text, &[("assign", WRITES), ("report", READS)]);
}

#[test]
fn what_a_node_only_may_write_is_not_sure() {
    let facts = [("assign", MAY_WRITE), ("report", READS)];
    let problem = "node `report` reads `owner`, which `assign` may leave unwritten";
    has_problem("START => assign; assign => report; report => END", &facts, problem);
}

#[test]
fn a_group_waits_for_a_writer_whose_route_went_elsewhere() {
    let facts = [("assign", WRITES), ("report", READS)];
    is_fine("START => (assign, work); assign.no => -; (assign.yes, work) => report; report => END", &facts);
}

#[test]
fn in_the_first_turn_of_a_loop_nothing_later_in_it_has_run() {
    let text = "START => draft; draft => review; review.redo => draft; review.good => publish; publish => END";
    is_fine(text, &[("draft", WRITES), ("review", READS)]);
    is_fine(text, &[("review", WRITES), ("publish", READS)]);
    let problem = "node `draft` reads `owner`, but does not wait for `review`, which writes it";
    has_problem(text, &[("review", WRITES), ("draft", READS)], problem);
}

#[test]
fn a_loop_may_end_in_its_first_turn() {
    let text = "START => ask; ask.again => mend; mend => ask; ask.done => report; report => END";
    let problem = "node `report` reads `owner`, which `mend` may leave unwritten when `ask` takes `done`";
    has_problem(text, &[("mend", WRITES), ("report", READS)], problem);
}

#[test]
fn agents_that_hand_over_to_each_other_run_one_after_the_other() {
    let text = "START => pick; pick.left => a; pick.right => b; a.over => b; b.over => a; \
                a.out => report; b.out => report; report => END";
    let problem = "node `report` reads `owner`, which `a` may leave unwritten when `pick` takes `right`";
    has_problem(text, &[("a", WRITES), ("report", READS)], problem);
    is_fine(text, &[("a", WRITES), ("b", WRITES), ("report", READS)]);
    let problem = "node `b` reads `owner`, which `a` may leave unwritten when `pick` takes `right`";
    has_problem(text, &[("a", WRITES), ("b", READS)], problem);
}

#[test]
fn a_collecting_node_starts_with_the_first_arrival() {
    let text = "START => (left, right); left | right => pick; pick => END";
    let left = StateFacts { writes: &[BEST], ..StateFacts::NONE };
    let pick = StateFacts { reads: &[BEST], ..StateFacts::NONE };
    is_fine(text, &[("left", left), ("right", left), ("pick", pick)]);
    let problem = "node `pick` reads `best`, but does not wait for `left`, which writes it";
    has_problem(text, &[("left", left), ("pick", pick)], problem);
}

#[test]
fn branches_overwrite_a_key_at_the_same_time() {
    let facts = [("left", WRITES), ("right", MAY_WRITE)];
    let problem = "nodes `left` and `right` may overwrite `owner` at the same time";
    has_problem("START => (left, right); (left, right) => END", &facts, problem);
    is_fine("START => left; left => right; right => END", &facts);
    is_fine("START => route; route.l => left; route.r => right; (left, right) => END", &facts);
}

#[test]
fn a_reducer_merges_what_is_written_at_the_same_time() {
    let adds = StateFacts { writes: &[COST], ..StateFacts::NONE };
    is_fine("START => (left, right); (left, right) => END", &[("left", adds), ("right", adds)]);
}

#[test]
fn items_overwrite_a_key_at_the_same_time() {
    let text = "START => each; each => END";
    let problem = "the items of `each` overwrite `owner` at the same time";
    assert_eq!(with_items(text, "each", &[("each", MAY_WRITE)]).problems(), [problem]);
    is_fine(text, &[("each", MAY_WRITE)]);
}

#[test]
fn a_branch_on_the_side_of_a_loop_meets_its_later_turns() {
    let text =
        "START => draft; draft => review; draft => log; review.redo => draft; review.good => publish; publish => END";
    let problem = "node `log` may overwrite `owner` while it still runs in an earlier turn of its loop";
    has_problem(text, &[("log", WRITES)], problem);
    is_fine(text, &[("draft", WRITES), ("review", WRITES), ("publish", WRITES)]);
    let problem = "nodes `log` and `publish` may overwrite `owner` at the same time";
    let found = example(text, &[("log", WRITES), ("publish", WRITES)]).problems();
    assert!(found.contains(&problem.to_owned()), "{found:?}");
}

#[test]
fn a_collecting_node_may_run_beside_what_leads_to_it() {
    let text = "START => (left, right); left | right => pick; pick => END";
    let problem = "nodes `left` and `pick` may overwrite `owner` at the same time";
    has_problem(text, &[("left", WRITES), ("pick", WRITES)], problem);
}

fn keys(example: &Example, which: Summary) -> Vec<&'static str> {
    let (graph, facts) = (&example.numbers, &example.facts);
    match summary_len(graph, facts, &[], which) {
        0 => vec![],
        1 => summary::<1>(graph, facts, &[], which).iter().map(|key| key.name).collect(),
        _ => summary::<2>(graph, facts, &[], which).iter().map(|key| key.name).collect(),
    }
}

#[test]
fn a_graph_is_seen_from_outside_as_a_node() {
    let text = "START => route; route.yes => assign; route.no => skip; (assign, skip) => report; report => END";
    let both = StateFacts { writes: &[OWNER, BEST], ..StateFacts::NONE };
    let best = StateFacts { writes: &[BEST], ..StateFacts::NONE };
    let example = example(text, &[("assign", both), ("skip", best), ("report", READS)]);
    assert_eq!(keys(&example, Summary::AlwaysWritten), ["best"]);
    assert_eq!(keys(&example, Summary::MaybeWritten), ["owner"]);
    assert_eq!(keys(&example, Summary::Written), ["owner", "best"]);
    assert_eq!(keys(&example, Summary::Needed), ["owner"]);
}

#[test]
fn a_branch_that_leads_nowhere_has_written_when_the_graph_ends() {
    let text = "START => work; START => log; work => END";
    assert_eq!(keys(&example(text, &[("log", WRITES)]), Summary::AlwaysWritten), ["owner"]);
    // What only feeds a collecting node is stopped when that has its output.
    let text = "START => (left, right); left | right => pick; pick => END";
    assert_eq!(keys(&example(text, &[("left", WRITES)]), Summary::AlwaysWritten), Vec::<&str>::new());
}

#[test]
fn numbers_come_back_from_their_text() {
    let numbers = [0, 1, 31, 32, 1023, 1024, 70_000, u32::MAX];
    assert_eq!(unpack::<10>(&pack(&numbers))[..8], numbers);
    assert_eq!(unpack::<10>(&pack(&numbers))[8..], [0, 0]);
    assert_eq!(numbers_of(&pack(&numbers)).collect::<Vec<_>>(), numbers);
    assert_eq!(numbers_of("").next(), None);
}

/// A workflow as a node.
fn as_node(example: &Example) -> StateFacts {
    let keys = NodeKeys::of_workflow::<512>(&pack(&example.numbers), &example.facts, &[], 7);
    Box::leak(Box::new(keys)).facts()
}

#[test]
fn a_workflow_inside_itself_writes_what_every_way_out_of_it_writes() {
    let text = "START => down; down.some => again; down.none => assign; again => END; assign => END";
    let unseen = NodeKeys::UNENDING;
    let unseen = Box::leak(Box::new(unseen)).facts();
    let once = as_node(&example(text, &[("again", unseen), ("assign", WRITES)]));
    assert_eq!((once.writes, once.may_write), (&[OWNER][..], &[][..]));
    let twice = as_node(&example(text, &[("again", once), ("assign", WRITES)]));
    assert_eq!((twice.writes, twice.may_write), (&[OWNER][..], &[][..]));
    // A way out that does not write it.
    let text = "START => down; down.some => again; down.none => assign; down.other => END; again => END; assign => END";
    let once = as_node(&example(text, &[("again", unseen), ("assign", WRITES)]));
    assert_eq!((once.writes, once.may_write), (&[][..], &[OWNER][..]));
}

#[test]
fn a_proof_fails_at_the_node_that_reads_inside_of_items() {
    let inside = example("START => sign; sign => END", &[("sign", READS)]);
    let items = NodeKeys::of_items::<512>(&pack(&inside.numbers), &inside.facts);
    let items = Box::leak(Box::new(items)).facts();
    let around = example("START => each; each => END", &[("each", items)]);
    let packed = |example: &Example| {
        let names = pack_names(example.graph.nodes.iter().map(|node| node.id.as_str()));
        (pack(&example.numbers), names, pack_names(example.labels.iter().map(String::as_str)))
    };
    let (of_around, of_inside) = (packed(&around), packed(&inside));
    let graph = |(numbers, nodes, choices): &'static (String, String, String), facts, around, first| PackedGraph {
        numbers,
        facts,
        names: GraphNames { nodes, choices },
        around,
        first,
    };
    let (of_around, of_inside) = (Box::leak(Box::new(of_around)), Box::leak(Box::new(of_inside)));
    let graphs = [graph(of_around, &around.facts[..], (0, 0), 0), graph(of_inside, &inside.facts[..], (0, 2), 3)];
    assert_eq!(StateProof::of::<512>(&graphs, &[]).place, 3 + 2);
    assert_eq!(StateProof::of::<512>(&graphs, &[OWNER]).place, 0);
}
