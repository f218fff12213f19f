//! What a query is about, as the condition of a statement.

use rusqlite::types::ToSql;

/// Conditions that all have to hold, with their values.
#[derive(Default)]
pub(super) struct Conditions {
    wanted: Vec<String>,
    values: Vec<Box<dyn ToSql>>,
}

impl Conditions {
    /// The condition, which begins with `1` if there is none, and its values in order.
    pub(super) fn done(self) -> (String, Vec<Box<dyn ToSql>>) {
        let wanted = if self.wanted.is_empty() { "1".to_owned() } else { self.wanted.join(" AND ") };
        (wanted, self.values)
    }

    pub(super) fn add(&mut self, condition: &str) {
        self.wanted.push(condition.to_owned());
    }

    /// Adds a condition with one `?`, for this value.
    pub(super) fn add_with(&mut self, condition: &str, value: impl ToSql + 'static) {
        self.add(condition);
        self.values.push(Box::new(value));
    }

    pub(super) fn add_value(&mut self, value: impl ToSql + 'static) {
        self.values.push(Box::new(value));
    }

    /// The column is one of these texts.
    pub(super) fn add_one_of(&mut self, column: &str, texts: impl Iterator<Item = String>) {
        let before = self.values.len();
        self.values.extend(texts.map(|text| Box::new(text) as Box<dyn ToSql>));
        let places = vec!["?"; self.values.len() - before].join(", ");
        self.wanted.push(format!("{column} IN ({places})"));
    }

    /// The id of the run begins with this.
    pub(super) fn add_id_prefix(&mut self, prefix: &str) {
        if prefix.is_empty() {
            return;
        }
        self.add_with("id >= ?", prefix.to_owned());
        if let Some(behind) = behind_all_with(prefix) {
            self.add_with("id < ?", behind);
        }
    }

    /// The run has these tags.
    pub(super) fn add_tags<'t>(&mut self, tags: impl IntoIterator<Item = (&'t String, &'t String)>) {
        for (tag, value) in tags {
            self.add_with(
                "EXISTS (SELECT 1 FROM tags AS other WHERE other.tag = ? AND other.value = ? AND other.run = key)",
                tag.clone(),
            );
            self.add_value(value.clone());
        }
    }
}

/// The least text behind all texts with a prefix; `None` if there is none.
fn behind_all_with(prefix: &str) -> Option<String> {
    let mut chars: Vec<char> = prefix.chars().collect();
    while let Some(last) = chars.pop() {
        // The number behind a character may be no character.
        if let Some(next) = (u32::from(last) + 1..=u32::from(char::MAX)).find_map(char::from_u32) {
            chars.push(next);
            return Some(chars.into_iter().collect());
        }
    }
    None
}
