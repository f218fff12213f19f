//! What the runs are called: the object of a run has a key beside others of its workflow, and a store has one id for each run.

use std::collections::{BTreeSet, HashMap, VecDeque};

/// How many ids of runs that are gone are known.
const GONE: usize = 100_000;

/// The ids that this store has seen. A run is called by its id; where several workflows have had a run with it, and where it has a `/`,
/// by `workflow/id`. So what is before the first `/` of a name is a workflow, and no name is of two runs.
#[derive(Default)]
pub(super) struct Names {
    /// By their ids, the workflows that have, or have had, a run with it.
    workflows: HashMap<String, BTreeSet<String>>,
    /// The ids of runs that are gone, the oldest first.
    gone: VecDeque<String>,
}

impl Names {
    /// A workflow has a run with this id. Whether runs that were called by it have another name from now on.
    pub(super) fn saw(&mut self, workflow: &str, id: &str) -> bool {
        let Some(workflows) = self.workflows.get_mut(id) else {
            self.workflows.insert(id.to_owned(), BTreeSet::from([workflow.to_owned()]));
            return false;
        };
        !workflows.contains(workflow) && workflows.insert(workflow.to_owned()) && workflows.len() == 2
    }

    pub(super) fn is_gone(&mut self, id: &str) {
        self.gone.push_back(id.to_owned());
        if self.gone.len() > GONE
            && let Some(oldest) = self.gone.pop_front()
            && !self.is_shared(&oldest)
        {
            // If there is one again, it is seen with the next look.
            self.workflows.remove(&oldest);
        }
    }

    fn is_shared(&self, id: &str) -> bool {
        self.workflows.get(id).is_some_and(|workflows| workflows.len() > 1)
    }

    /// What a run is called.
    pub(super) fn name_of(&self, workflow: &str, id: &str) -> String {
        if id.contains('/') || self.is_shared(id) { whole(workflow, id) } else { id.to_owned() }
    }

    /// An error, which has the names of all, if runs of several workflows may be meant.
    pub(super) fn check(&self, name: &str) -> Result<(), String> {
        let Some(workflows) = self.workflows.get(name).filter(|workflows| workflows.len() > 1) else { return Ok(()) };
        let names: Vec<String> = workflows.iter().map(|workflow| format!("`{}`", whole(workflow, name))).collect();
        Err(format!("several workflows have, or have had, a run `{name}`: it is one of {}", names.join(", ")))
    }
}

/// The name that a run always has.
pub(super) fn whole(workflow: &str, id: &str) -> String {
    format!("{workflow}/{id}")
}

#[cfg(test)]
mod tests {
    use super::{GONE, Names};

    #[test]
    fn an_id_of_two_workflows_names_neither_also_when_one_is_gone() {
        let mut names = Names::default();
        assert!(!names.saw("pay", "7") && !names.saw("pay", "7"));
        assert_eq!((names.name_of("pay", "7"), names.check("7")), ("7".to_owned(), Ok(())));
        names.is_gone("7");
        assert!(names.saw("ship", "7") && !names.saw("bill", "7"));
        assert_eq!(names.name_of("ship", "7"), "ship/7");
        let said = names.check("7").unwrap_err();
        assert!(["`bill/7`", "`pay/7`", "`ship/7`"].iter().all(|name| said.contains(name)), "{said}");
    }

    #[test]
    fn a_name_with_a_slash_begins_with_the_workflow() {
        let mut names = Names::default();
        names.saw("pay", "ship/7");
        names.saw("ship", "7");
        assert_eq!((&*names.name_of("pay", "ship/7"), &*names.name_of("ship", "7")), ("pay/ship/7", "7"));
    }

    #[test]
    fn ids_of_runs_that_are_gone_are_known_up_to_a_number() {
        let mut names = Names::default();
        for id in 0..=GONE {
            names.saw("pay", &id.to_string());
            names.is_gone(&id.to_string());
        }
        assert_eq!(names.workflows.len(), GONE);
    }
}
