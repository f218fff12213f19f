//! Programs that do not compile, with the words that say why. Their sound neighbours, in `ui/pass`, are tests of their own: so the compiler
//! only checks here.

/// One rule a file. After a change of words, `TRYBUILD=overwrite cargo test -p graphweft-tests --test ui` writes down
/// the new ones, to be read before they are kept.
#[test]
fn what_is_wrong_is_said_in_the_words_of_the_user() {
    trybuild::TestCases::new().compile_fail("ui/fail/*.rs");
}
