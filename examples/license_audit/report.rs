//! The report: everything in one place, and how it is shown.

use std::time::Duration;

use comfy_table::{ContentArrangement, Table, presets};
use graphweft::prelude::*;

use crate::model::{Finding, Kind, Request};

/// How the audit ends, whichever comes first.
#[value]
#[derive(Debug)]
pub(crate) enum Ending {
    Report(Report),
    OutOfTime(Duration),
}

impl From<Report> for Ending {
    fn from(report: Report) -> Self {
        Ending::Report(report)
    }
}

impl From<Duration> for Ending {
    fn from(time_limit: Duration) -> Self {
        Ending::OutOfTime(time_limit)
    }
}

/// Comes back when the time is up, with the limit; without one, never.
#[node]
pub(crate) async fn time_is_up(request: Request) -> Duration {
    let Some(time_limit) = request.time_limit else { return std::future::pending().await };
    tokio::time::sleep(time_limit).await;
    time_limit
}

/// What the audit found.
#[value]
#[derive(Debug, PartialEq)]
pub(crate) struct Report {
    pub(crate) totals: Totals,
    /// What there is most to do about comes last, where a terminal shows it without scrolling.
    pub(crate) findings: Vec<Finding>,
}

/// How many packages there are of each kind.
#[value]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) permissive: usize,
    pub(crate) copyleft: usize,
    pub(crate) unknown: usize,
}

impl Totals {
    pub(crate) fn of(&self, kind: Kind) -> usize {
        match kind {
            Kind::Permissive => self.permissive,
            Kind::Copyleft => self.copyleft,
            Kind::Unknown => self.unknown,
        }
    }

    fn count(&mut self, kind: Kind) {
        match kind {
            Kind::Permissive => self.permissive += 1,
            Kind::Copyleft => self.copyleft += 1,
            Kind::Unknown => self.unknown += 1,
        }
    }
}

/// Counts and sorts.
#[node]
pub(crate) async fn summarise(mut findings: Vec<Finding>) -> Report {
    findings.sort_by(|a, b| (a.kind, &a.package, &a.version).cmp(&(b.kind, &b.package, &b.version)));
    let mut totals = Totals::default();
    for finding in &findings {
        totals.count(finding.kind);
    }
    Report { totals, findings }
}

impl Report {
    /// For people.
    pub(crate) fn to_table(&self) -> String {
        let mut table = Table::new();
        table
            .load_style(presets::UTF8_FULL_CONDENSED)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_header(["package", "version", "licence", "kind", "note"]);
        for finding in &self.findings {
            let licence = finding.licence.as_deref().unwrap_or("-");
            let kind = finding.kind.to_string();
            table.add_row([&finding.package, &finding.version, licence, &kind, &finding.note]);
        }
        let Totals { permissive, copyleft, unknown } = self.totals;
        let all = self.findings.len();
        format!("{table}\n{all} packages: {permissive} permissive, {copyleft} copyleft, {unknown} unknown\n")
    }

    /// For programs.
    pub(crate) fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self).map(|json| json + "\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(package: &str, kind: Kind) -> Finding {
        Finding { package: package.to_owned(), version: "1.0.0".to_owned(), licence: None, kind, note: String::new() }
    }

    #[tokio::test]
    async fn what_there_is_most_to_do_about_comes_last() {
        let report = summarise(vec![
            finding("odd", Kind::Unknown),
            finding("b", Kind::Permissive),
            finding("gpl", Kind::Copyleft),
            finding("a", Kind::Permissive),
        ])
        .await;

        let order: Vec<&str> = report.findings.iter().map(|finding| finding.package.as_str()).collect();
        assert_eq!(order, ["a", "b", "gpl", "odd"]);
        assert_eq!(report.totals, Totals { permissive: 2, copyleft: 1, unknown: 1 });
    }
}
