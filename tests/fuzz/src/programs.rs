//! Programs in the language of `workflow!`, made of bytes: they lex, and most of them parse.

use arbitrary::{Result, Unstructured};

const NODES: [&str; 10] = ["a", "b", "c", "d", "e", "f", "shop::cart", "::g::h", "END", "twin"];
const LABELS: [&str; 12] =
    ["ok", "err", "_", "low", "high", "Redo", "true", "false", "0..=9", "\"yes\"", "-1", "some | none"];

/// A program: a head or none, a `let` or none, and some statements.
pub(crate) fn program(bytes: &mut Unstructured<'_>) -> Result<String> {
    let mut statements = vec![format!("START => {}", chain(bytes, 3)?)];
    while bytes.ratio(2, 3)? && statements.len() < 6 {
        statements.push(match bytes.int_in_range(0..=5u8)? {
            0 => format!("{} | {} => {}", name(bytes)?, name(bytes)?, chain(bytes, 1)?),
            _ => format!("{} => {}", shape(bytes, 2)?, chain(bytes, 2)?),
        });
    }
    let lets = if bytes.ratio(1, 4)? { "let twin = a(timeout = \"5s\"); " } else { "" };
    let body = format!("{lets}{};", statements.join("; "));
    Ok(match bytes.int_in_range(0..=3u8)? {
        0 => format!("/// Docs.\npub(crate) flow(In, Vec<In>) -> Out {{ {body} }}"),
        1 => format!("flow(In) {{ {body} }}"),
        2 => format!("(In) -> Out {{ {body} }}"),
        _ => body,
    })
}

fn chain(bytes: &mut Unstructured<'_>, deep: usize) -> Result<String> {
    let mut links = vec![shape(bytes, deep)?];
    while bytes.ratio(1, 2)? && links.len() < 4 {
        links.push(shape(bytes, deep)?);
    }
    Ok(links.join(" => "))
}

fn shape(bytes: &mut Unstructured<'_>, deep: usize) -> Result<String> {
    if deep == 0 || bytes.is_empty() {
        return name(bytes);
    }
    Ok(match bytes.int_in_range(0..=7u8)? {
        0 => format!("({}, {})", chain(bytes, deep - 1)?, chain(bytes, deep - 1)?),
        1 => format!("[{}]", chain(bytes, deep - 1)?),
        2 | 3 => {
            let mut arms = Vec::new();
            for _ in 0..bytes.int_in_range(1..=3)? {
                arms.push(format!("{}: {}", bytes.choose(&LABELS)?, chain(bytes, deep - 1)?));
            }
            format!("<{}>", arms.join(", "))
        }
        _ => name(bytes)?,
    })
}

fn name(bytes: &mut Unstructured<'_>) -> Result<String> {
    Ok((*bytes.choose(&NODES)?).to_owned())
}
