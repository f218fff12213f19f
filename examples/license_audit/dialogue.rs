//! Open questions: how they are shown, how they are answered from a command line and at a prompt.

use std::io::{BufRead, Write};

use graphweft::Question;
use serde::Serialize;

use crate::answer::Answer;
use crate::model::Undecided;
use crate::stop::Stop;

/// A question of a run, and what it is about.
#[derive(Clone, Serialize)]
pub(crate) struct Open {
    /// By which the run knows it.
    #[serde(skip)]
    pub(crate) question: String,
    #[serde(skip)]
    prompt: String,
    #[serde(flatten)]
    about: Undecided,
}

impl Open {
    pub(crate) fn read(questions: Vec<Question>) -> Result<Vec<Open>, Stop> {
        let read = |question: Question| {
            let Question { id, prompt, payload, .. } = question;
            let about = serde_json::from_value(payload)
                .map_err(|error| Stop::Audit(format!("what `{id}` is about cannot be read: {error}")))?;
            Ok(Open { question: id, prompt, about })
        };
        questions.into_iter().map(read).collect()
    }

    /// What it is about, on several lines.
    fn describe(&self) -> String {
        let mut text = format!("{}\n  {}\n", self.about.id, self.about.why);
        for doubt in &self.about.packages {
            text += &format!("  {} {}\n", doubt.package, doubt.version);
            for path in &doubt.texts {
                text += &format!("    {}\n", path.display());
            }
        }
        text
    }
}

/// The questions of a run, and how to answer them.
pub(crate) fn describe(run: &str, open: &[Open]) -> String {
    let Some(first) = open.first() else { return format!("run {run} asks nothing\n") };
    let count = if open.len() == 1 { "1 question".to_owned() } else { format!("{} questions", open.len()) };
    let each: String = open.iter().map(|open| format!("\n{}", open.describe())).collect();
    let id = first.about.id.replace('\'', r"'\''");
    format!(
        "run {run} waits for {count}:\n{each}\nto answer: --resume {run} --answer '{id}=allow' (or `deny`, `leave`)\n"
    )
}

/// Finds for each `ID=VALUE` the question that it answers. One that does not fit is an error, and none is taken.
pub(crate) fn matched(run: &str, given: &[String], open: &[Open]) -> Result<Vec<(String, Answer)>, Stop> {
    let each = given.iter().map(|given| {
        let fitting = open.iter().filter_map(|open| {
            let value = given.strip_prefix(&open.about.id)?.strip_prefix('=')?;
            Some((open, value))
        });
        // A licence may hold a `=`, and then two may fit.
        let Some((open, value)) = fitting.max_by_key(|(open, _)| open.about.id.len()) else {
            let asked: Vec<String> = open.iter().map(|open| format!("`{}`", open.about.id)).collect();
            let asked = if asked.is_empty() { "nothing".to_owned() } else { asked.join(", ") };
            return Err(Stop::Input(format!("`{given}` answers no question of run {run}, which asks {asked}")));
        };
        let answer = value.parse().map_err(|why| Stop::Input(format!("`{given}` is no answer: {why}")))?;
        Ok((open.question.clone(), answer))
    });
    each.collect()
}

/// Asks at a terminal until there is an answer; `None` at the end of the input.
pub(crate) fn ask(open: &Open, input: &mut impl BufRead, output: &mut impl Write) -> std::io::Result<Option<Answer>> {
    write!(output, "\n{}", open.describe())?;
    loop {
        write!(output, "{} allow, deny, leave (undecided); add `: reason` > ", open.prompt)?;
        output.flush()?;
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            writeln!(output)?;
            return Ok(None);
        }
        match line.trim_end().parse() {
            Ok(answer) => return Ok(Some(answer)),
            Err(why) => writeln!(output, "{why}")?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Decision;
    use crate::model::Doubt;

    fn open(id: &str) -> Open {
        let why = format!("nothing is known of `{id}`");
        let doubt = Doubt {
            package: "odd".to_owned(),
            version: "1.0.0".to_owned(),
            licence: Some(id.to_owned()),
            why: why.clone(),
            texts: vec!["odd-1.0.0/LICENSE".into()],
        };
        let about = Undecided { id: id.to_owned(), why, packages: vec![doubt] };
        Open { question: format!("audit/{id}"), prompt: format!("May `{id}` be used?"), about }
    }

    #[test]
    fn questions_are_shown_with_their_packages_and_how_to_answer() {
        assert_eq!(
            describe("3", &[open("Ours")]),
            "run 3 waits for 1 question:\n\nOurs\n  nothing is known of `Ours`\n  odd 1.0.0\n    odd-1.0.0/LICENSE\n\n\
             to answer: --resume 3 --answer 'Ours=allow' (or `deny`, `leave`)\n"
        );
    }

    #[test]
    fn an_answer_finds_its_question_whatever_the_licence_contains() {
        let open = [open("a"), open("a=b"), open("see LICENSE")];
        let found = |given: &str| match matched("1", &[given.to_owned()], &open) {
            Ok(found) => format!("{} {:?}", found[0].0, found[0].1.decision),
            Err(Stop::Input(why)) => why,
            Err(_) => unreachable!("what does not fit is the user's mistake"),
        };
        assert_eq!(found("see LICENSE=deny: why = so"), "audit/see LICENSE Deny");
        assert_eq!(found("a=allow"), "audit/a Allow");
        assert_eq!(found("a=b=allow"), "audit/a=b Allow");
        assert_eq!(found("b=allow"), "`b=allow` answers no question of run 1, which asks `a`, `a=b`, `see LICENSE`");
        assert!(found("a=perhaps").starts_with("`a=perhaps` is no answer: `perhaps` is not"), "{}", found("a=perhaps"));
    }

    #[test]
    fn a_prompt_asks_again_until_it_understands() {
        let mut shown = Vec::new();
        let answer = ask(&open("Ours"), &mut "what?\nd: no\n".as_bytes(), &mut shown).unwrap();
        assert_eq!(answer, Some(Answer { decision: Decision::Deny, reason: Some("no".to_owned()) }));
        let shown = String::from_utf8(shown).unwrap();
        assert_eq!(shown.matches("May `Ours` be used?").count(), 2, "{shown}");
    }

    #[test]
    fn the_end_of_the_input_is_no_answer() {
        assert_eq!(ask(&open("Ours"), &mut "".as_bytes(), &mut Vec::new()).unwrap(), None);
    }
}
