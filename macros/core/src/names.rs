//! Names as people write them: one spelling for labels, and the nearest name to a mistyped one.

use proc_macro2::{Ident, Span};
use quote::format_ident;

/// A name in snake_case, without the `r#` of a raw identifier: `HTTPError`, `HttpError` and `http_error` meet.
///
/// An upper-case letter begins a word behind a lower-case letter or a digit, or at the end of a run of upper-case
/// letters.
pub fn snake_case(name: &str) -> String {
    let letters: Vec<char> = plain(name).chars().collect();
    let mut out = String::new();
    for (at, letter) in letters.iter().enumerate() {
        if letter.is_uppercase() {
            let before = at.checked_sub(1).and_then(|at| letters.get(at));
            let starts_word = before.is_some_and(|before| before.is_lowercase() || before.is_numeric());
            let ends_run = before.is_some_and(|before| before.is_uppercase())
                && letters.get(at + 1).is_some_and(|after| after.is_lowercase());
            if starts_word || ends_run {
                out.push('_');
            }
        }
        out.extend(letter.to_lowercase());
    }
    out
}

/// A name without the `r#` of a raw identifier.
pub fn plain(name: &str) -> &str {
    name.strip_prefix("r#").unwrap_or(name)
}

/// An identifier for a label that is spelled in snake_case.
pub fn label_ident(text: &str, span: Span) -> Ident {
    match text {
        "self" | "super" | "crate" | "_" => format_ident!("{text}_", span = span),
        _ if syn::parse_str::<Ident>(text).is_ok() => Ident::new(text, span),
        _ => Ident::new_raw(text, span),
    }
}

/// The candidate that someone who wrote `name` may have meant, if one is near enough.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near_enough = (name.chars().count() / 3).min(3);
    candidates
        .into_iter()
        .map(|candidate| (edit_distance(name, candidate), candidate))
        .filter(|(distance, _)| (1..=near_enough).contains(distance))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// How many letters must be put in, left out, changed or swapped with their neighbour to get from one to the other
/// (the optimal string alignment distance).
fn edit_distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().collect();
    let to: Vec<char> = to.chars().collect();
    // Begun with the first row and the first column: all letters left out, all put in.
    let row = |i: usize| (0..=to.len()).map(|j| if i == 0 { j } else { usize::from(j == 0) * i }).collect();
    let mut rows: Vec<Vec<usize>> = (0..=from.len()).map(row).collect();
    for i in 1..=from.len() {
        for j in 1..=to.len() {
            let change = usize::from(from[i - 1] != to[j - 1]);
            let mut best = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + change);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_and_its_snake_case_meet() {
        for (written, expected) in [
            ("Ok", "ok"),
            ("HTTPError", "http_error"),
            ("HttpError", "http_error"),
            ("http_error", "http_error"),
            ("V2Beta", "v2_beta"),
            ("r#loop", "loop"),
            ("A", "a"),
        ] {
            assert_eq!(snake_case(written), expected);
        }
    }

    #[test]
    fn the_nearest_name_is_one_that_differs_a_little() {
        assert_eq!(nearest("fecth", ["parse", "fetch"]), Some("fetch"));
        assert_eq!(nearest("fetch", ["fetch"]), None);
        assert_eq!(nearest("a", ["b"]), None);
    }
}
