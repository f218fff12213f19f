//! What is drawn is a program that graphweft accepts.

use std::str::FromStr;

use graphweft_macros_core::workflow;
use proc_macro2::TokenStream;

#[test]
fn the_workflows_of_drawn_programs_are_sound() {
    let mut count = 0;
    for seed in 0..300 {
        let drawn = graphweft_programs::draw(seed);
        assert_eq!(drawn.text, graphweft_programs::draw(seed).text, "a seed has one program");
        for text in drawn.workflows {
            let tokens = TokenStream::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
            let (workflow, diagnostics) = workflow(tokens);
            let texts: Vec<String> = diagnostics.iter().map(|diagnostic| diagnostic.text()).collect();
            assert!(workflow.is_some() && texts.is_empty(), "seed {seed}: {texts:?} of {text}");
            count += 1;
        }
    }
    assert!(count > 300, "some programs have several workflows: {count}");
}
