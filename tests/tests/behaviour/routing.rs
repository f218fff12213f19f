//! What a node gives chooses the way: enums, literals, the default, and where arms may lead.

use graphweft::prelude::*;
use graphweft_tests::{paths, records_of};

#[value]
#[derive(Debug, PartialEq, Route)]
enum Verdict {
    Good(String),
    Redo { text: String, times: u32 },
    Pair(u8, u8),
    Drop,
}

#[node]
async fn judge(word: String) -> Verdict {
    match word.as_str() {
        "drop" => Verdict::Drop,
        "pair" => Verdict::Pair(1, 2),
        "redo" => Verdict::Redo { text: word, times: 3 },
        _ => Verdict::Good(word),
    }
}

#[node]
async fn publish(text: String) -> String {
    format!("published {text}")
}

#[node]
async fn rework(text: String, times: u32) -> String {
    format!("rework {text} {times} times")
}

#[node]
async fn pair(first: u8, second: u8) -> String {
    format!("pair of {first} and {second}")
}

#[node]
async fn forget() -> String {
    "forgotten".to_owned()
}

#[node]
async fn inspect(verdict: Verdict) -> String {
    format!("{verdict:?}")
}

#[node]
async fn number(n: i64) -> i64 {
    n
}

#[node]
async fn word(word: String) -> String {
    word
}

#[node]
async fn letter(text: String) -> char {
    text.chars().next().unwrap_or(' ')
}

#[node]
async fn letter_name(letter: char) -> String {
    format!("letter {letter}")
}

#[node]
async fn low(n: i64) -> String {
    format!("low {n}")
}

#[node]
async fn high(n: i64) -> String {
    format!("high {n}")
}

#[node]
async fn other(n: i64) -> String {
    format!("other {n}")
}

#[node]
async fn agree(word: String) -> String {
    format!("agree to {word}")
}

#[node]
async fn refuse(word: String) -> String {
    format!("refuse {word}")
}

#[node]
async fn shrug(word: String) -> String {
    format!("shrug at {word}")
}

#[node]
async fn is_even(n: i64) -> bool {
    n % 2 == 0
}

#[node]
async fn even(is_even: bool) -> String {
    format!("even {is_even}")
}

#[node]
async fn odd(is_even: bool) -> String {
    format!("odd {is_even}")
}

workflow! {
    verdicts(String) -> String {
        START => judge => <good: publish, redo: rework, pair: pair, drop: forget>;
    }
}

workflow! {
    by_number(i64) -> String {
        START => number => <-1: low, 0..=9: low, 100..=199: high, _: other>;
    }
}

workflow! {
    by_word(String) -> String {
        START => word => <"yes": agree, "no": refuse, _: shrug>;
    }
}

#[tokio::test]
async fn a_string_takes_the_arm_of_its_text() {
    assert_eq!(by_word("no".to_owned()).await.unwrap(), "refuse no");
}

#[tokio::test]
async fn a_string_without_an_arm_takes_the_default_with_the_whole_value() {
    assert_eq!(by_word("perhaps".to_owned()).await.unwrap(), "shrug at perhaps");
}

#[tokio::test]
async fn true_takes_its_arm() {
    let flow = workflow! { START => is_even => <true: even, false: odd> };
    assert_eq!(flow.run(4).await.unwrap(), "even true");
}

#[tokio::test]
async fn false_takes_its_arm() {
    let flow = workflow! { START => is_even => <true: even, false: odd> };
    assert_eq!(flow.run(5).await.unwrap(), "odd false");
}

#[tokio::test]
async fn a_negative_literal_is_a_label() {
    assert_eq!(by_number(-1).await.unwrap(), "low -1");
}

#[tokio::test]
async fn a_closed_range_ends_with_its_last_number() {
    assert_eq!(by_number(9).await.unwrap(), "low 9");
}

#[tokio::test]
async fn a_number_between_the_ranges_takes_the_default() {
    assert_eq!(by_number(10).await.unwrap(), "other 10");
}

#[tokio::test]
async fn a_closed_range_begins_with_its_first_number() {
    assert_eq!(by_number(100).await.unwrap(), "high 100");
}

#[tokio::test]
async fn an_open_range_begins_with_its_first_number() {
    let flow = workflow! { START => number => <..=99: low, 100..: high> };
    assert_eq!(flow.run(100).await.unwrap(), "high 100");
}

#[tokio::test]
async fn a_range_may_be_open_at_its_beginning() {
    let flow = workflow! { START => number => <..=99: low, 100..: high> };
    assert_eq!(flow.run(i64::MIN).await.unwrap(), format!("low {}", i64::MIN));
}

#[tokio::test]
async fn a_letter_is_a_label() {
    let flow = workflow! { START => letter => <'a'..='m': letter_name, _: late>; let late = letter_name(); };
    assert_eq!(flow.run("quick".to_owned()).await.unwrap(), "letter q");
}

