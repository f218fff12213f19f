//! Questions to people: one for each licence that cannot be classified.

use std::collections::BTreeMap;
use std::time::Duration;

use graphweft::prelude::*;

use crate::answer::{Answer, Decision};
use crate::model::{Case, Doubt, Finding, Judgement, Kind, Request, Undecided};
use crate::verdict::advice;

/// The packages were not inspected in time.
#[derive(Debug, thiserror::Error)]
#[error("no report within {} s; see --within", .0.as_secs())]
pub(crate) struct OutOfTime(Duration);

/// Fails the audit when the time is up; without a limit it waits until it is not needed any more.
///
/// The limit is for a process at work, which is why this is no `ctx.sleep(..)`: after a restart it counts anew.
#[node]
pub(crate) async fn time_is_up(request: Request) -> Result<Vec<Case>, OutOfTime> {
    let Some(time_limit) = request.time_limit else { return std::future::pending().await };
    tokio::time::sleep(time_limit).await;
    Err(OutOfTime(time_limit))
}

/// What needs no person first, then a case for each undecided licence, in alphabetical order.
#[node]
pub(crate) async fn sort_out(judgements: Vec<Judgement>) -> Vec<Case> {
    let mut clear = Vec::new();
    let mut undecided: BTreeMap<String, Undecided> = BTreeMap::new();
    for judgement in judgements {
        match judgement {
            Judgement::Clear(finding) => clear.push(finding),
            Judgement::Open(doubt) => {
                let id = doubt.licence.clone().unwrap_or_else(|| format!("{}@{}", doubt.package, doubt.version));
                let why = doubt.why.clone();
                let case = undecided.entry(id.clone()).or_insert_with(|| Undecided { id, why, packages: Vec::new() });
                case.packages.push(doubt);
            }
        }
    }
    std::iter::once(Case::Clear(clear)).chain(undecided.into_values().map(Case::Open)).collect()
}

/// Asks whether the packages of a licence may be used.
#[node]
pub(crate) async fn decide(undecided: Undecided, ctx: &Context) -> Vec<Finding> {
    let prompt = format!("May `{}` be used?", undecided.id);
    let answer = ctx.ask::<Answer>("licence", prompt).key(&undecided.id).payload(&undecided).await;
    undecided.packages.into_iter().map(|doubt| settled(doubt, &answer)).collect()
}

fn settled(doubt: Doubt, answer: &Answer) -> Finding {
    let Doubt { package, version, licence, why, texts } = doubt;
    let (kind, otherwise) = match answer.decision {
        Decision::Allow => (Kind::Allowed, "a person has allowed it".to_owned()),
        Decision::Deny => (Kind::Denied, "a person has forbidden it".to_owned()),
        Decision::Leave => (Kind::Undecided, advice(&why, &texts)),
    };
    Finding { package, version, licence, kind, note: answer.reason.clone().unwrap_or(otherwise) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubt(package: &str, licence: Option<&str>) -> Doubt {
        let [package, version, why] = [package, "1.0.0", "it is unknown"].map(str::to_owned);
        Doubt { package, version, licence: licence.map(str::to_owned), why, texts: vec!["a/LICENSE".into()] }
    }

    #[tokio::test]
    async fn a_licence_is_one_case_and_a_package_without_one_a_case_of_its_own() {
        let open = [("b", Some("Ours")), ("a", None), ("c", Some("Ours")), ("d", None)];
        let cases = sort_out(open.map(|(package, licence)| Judgement::Open(doubt(package, licence))).into()).await;

        let asked = cases.iter().filter_map(|case| match case {
            Case::Clear(_) => None,
            Case::Open(undecided) => Some((undecided.id.as_str(), undecided.packages.len())),
        });
        assert_eq!(asked.collect::<Vec<_>>(), [("Ours", 2), ("a@1.0.0", 1), ("d@1.0.0", 1)]);
    }

    #[test]
    fn an_answer_settles_a_package_with_its_reason() {
        let settled = |decision, reason: Option<&str>| {
            let finding = settled(doubt("a", None), &Answer { decision, reason: reason.map(str::to_owned) });
            (finding.kind, finding.note)
        };
        assert_eq!(settled(Decision::Allow, Some("bought")), (Kind::Allowed, "bought".to_owned()));
        assert_eq!(settled(Decision::Deny, None), (Kind::Denied, "a person has forbidden it".to_owned()));
        assert_eq!(settled(Decision::Leave, None), (Kind::Undecided, "it is unknown; read LICENSE".to_owned()));
    }
}
