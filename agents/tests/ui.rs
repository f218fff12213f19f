//! Programs with agents that do not compile, with the words that say why. Their sound neighbours, in `ui/pass`, are tests of their own: so the
//! compiler only checks here.

// With more features there are more nodes, and the compiler lists some.
#![cfg(not(any(feature = "genai", feature = "mcp")))]

/// One rule a file. After a change of words, `TRYBUILD=overwrite cargo test -p graphweft-agents --test ui` writes down the
/// new ones, to be read before they are kept.
#[test]
fn what_is_wrong_with_an_agent_is_said_in_the_words_of_the_user() {
    trybuild::TestCases::new().compile_fail("tests/ui/fail/*.rs");
}
