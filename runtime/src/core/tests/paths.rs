use super::sim::workflow;
use crate::core::{escaped, unescaped};

#[test]
fn the_first_turn_is_unmarked_only_where_all_turns_are_first() {
    let mut run = workflow("START>o; o>i; i>more:i; i>up:o; i>done:END").start();
    run.done("w/o", 1);
    run.takes("w/i", "more");
    run.takes("w/i#1.2", "up");
    run.done("w/o#2", 1);
    assert_eq!(run.running(), ["w/i#2.1"]);
}

#[test]
fn three_loops_have_three_numbers() {
    let mut run = workflow("START>a; a>b; b>c; c>x:c; c>y:b; c>z:a; c>done:END").start();
    run.done("w/a", 1);
    run.done("w/b", 1);
    run.takes("w/c", "x");
    assert_eq!(run.running(), ["w/c#1.1.2"]);
    run.takes("w/c#1.1.2", "y");
    run.done("w/b#1.2", 1);
    assert_eq!(run.running(), ["w/c#1.2.1"]);
}

#[test]
fn brackets_in_a_loop_put_the_turn_before_the_item() {
    let mut run = workflow("START>h; h>again:[b]; [b]>h; h>done:END").each("[b]", "START>b; b>END").start();
    run.takes("w/h", "again");
    run.enters("w/[b]", &[1]);
    run.done("w/b[0]", 1);
    run.takes("w/h#2", "again");
    run.enters("w/[b]#2", &[1]);
    assert_eq!(run.running(), ["w/b#2[0]"]);
}

#[test]
fn names_are_read_back_from_paths() {
    for name in ["a", "", "odd/na me#1:k", "ü:%1", "%2F", "%", "50%", "[3]\n\u{1F980}"] {
        let escaped = escaped(name);
        assert!(!escaped.contains(['/', '#', '[', ']', ':', '\n']), "{escaped}");
        assert_eq!(unescaped(&escaped), name);
    }
    assert_eq!(unescaped("%zz%+4%4"), "%zz%+4%4");
    assert_eq!(unescaped("%FF"), "%FF");
}
