//! What comes of the measuring: a table to read and JSON to compute with.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::measure::{Measured, Role};

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Time, in nanoseconds.
    Time,
    /// Memory or a file, in bytes.
    Bytes,
    /// A number by itself.
    Times,
}

impl Unit {
    /// A figure with three digits that count and a unit that fits.
    pub fn show(self, value: f64) -> String {
        let (scaled, name) = match self {
            Unit::Time if value.abs() >= 1e9 => (value / 1e9, " s"),
            Unit::Time if value.abs() >= 1e6 => (value / 1e6, " ms"),
            Unit::Time if value.abs() >= 1e4 => (value / 1e3, " µs"),
            Unit::Time => (value, " ns"),
            Unit::Bytes if value.abs() >= 1e6 => (value / 1e6, " MB"),
            Unit::Bytes if value.abs() >= 1e4 => (value / 1e3, " kB"),
            Unit::Bytes => (value, " B"),
            Unit::Times => (value, ""),
        };
        let digits = if scaled.abs() >= 100.0 {
            0
        } else if scaled.abs() >= 10.0 {
            1
        } else {
            2
        };
        format!("{scaled:.digits$}{name}")
    }
}

/// A figure with its spread.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Of what.
    pub name: String,
    /// Whose.
    pub role: Role,
    /// The median of the rounds.
    pub median: f64,
    /// The least of them.
    pub least: f64,
    /// The greatest.
    pub most: f64,
}

impl Figure {
    /// A figure that was taken once.
    pub fn single(name: impl Into<String>, role: Role, value: f64) -> Self {
        Figure { name: name.into(), role, median: value, least: value, most: value }
    }
}

impl From<&Measured> for Figure {
    fn from(measured: &Measured) -> Self {
        let (least, most) = measured.range();
        Figure { name: measured.name.clone(), role: measured.role, median: measured.median(), least, most }
    }
}

/// What was to be reached, and whether it was.
#[derive(Clone, Debug)]
pub struct Target {
    /// In words.
    pub text: String,
    /// Whether it was reached.
    pub is_reached: bool,
}

impl Target {
    /// A target, and whether it was reached.
    pub fn new(text: impl Into<String>, is_reached: bool) -> Self {
        Target { text: text.into(), is_reached }
    }
}

/// One line of the table, and what stands behind it.
#[derive(Clone, Debug)]
pub struct Row {
    /// What is done.
    pub work: String,
    /// What is counted.
    pub unit: Unit,
    /// Ours first.
    pub figures: Vec<Figure>,
    /// Ours over the limit.
    pub ratio: Option<f64>,
    /// What is to be reached.
    pub target: Option<Target>,
}

impl Row {
    /// A line over contenders that took turns.
    pub fn of(work: impl Into<String>, measured: &[Measured]) -> Self {
        let of = |role| measured.iter().find(|measured| measured.role == role);
        let ratio = of(Role::Ours).zip(of(Role::Limit)).map(|(ours, limit)| ours.over(limit));
        let figures = measured.iter().map(Figure::from).collect();
        Row { work: work.into(), unit: Unit::Time, figures, ratio, target: None }
    }

    /// A line over figures that were taken one after the other.
    pub fn single(work: impl Into<String>, unit: Unit, figures: Vec<Figure>) -> Self {
        let of = |role| figures.iter().find(|figure: &&Figure| figure.role == role);
        let ratio = of(Role::Ours).zip(of(Role::Limit)).map(|(ours, limit)| ours.median / limit.median);
        Row { work: work.into(), unit, figures, ratio, target: None }
    }

    /// With a target: at most so much.
    pub fn at_most(mut self, most: f64) -> Self {
        self.target = Some(Target::new(format!("≤ {}", self.unit.show(most)), self.ours().median <= most));
        self
    }

    /// With a target: at most so many times the limit.
    pub fn at_most_times_the_limit(mut self, most: f64) -> Self {
        let is_reached = self.ratio.is_some_and(|ratio| ratio <= most);
        self.target = Some(Target::new(format!("≤ {most} × the limit"), is_reached));
        self
    }

    /// With a target.
    pub fn with_target(mut self, target: Target) -> Self {
        self.target = Some(target);
        self
    }

    /// Our figure.
    pub fn ours(&self) -> &Figure {
        self.figures.iter().find(|figure| figure.role == Role::Ours).expect("every line has ours")
    }

    fn limit(&self) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.role == Role::Limit)
    }

    fn best_peer(&self) -> Option<&Figure> {
        let peers = self.figures.iter().filter(|figure| figure.role == Role::Peer);
        peers.min_by(|one, other| one.median.total_cmp(&other.median))
    }

    fn json(&self) -> Value {
        let figures: Vec<Value> = self
            .figures
            .iter()
            .map(|figure| {
                json!({
                    "name": figure.name,
                    "role": format!("{:?}", figure.role).to_lowercase(),
                    "median": figure.median,
                    "min": figure.least,
                    "max": figure.most,
                })
            })
            .collect();
        let unit = match self.unit {
            Unit::Time => "ns",
            Unit::Bytes => "bytes",
            Unit::Times => "1",
        };
        json!({
            "work": self.work,
            "unit": unit,
            "figures": figures,
            "ratio_to_limit": self.ratio,
            "target": self.target.as_ref().map(|target| &target.text),
            "reached": self.target.as_ref().map(|target| target.is_reached),
        })
    }
}

/// All lines, and what they were measured on.
pub fn json(machine: &str, rows: &[Row]) -> Value {
    json!({ "machine": machine, "rows": rows.iter().map(Row::json).collect::<Vec<_>>() })
}

/// The table, and below it every figure with its spread.
pub fn markdown(machine: &str, rows: &[Row]) -> String {
    let mut page = format!("{machine}\n\n");
    page += "| work | ours | limit | best peer | ours / limit | ours / peer | target | reached |\n";
    page += "| --- | --- | --- | --- | --- | --- | --- | --- |\n";
    for row in rows {
        let ours = row.ours();
        let named = |figure: &Figure| format!("{} ({})", row.unit.show(figure.median), figure.name);
        let dash = || "–".to_owned();
        let over_peer = row.best_peer().map(|peer| format!("{:.2}", ours.median / peer.median));
        let reached = row.target.as_ref().map(|target| if target.is_reached { "yes" } else { "**no**" });
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            row.work,
            row.unit.show(ours.median),
            row.limit().map_or_else(dash, named),
            row.best_peer().map_or_else(dash, named),
            row.ratio.map_or_else(dash, |ratio| format!("{ratio:.2}")),
            over_peer.unwrap_or_else(dash),
            row.target.as_ref().map_or_else(dash, |target| target.text.clone()),
            reached.unwrap_or("–"),
        );
    }
    page += "\nEvery figure, as median (least to greatest of the rounds):\n\n| work | who | figure |\n| --- | --- | --- |\n";
    for row in rows {
        for figure in &row.figures {
            let show = |value| row.unit.show(value);
            let spread = if figure.least < figure.most {
                format!(" ({} to {})", show(figure.least), show(figure.most))
            } else {
                String::new()
            };
            let _ = writeln!(page, "| {} | {} | {}{spread} |", row.work, figure.name, show(figure.median));
        }
    }
    page
}