#[tokio::test]
async fn a_variant_with_one_field_carries_the_field() {
    assert_eq!(verdicts("text".to_owned()).await.unwrap(), "published text");
}

#[tokio::test]
async fn a_variant_with_named_fields_carries_them_in_order() {
    assert_eq!(verdicts("redo".to_owned()).await.unwrap(), "rework redo 3 times");
}

#[tokio::test]
async fn a_variant_with_several_fields_carries_a_tuple() {
    assert_eq!(verdicts("pair".to_owned()).await.unwrap(), "pair of 1 and 2");
}

#[tokio::test]
async fn a_variant_without_fields_carries_nothing() {
    assert_eq!(verdicts("drop".to_owned()).await.unwrap(), "forgotten");
}

#[tokio::test]
async fn a_label_may_be_spelled_like_its_variant() {
    let flow = workflow! { START => judge => <Good: publish, Redo: rework, Pair: pair, Drop: forget> };
    assert_eq!(flow.run("redo".to_owned()).await.unwrap(), "rework redo 3 times");
}

#[tokio::test]
async fn braces_are_read_as_angle_brackets() {
    let flow = workflow! { START => judge => {good: publish, _: inspect} };
    assert_eq!(flow.run("fine".to_owned()).await.unwrap(), "published fine");
}

#[tokio::test]
async fn the_default_of_an_enum_carries_the_whole_value() {
    let flow = workflow! { START => judge => <good: publish, _: inspect> };
    assert_eq!(flow.run("pair".to_owned()).await.unwrap(), "Pair(1, 2)");
}

#[tokio::test]
async fn several_labels_share_an_arm() {
    #[value]
    #[derive(Route)]
    enum Level {
        Low,
        Medium,
        High,
    }
    #[node]
    async fn level(n: u8) -> Level {
        match n {
            0 => Level::Low,
            1 => Level::Medium,
            _ => Level::High,
        }
    }
    #[node]
    async fn auto() -> String {
        "auto".to_owned()
    }
    #[node]
    async fn human() -> String {
        "human".to_owned()
    }
    let flow = workflow! { START => level => <low | medium: auto, high: human> };
    let mut taken = Vec::new();
    for n in 0..3 {
        taken.push(flow.run(n).await.unwrap());
    }
    assert_eq!(taken, ["auto", "auto", "human"]);
}

#[tokio::test]
async fn arms_of_one_node_may_have_one_target() {
    let flow = workflow! { START => number => <0: low, 1: low, _: high> };
    assert_eq!(flow.run(1).await.unwrap(), "low 1");
}

#[tokio::test]
async fn a_plain_edge_beside_routes_is_always_taken_with_the_whole_value() {
    #[node]
    async fn both(arm: String, whole: String) -> String {
        format!("{arm} / {whole}")
    }
    let flow = workflow! {
        START => judge => <good: publish, drop: forget, redo: rework, pair: pair>;
        judge => inspect;
        let arm = word();
        (publish, forget, rework, pair) => arm;
        (arm, inspect) => both => END;
    };
    assert_eq!(flow.run("drop".to_owned()).await.unwrap(), "forgotten / Drop");
}

#[tokio::test]
async fn start_may_be_routed_by_literals() {
    workflow! { routed_start(i64) -> String { START => <0..=9: low, _: high>; } }
    assert_eq!(routed_start(12).await.unwrap(), "high 12");
}

#[tokio::test]
async fn start_may_be_routed_by_an_enum() {
    workflow! { routed_start(Verdict) -> String { START => <good: publish, redo: rework, pair: pair, drop: forget>; } }
    assert_eq!(routed_start(Verdict::Pair(3, 4)).await.unwrap(), "pair of 3 and 4");
}

#[tokio::test]
async fn an_arm_may_lead_straight_to_end() {
    let flow = workflow! { START => word => <"done": END, _: agree>; agree => END; };
    assert_eq!(flow.run("done".to_owned()).await.unwrap(), "done");
}

#[tokio::test]
async fn the_arms_that_are_not_taken_are_skipped() {
    let events = records_of::<verdicts>("drop".to_owned()).await;
    let mut skipped = paths(&events, |kind| matches!(kind, graphweft::EventKind::NodeSkipped));
    skipped.sort();
    assert_eq!(skipped, ["verdicts/pair", "verdicts/publish", "verdicts/rework"]);
}

#[tokio::test]
async fn the_arm_that_was_taken_is_recorded_as_it_was_written() {
    workflow! { levels(i64) -> String { START => number => <0 | 1: low, _: high>; } }
    let events = records_of::<levels>(1).await;
    let label = events.iter().find_map(|event| match &event.kind {
        graphweft::EventKind::NodeCompleted { label, .. } if event.path == "levels/number" => label.clone(),
        _ => None,
    });
    assert_eq!(label.as_deref(), Some("0 | 1"));
}
