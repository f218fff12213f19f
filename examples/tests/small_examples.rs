//! What the small examples print.

mod built;

use std::process::Command;

use built::built;

fn printed_by(example: &str) -> String {
    let program = built(example);
    let output = Command::new(&program).output().unwrap_or_else(|error| {
        panic!("{} cannot be run: {error}; `cargo build --examples` builds it", program.display())
    });
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn order_charges_or_refuses() {
    assert_eq!(
        printed_by("order"),
        "Dear customer: charged 2900 cents at attempt 1.\n\
         Dear customer: refused, because it has no price.\n"
    );
}

#[test]
fn review_loop_goes_round_until_the_review_is_content() {
    assert_eq!(
        printed_by("review_loop"),
        "article/draft      An article on rivers\n\
         article/review     lacks an example\n\
         article/draft#2    An article on rivers, with an example\n\
         article/review#2   lacks a summary\n\
         article/draft#3    An article on rivers, with an example, with a summary\n\
         article/review#3   lacks nothing\n\
         published: An article on rivers, with an example, with a summary\n"
    );
}

#[test]
fn hand_over_goes_from_agent_to_agent() {
    assert_eq!(
        printed_by("hand_over"),
        "help_desk/billing\n\
         help_desk/support#2\n\
         billing: paid the refund; support: took back what is broken\n\
         nothing to do\n"
    );
}

#[test]
fn nested_runs_the_inner_workflow_alone_and_inside() {
    assert_eq!(
        printed_by("nested"),
        "a cup: packed by fulfil/pack\n\
         \n\
         a kettle: packed by ship/fulfil[0]/pack\n\
         tea: ordered by ship/fulfil[1]/reorder\n"
    );
}

#[test]
fn k_of_n_stops_asking_when_it_has_enough() {
    let printed = printed_by("k_of_n");
    assert!(printed.contains("compare/atlantis: not needed any more\n"), "{printed}");
    assert!(printed.ends_with("2 quotes, the cheapest at 290\n"), "{printed}");
}
