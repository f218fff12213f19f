//! What a doc comment says of an agent.

/// The two parts of a doc comment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DocText {
    /// What the agent is for: the first paragraph.
    pub(crate) description: String,
    /// The other paragraphs; the first one if it is the only one.
    pub(crate) instructions: String,
}

impl DocText {
    /// `doc` is trimmed.
    pub(crate) fn of(doc: &str) -> Self {
        let mut lines = doc.lines();
        let first: Vec<&str> = lines.by_ref().take_while(|line| !line.trim().is_empty()).collect();
        let rest: Vec<&str> = lines.collect();
        let description = first.join("\n").trim().to_owned();
        let instructions = rest.join("\n").trim().to_owned();
        let instructions = if instructions.is_empty() { description.clone() } else { instructions };
        DocText { description, instructions }
    }
}

#[cfg(test)]
mod tests {
    use super::DocText;

    fn parts(doc: &str) -> (String, String) {
        let DocText { description, instructions } = DocText::of(doc);
        (description, instructions)
    }

    #[test]
    fn the_first_paragraph_says_what_it_is_for_and_the_rest_are_the_instructions() {
        let doc = "Decides on refunds,\nand on nothing else.\n\n\nLook up the orders.\n\n- Be kind.";
        let expected = ("Decides on refunds,\nand on nothing else.".into(), "Look up the orders.\n\n- Be kind.".into());
        assert_eq!(parts(doc), expected);
    }

    #[test]
    fn a_single_paragraph_is_both() {
        assert_eq!(parts("You decide on refunds."), ("You decide on refunds.".into(), "You decide on refunds.".into()));
    }
}
