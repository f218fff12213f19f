//! `Result` and `Option` choose the way: what each label carries, and labels inside a `Result`.

use graphweft::prelude::*;
use graphweft_tests::failure;

#[value]
#[derive(Debug, PartialEq, Route)]
enum Verdict {
    Good(String),
    Redo { text: String, times: u32 },
    Pair(u8, u8),
    Drop,
}

#[value]
#[derive(Debug)]
struct Broken {
    why: String,
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
async fn judge_or_fail(word: String) -> Result<Verdict, Broken> {
    if word == "broken" { Err(Broken { why: word }) } else { Ok(judge(word).await) }
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
async fn repair(broken: Broken) -> String {
    format!("repaired {}", broken.why)
}

#[node]
async fn inspect(verdict: Verdict) -> String {
    format!("{verdict:?}")
}

#[node]
async fn inspect_result(verdict: Result<Verdict, Broken>) -> String {
    format!("{verdict:?}")
}

#[node]
async fn word(word: String) -> String {
    word
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
async fn half(n: i64) -> Option<i64> {
    (n % 2 == 0).then_some(n / 2)
}

#[node]
async fn none_left() -> String {
    "none".to_owned()
}

#[node]
async fn parse(text: String) -> Result<i64, String> {
    text.parse().map_err(|_| format!("not a number: {text}"))
}

#[node]
async fn complain(why: String) -> String {
    why
}

workflow! {
    fallible_verdicts(String) -> String {
        START => judge_or_fail => <good: publish, redo: rework, pair: pair, drop: forget>;
    }
}

#[tokio::test]
async fn ok_carries_the_value() {
    let flow = workflow! { START => parse => <ok: low, err: complain> };
    assert_eq!(flow.run("7".to_owned()).await.unwrap(), "low 7");
}

#[tokio::test]
async fn err_carries_the_error() {
    let flow = workflow! { START => parse => <ok: low, err: complain> };
    assert_eq!(flow.run("seven".to_owned()).await.unwrap(), "not a number: seven");
}

#[tokio::test]
async fn the_default_beside_ok_carries_the_whole_result() {
    #[node]
    async fn whole(result: Result<i64, String>) -> String {
        format!("{result:?}")
    }
    let flow = workflow! { START => parse => <ok: low, _: whole> };
    assert_eq!(flow.run("x".to_owned()).await.unwrap(), r#"Err("not a number: x")"#);
}

#[tokio::test]
async fn a_result_behind_a_type_alias_is_a_result() {
    type Parsed = Result<i64, String>;
    #[node]
    async fn parse_too(text: String) -> Parsed {
        parse(text).await
    }
    let flow = workflow! { START => parse_too => <ok: low, err: complain> };
    assert_eq!(flow.run("?".to_owned()).await.unwrap(), "not a number: ?");
}

#[tokio::test]
async fn some_carries_what_is_inside() {
    let flow = workflow! { START => half => <some: low, none: none_left> };
    assert_eq!(flow.run(8).await.unwrap(), "low 4");
}

#[tokio::test]
async fn none_carries_nothing() {
    let flow = workflow! { START => half => <some: low, none: none_left> };
    assert_eq!(flow.run(7).await.unwrap(), "none");
}

#[tokio::test]
async fn an_option_may_travel_on_unrouted() {
    #[node]
    async fn show(n: Option<i64>) -> String {
        format!("{n:?}")
    }
    let flow = workflow! { START => half => show };
    assert_eq!(flow.run(7).await.unwrap(), "None");
}

#[tokio::test]
async fn the_labels_of_what_is_inside_a_result_may_be_used_directly() {
    assert_eq!(fallible_verdicts("redo".to_owned()).await.unwrap(), "rework redo 3 times");
}

#[tokio::test]
async fn an_error_beside_the_labels_of_the_value_fails_the_node() {
    let failed = failure(fallible_verdicts("broken".to_owned()).await);
    assert_eq!(failed.path, "fallible_verdicts/judge_or_fail");
}

#[tokio::test]
async fn err_may_stand_beside_the_labels_of_the_value() {
    let flow = workflow! {
        START => judge_or_fail => <good: publish, redo: rework, pair: pair, drop: forget, err: repair>
    };
    assert_eq!(flow.run("broken".to_owned()).await.unwrap(), "repaired broken");
}

#[tokio::test]
async fn an_arm_may_lead_to_several_targets() {
    #[node]
    async fn both(a: String, b: String) -> String {
        format!("{a}, {b}")
    }
    let flow = workflow! {
        START => parse => <ok: (low, high), err: complain>;
        (low, high) => both => END;
        complain => END;
    };
    assert_eq!(flow.run("5".to_owned()).await.unwrap(), "low 5, high 5");
}

#[tokio::test]
async fn a_plain_edge_carries_the_whole_result_where_err_is_routed() {
    #[node]
    async fn both(arm: String, whole: String) -> String {
        format!("{arm} / {whole}")
    }
    let flow = workflow! {
        START => judge_or_fail => <ok: inspect, err: repair>;
        judge_or_fail => inspect_result;
        let arm = word();
        (inspect, repair) => arm;
        (arm, inspect_result) => both => END;
    };
    assert_eq!(flow.run("broken".to_owned()).await.unwrap(), r#"repaired broken / Err(Broken { why: "broken" })"#);
}

#[tokio::test]
async fn start_may_be_routed_in_expression_position() {
    let flow = workflow! { (Result<i64, String>) -> String { START => <ok: low, err: complain>; } };
    assert_eq!(flow.run(Err("late".to_owned())).await.unwrap(), "late");
}

#[tokio::test]
async fn routes_may_follow_one_another() {
    let flow = workflow! { START => parse => <ok: half => <some: low, none: none_left>, err: complain> };
    assert_eq!(flow.run("6".to_owned()).await.unwrap(), "low 3");
}
