//! The classifier.

use graphweft::json;
use graphweft::prelude::*;
use graphweft_agents::{Classifier, Scripted};
use graphweft_tests::failure;

use crate::scene::run;

#[value]
#[derive(Debug, PartialEq)]
struct Mail {
    text: String,
    weight: f64,
    sent: Option<Option<u8>>,
}

#[value]
#[derive(Route)]
enum Desk {
    /// The customer wants money back.
    Refund(Mail),
    Bug(Mail),
    /// Nobody has to read it.
    Spam,
}

#[node]
async fn keep(mail: Mail) -> Option<Mail> {
    Some(mail)
}

#[node]
async fn drop_it() -> Option<Mail> {
    None
}

workflow! {
    sorting(Mail) -> Option<Mail> {
        let triage: Classifier<Mail, Desk> = Classifier::new("You sort mail.");
        let report = keep();
        START => triage => <refund: keep, bug: report, spam: drop_it>;
        keep => END;
        report => END;
        drop_it => END;
    }
}

fn mail() -> Mail {
    Mail { text: "It hurts".into(), weight: 985.690_694_632_869_5, sent: Some(None) }
}

#[tokio::test]
async fn the_value_goes_through_unchanged_by_the_chosen_label() {
    for answer in ["{\"label\": \"Bug\"}", "bug", "`Refund`.", "```json\n{\"label\": \"bug\"}\n```"] {
        assert_eq!(run::<sorting>(Scripted::text(answer), mail()).await.unwrap(), Some(mail()), "{answer}");
    }
    assert_eq!(run::<sorting>(Scripted::text("Spam"), mail()).await.unwrap(), None);
}

#[tokio::test]
async fn the_model_gets_the_labels_with_their_doc_comments() {
    let model = Scripted::text("Spam");
    run::<sorting>(model.clone(), mail()).await.unwrap();
    let request = &model.requests()[0];
    let labels = "- refund: The customer wants money back.\n- bug\n- spam: Nobody has to read it.\n";
    assert!(request.instructions.ends_with(labels), "{}", request.instructions);
    let format = request.format.as_ref().expect("a classifier has no tools");
    assert_eq!(format.schema["properties"]["label"]["enum"], json!(["refund", "bug", "spam"]));
}

#[tokio::test]
async fn an_answer_that_is_no_label_is_corrected_a_bounded_number_of_times() {
    let model = Scripted::text("Complaint");
    let failure = failure(run::<sorting>(model.clone(), mail()).await);
    assert_eq!(
        failure.cause.to_string(),
        "the output does not fit after 3 tries: it is none of the labels refund, bug, spam"
    );
    assert_eq!(model.requests().len(), 3);
}
