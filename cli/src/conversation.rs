//! Conversations of agents, in lines.

use graphweft_inspector::view::{Conversation, Said, SaidWhat, ToolCall};
use serde_json::Value;

use crate::safe::cut;

/// How wide the column of who says something is.
const WHO: usize = 14;

/// What was said, a line for each line of a text. `most` characters of each text.
pub(crate) fn lines(conversation: &Conversation, most: usize) -> Vec<String> {
    let tokens = conversation.said.iter().filter_map(|said| match &said.what {
        SaidWhat::Replied { input_tokens, output_tokens, .. } => Some(input_tokens.saturating_add(*output_tokens)),
        _ => None,
    });
    let (replies, tokens) = tokens.fold((0, 0_u64), |(replies, sum), more| (replies + 1, sum.saturating_add(more)));
    let replies = if replies == 1 { "1 reply".to_owned() } else { format!("{replies} replies") };
    let mut lines = vec![format!("conversation of {}: {replies}, {tokens} tokens", conversation.path)];
    for said in &conversation.said {
        let (who, what) = words(said, most);
        let mut what = what.lines();
        lines.push(format!("  {:<WHO$} {}", cut(&who, WHO - 1), what.next().unwrap_or_default()));
        lines.extend(what.map(|line| format!("  {:<WHO$} {line}", "")));
    }
    lines
}

/// What was said by an event, in a line.
pub(crate) fn line(said: &[Said], most: usize) -> String {
    let words = said.iter().map(|said| {
        let (who, what) = words(said, most);
        format!("{who}: {}", what.lines().collect::<Vec<_>>().join(" "))
    });
    words.collect::<Vec<_>>().join(" | ")
}

/// Who says it, and what.
fn words(said: &Said, most: usize) -> (String, String) {
    let text = |text: &str, is_cut: bool| shortened(text, is_cut, most);
    let json = |value: &Value, is_cut: bool| shortened(&compact(value), is_cut, most);
    match &said.what {
        SaidWhat::Asked { text: asked, cut } => ("asked".to_owned(), text(asked, *cut)),
        SaidWhat::Replied { model, text: reply, cut, calls, input_tokens, output_tokens, cut_off, .. } => {
            let call = |call: &ToolCall| format!("calls {}({})", call.tool, json(&call.arguments, call.cut));
            let said = Some(text(reply, *cut)).filter(|text| !text.is_empty()).into_iter();
            let mut what = said.chain(calls.iter().map(call)).collect::<Vec<_>>().join("\n");
            if *cut_off {
                what.push_str("\n(cut off at the limit of tokens)");
            }
            what.push_str(&format!("  [{input_tokens} + {output_tokens} tokens]"));
            (model.clone(), what)
        }
        SaidWhat::Returned { tool, output, cut } => (tool.clone(), json(output, *cut)),
        SaidWhat::Refused { tool, why, cut } => (tool.clone(), format!("refused: {}", text(why, *cut))),
        SaidWhat::NotCalled { tool, begun, why, cut } => {
            let what = if *begun { "was withdrawn after it had begun" } else { "was not called" };
            let why = why.as_ref().map(|why| format!(": {}", text(why, *cut))).unwrap_or_default();
            (tool.clone(), format!("{what}{why}"))
        }
        SaidWhat::Failed { tool, attempt, message, cut, again } => {
            let who = tool.clone().unwrap_or_else(|| "model".to_owned());
            let again = if *again { ", another follows" } else { "" };
            (who, format!("attempt {attempt} failed{again}: {}", text(message, *cut)))
        }
        SaidWhat::PersonAsked { tool, prompt, cut } => (tool.clone(), format!("asks: {}", text(prompt, *cut))),
        SaidWhat::PersonAnswered { answer, cut, by, .. } => {
            (by.clone().unwrap_or_else(|| "a person".to_owned()), format!("answers: {}", json(answer, *cut)))
        }
        _ => (String::new(), "(this version of the command line has no words for it)".to_owned()),
    }
}

/// A text as it is, anything else as JSON.
fn compact(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn shortened(text: &str, is_cut: bool, most: usize) -> String {
    let short = cut(text, most);
    if is_cut && !short.ends_with('…') { format!("{short}…") } else { short }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(what: SaidWhat) -> Said {
        Said { seq: 3, time: 0, path: "desk/agent/model:1".to_owned(), what }
    }

    #[test]
    fn each_line_of_a_text_is_a_line_below_who_says_it() {
        let text = "Dear Ada,\nyes.".to_owned();
        let said = said(SaidWhat::Asked { text, cut: true });
        assert_eq!(line(std::slice::from_ref(&said), 300), "asked: Dear Ada, yes.…");
        let lines = lines(&Conversation { path: "desk/agent".to_owned(), said: vec![said] }, 4);
        assert_eq!(lines, ["conversation of desk/agent: 0 replies, 0 tokens", "  asked          Dear…"]);
    }

    #[test]
    fn a_long_name_does_not_move_what_is_said() {
        let said = said(SaidWhat::NotCalled {
            tool: "a_very_long_name_of_a_tool".to_owned(),
            begun: false,
            why: Some("there is none".to_owned()),
            cut: false,
        });
        let lines = lines(&Conversation { path: "desk/agent".to_owned(), said: vec![said] }, 10);
        assert_eq!(lines[1], "  a_very_long_n… was not called: there is n…");
    }
}
