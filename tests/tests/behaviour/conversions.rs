//! An edge converts with `From`; the conversion belongs to the attempt of the node that it leads to.

use graphweft::prelude::*;
use graphweft_tests::failure;

#[value]
#[derive(Debug)]
enum Entry {
    Number(u32),
    Text(String),
    Nothing,
}

impl From<u32> for Entry {
    fn from(n: u32) -> Self {
        Entry::Number(n)
    }
}

impl From<String> for Entry {
    fn from(text: String) -> Self {
        Entry::Text(text)
    }
}

impl From<()> for Entry {
    fn from((): ()) -> Self {
        Entry::Nothing
    }
}

#[node]
async fn number(n: u32) -> u32 {
    n
}

#[node]
async fn text(n: u32) -> String {
    n.to_string()
}

#[node]
async fn show(entry: Entry) -> String {
    format!("{entry:?}")
}

#[node]
async fn wide(n: u64) -> u64 {
    n
}

#[tokio::test]
async fn a_number_widens() {
    let flow = workflow! { START => number => wide };
    assert_eq!(flow.run(3).await.unwrap(), 3_u64);
}

#[tokio::test]
async fn a_value_becomes_an_option() {
    #[node]
    async fn maybe(n: Option<u32>) -> String {
        format!("{n:?}")
    }
    let flow = workflow! { START => number => maybe };
    assert_eq!(flow.run(3).await.unwrap(), "Some(3)");
}

#[tokio::test]
async fn the_input_of_the_workflow_converts() {
    workflow! { shown(u32) -> String { START => show; } }
    assert_eq!(shown(3).await.unwrap(), "Number(3)");
}

#[tokio::test]
async fn a_node_may_take_what_either_of_its_predecessors_gives() {
    let flow = workflow! { START => number => <0..=9: number_again, _: text> => show; let number_again = number(); };
    assert_eq!(
        (flow.run(1).await.unwrap(), flow.run(10).await.unwrap()),
        ("Number(1)".to_owned(), r#"Text("10")"#.to_owned())
    );
}

#[tokio::test]
async fn what_an_arm_carries_converts() {
    #[node]
    async fn small(n: u32) -> Option<u32> {
        (n < 10).then_some(n)
    }
    let flow = workflow! { START => small => <some: show, none: show> };
    assert_eq!(
        (flow.run(1).await.unwrap(), flow.run(10).await.unwrap()),
        ("Number(1)".to_owned(), "Nothing".to_owned())
    );
}

#[tokio::test]
async fn what_a_routed_error_carries_converts() {
    #[node]
    async fn small(n: u32) -> Result<u32, String> {
        if n < 10 { Ok(n) } else { Err("too big".to_owned()) }
    }
    let flow = workflow! { START => small => <ok: show, err: show> };
    assert_eq!(flow.run(10).await.unwrap(), r#"Text("too big")"#);
}

#[tokio::test]
async fn one_value_may_convert_differently_for_each_target() {
    #[node]
    async fn both(a: u64, b: String) -> String {
        format!("{a} {b}")
    }
    let flow = workflow! { START => number => (wide, show) => both };
    assert_eq!(flow.run(3).await.unwrap(), "3 Number(3)");
}

#[tokio::test]
async fn a_join_converts_as_a_whole() {
    #[value]
    struct Both {
        n: u32,
        text: String,
    }
    impl From<(u32, String)> for Both {
        fn from((n, text): (u32, String)) -> Self {
            Both { n, text }
        }
    }
    #[node]
    async fn unpack(both: (u32, String)) -> Both {
        both.into()
    }
    #[node]
    async fn say(both: Both) -> String {
        format!("{} {}", both.n, both.text)
    }
    let flow = workflow! { START => (number, text) => unpack => say };
    assert_eq!(flow.run(3).await.unwrap(), "3 3");
}

#[tokio::test]
async fn a_conversion_that_panics_does_not_touch_the_node_before() {
    #[value]
    struct Refusing;
    impl From<u32> for Refusing {
        fn from(_: u32) -> Self {
            panic!("never")
        }
    }
    #[node]
    async fn takes(_never: Refusing) -> u32 {
        0
    }
    #[node(retry(max_attempts = 3, initial_delay = "0s"))]
    async fn before(n: u32, ctx: &Context) -> u32 {
        n + ctx.attempt()
    }
    workflow! { converting(u32) -> u32 { START => before => takes; } }
    let failed = failure(converting(3).await);
    assert_eq!((failed.path.as_str(), failed.attempts), ("converting/takes", 1));
}

#[tokio::test]
async fn a_conversion_that_panics_is_told_in_its_own_words_where_its_node_has_retries() {
    #[value]
    struct Picky;
    impl From<u32> for Picky {
        fn from(n: u32) -> Self {
            panic!("{n} will not do")
        }
    }
    #[node(retry(max_attempts = 3, initial_delay = "0s"))]
    async fn takes(_picky: Picky) -> u32 {
        0
    }
    let flow = workflow! { (u32) -> u32 { START => number => takes; } };
    assert_eq!(failure(flow.run(3).await).cause.to_string(), "panicked: 3 will not do");
}
