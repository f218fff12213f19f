//! The report: everything in one place, and how it is shown.

use comfy_table::{ContentArrangement, Table, presets};
use graphweft::prelude::*;

use crate::model::{Finding, Kind, LeftOut};

/// What the audit found.
#[value]
#[derive(Debug, PartialEq)]
pub(crate) struct Report {
    pub(crate) totals: Totals,
    /// What there is most to do about comes last, where a terminal shows it without scrolling.
    pub(crate) findings: Vec<Finding>,
    /// What was not audited.
    pub(crate) left_out: LeftOut,
}

/// How many packages there are of each kind.
#[value]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) permissive: usize,
    pub(crate) allowed: usize,
    pub(crate) copyleft: usize,
    pub(crate) unknown: usize,
    pub(crate) undecided: usize,
    pub(crate) denied: usize,
}

impl Totals {
    pub(crate) fn of(&self, kind: Kind) -> usize {
        match kind {
            Kind::Permissive => self.permissive,
            Kind::Allowed => self.allowed,
            Kind::Copyleft => self.copyleft,
            Kind::Unknown => self.unknown,
            Kind::Undecided => self.undecided,
            Kind::Denied => self.denied,
        }
    }

    fn count(&mut self, kind: Kind) {
        *match kind {
            Kind::Permissive => &mut self.permissive,
            Kind::Allowed => &mut self.allowed,
            Kind::Copyleft => &mut self.copyleft,
            Kind::Unknown => &mut self.unknown,
            Kind::Undecided => &mut self.undecided,
            Kind::Denied => &mut self.denied,
        } += 1;
    }
}

/// Counts and sorts.
#[node]
pub(crate) async fn summarise(settled: Vec<Vec<Finding>>, left_out: LeftOut) -> Report {
    let mut findings = settled.concat();
    findings.sort_by(|a, b| (a.kind, &a.package, &a.version).cmp(&(b.kind, &b.package, &b.version)));
    let mut totals = Totals::default();
    for finding in &findings {
        totals.count(finding.kind);
    }
    Report { totals, findings, left_out }
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
        let found = Kind::ALL.map(|kind| (self.totals.of(kind), kind)).into_iter().filter(|(found, _)| *found > 0);
        let totals: Vec<String> = found.map(|(found, kind)| format!("{found} {kind}")).collect();
        let left_out = match &self.left_out {
            LeftOut { packages: 1.., .. } => {
                let packages = self.left_out.packages;
                format!("{packages} more not built on this machine; --all-platforms audits them as well\n")
            }
            LeftOut { why_none: Some(why), .. } => {
                format!("these are all packages of the lock file, since it is not known which are built here: {why}\n")
            }
            LeftOut { .. } => String::new(),
        };
        format!("{table}\n{} packages: {}\n{left_out}", self.findings.len(), totals.join(", "))
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
        let report = summarise(
            vec![
                vec![finding("odd", Kind::Unknown), finding("b", Kind::Permissive), finding("gpl", Kind::Copyleft)],
                vec![finding("a", Kind::Permissive), finding("evil", Kind::Denied)],
            ],
            LeftOut::default(),
        )
        .await;

        let order: Vec<&str> = report.findings.iter().map(|finding| finding.package.as_str()).collect();
        assert_eq!(order, ["a", "b", "gpl", "odd", "evil"]);
        assert_eq!(report.totals, Totals { permissive: 2, copyleft: 1, unknown: 1, denied: 1, ..Totals::default() });
    }
}
