//! What a person says about a licence, and how it is written on a command line or at a prompt.

use std::str::FromStr;

use graphweft::prelude::*;

/// The answer to the question whether packages of a licence may be used.
#[value]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) decision: Decision,
    /// Stands in the report.
    pub(crate) reason: Option<String>,
}

#[value]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Decision {
    Allow,
    Deny,
    /// Undecided.
    Leave,
}

impl Answer {
    pub(crate) const LEAVE: Answer = Answer { decision: Decision::Leave, reason: None };
}

impl FromStr for Answer {
    type Err = String;

    /// `allow`, `deny: reason`; the first letter of a decision does.
    fn from_str(text: &str) -> Result<Self, String> {
        let (decision, reason) = text.split_once(':').unwrap_or((text, ""));
        let decision = match decision.trim().to_ascii_lowercase().as_str() {
            "a" | "allow" => Decision::Allow,
            "d" | "deny" => Decision::Deny,
            "l" | "leave" => Decision::Leave,
            _ => return Err(format!("`{text}` is not `allow`, `deny` or `leave`, nor one of them with a `: reason`")),
        };
        let reason = reason.trim();
        Ok(Answer { decision, reason: (!reason.is_empty()).then(|| reason.to_owned()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(decision: Decision, reason: Option<&str>) -> Result<Answer, String> {
        Ok(Answer { decision, reason: reason.map(str::to_owned) })
    }

    #[test]
    fn an_answer_is_a_decision_with_or_without_a_reason() {
        assert_eq!("allow".parse(), answer(Decision::Allow, None));
        assert_eq!(" D\n".parse(), answer(Decision::Deny, None));
        assert_eq!("deny: not on a server: ever".parse(), answer(Decision::Deny, Some("not on a server: ever")));
        assert_eq!("leave:".parse(), answer(Decision::Leave, None));
    }

    #[test]
    fn anything_else_is_refused_with_what_there_is() {
        let refused = "perhaps".parse::<Answer>().unwrap_err();
        assert!(refused.starts_with("`perhaps` is not `allow`, `deny` or `leave`"), "{refused}");
        assert!("".parse::<Answer>().is_err());
    }
}
