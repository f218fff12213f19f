//! What an SPDX expression asks for. Pure: no I/O, nothing of the graph.

use spdx::{Expression, LicenseReq, ParseMode};

use crate::model::Demand;

/// Licences that ask for no more than a notice, although neither OSI nor FSF has them on its list.
const ALSO_PERMISSIVE: [&str; 3] = ["CDLA-Permissive-2.0", "bzip2-1.0.6", "Unicode-DFS-2016"];

/// The least that an expression asks for, over all choices that it leaves; an error says what cannot be judged.
///
/// Old spellings such as `MIT/Apache-2.0` are read as they were meant.
pub(crate) fn demand_of(expression: &str) -> Result<Demand, String> {
    let parsed = Expression::parse_mode(expression, ParseMode::LAX)
        .map_err(|error| format!("`{expression}` is not an SPDX expression: {}", error.reason))?;
    let demands = [Demand::Notice, Demand::OwnFiles, Demand::Library, Demand::Program, Demand::Network];
    let is_met_by = |demand: &Demand| parsed.evaluate(|licence| demand_of_one(licence).is_some_and(|of| of <= *demand));
    demands.into_iter().find(is_met_by).ok_or_else(|| {
        let unjudged = parsed.requirements().filter(|requirement| demand_of_one(&requirement.req).is_none());
        let names: Vec<String> = unjudged.map(|requirement| format!("`{}`", requirement.req)).collect();
        format!("nothing is known of {}", names.join(", "))
    })
}

/// The permissive licences among the choices, where there are others beside them.
pub(crate) fn permissive_choice(expression: &str) -> Option<String> {
    let parsed = Expression::parse_mode(expression, ParseMode::LAX).ok()?;
    let is_permissive = |licence: &LicenseReq| demand_of_one(licence) == Some(Demand::Notice);
    let (permissive, others): (Vec<_>, Vec<_>) =
        parsed.requirements().partition(|requirement| is_permissive(&requirement.req));
    let names: Vec<String> = permissive.iter().map(|requirement| requirement.req.to_string()).collect();
    (!others.is_empty()).then(|| names.join(" or "))
}

fn demand_of_one(licence: &LicenseReq) -> Option<Demand> {
    let id = licence.license.id()?;
    // Exceptions only ever permit more. How much more is for a lawyer, so the licence counts without them.
    if id.is_copyleft() {
        return Some(demand_of_copyleft(id.name));
    }
    let is_free = id.is_osi_approved() || id.is_fsf_free_libre() || ALSO_PERMISSIVE.contains(&id.name);
    is_free.then_some(Demand::Notice)
}

fn demand_of_copyleft(name: &str) -> Demand {
    let starts_with = |family: &[&str]| family.iter().any(|prefix| name.starts_with(prefix));
    match () {
        () if starts_with(&["MPL-", "EPL-", "CDDL-", "CPL-", "IPL-", "SPL-"]) => Demand::OwnFiles,
        () if starts_with(&["LGPL-"]) => Demand::Library,
        // For these, running a service for others is passing the program on.
        () if starts_with(&["AGPL-", "OSL-", "EUPL-", "CPAL-", "SSPL-"]) => Demand::Network,
        // GPL, and whatever copyleft there is beside: the careful guess.
        () => Demand::Program,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissive_licences_demand_a_notice() {
        for expression in
            ["MIT", "Apache-2.0 WITH LLVM-exception", "MIT AND BSD-3-Clause", "CDLA-Permissive-2.0", "Zlib"]
        {
            assert_eq!(demand_of(expression), Ok(Demand::Notice), "{expression}");
        }
    }

    #[test]
    fn the_old_slash_is_a_choice() {
        assert_eq!(demand_of("MIT/Apache-2.0"), Ok(Demand::Notice));
    }

    #[test]
    fn a_choice_asks_for_its_easiest_licence() {
        assert_eq!(demand_of("GPL-3.0-only OR MIT"), Ok(Demand::Notice));
        assert_eq!(permissive_choice("GPL-3.0-only OR MIT").as_deref(), Some("MIT"));
        assert_eq!(permissive_choice("Apache-2.0 OR MIT"), None);
    }

    #[test]
    fn both_of_two_ask_for_the_harder_one() {
        assert_eq!(demand_of("MIT AND MPL-2.0"), Ok(Demand::OwnFiles));
        assert_eq!(demand_of("(MIT OR GPL-2.0-only) AND LGPL-3.0-or-later"), Ok(Demand::Library));
    }

    #[test]
    fn copyleft_reaches_as_far_as_its_family() {
        assert_eq!(demand_of("MPL-2.0"), Ok(Demand::OwnFiles));
        assert_eq!(demand_of("LGPL-2.1-only"), Ok(Demand::Library));
        assert_eq!(demand_of("GPL-2.0-or-later"), Ok(Demand::Program));
        assert_eq!(demand_of("AGPL-3.0-only"), Ok(Demand::Network));
    }

    #[test]
    fn what_cannot_be_judged_is_named() {
        assert_eq!(demand_of("LicenseRef-Ours"), Err("nothing is known of `LicenseRef-Ours`".to_owned()));
        assert_eq!(demand_of("MIT AND BUSL-1.1"), Err("nothing is known of `BUSL-1.1`".to_owned()));
        let refused = demand_of("see the file LICENSE").unwrap_err();
        assert!(refused.starts_with("`see the file LICENSE` is not an SPDX expression: "), "{refused}");
    }
}
