//! What is asked of a run whose retry, or which as a fork, was requested by a process that does not know its workflow, before
//! another process carries that out.

use serde_json::{Value, json};

use super::behaviour;
use super::life::Life;
use super::processes::Driving;
use crate::engine::{CancelError, Run};
use crate::question::AnswerError;
use crate::schema;
use crate::store::StoreError;

impl Life<'_> {
    /// Has the process with the workflow carry out the request, maybe after more was asked of the run.
    pub(super) async fn is_requested(
        &self,
        driving: &Driving,
        requester: &Driving,
        id: &str,
    ) -> Result<Result<Run<Value>, StoreError>, String> {
        match self.asks_more(requester, id).await? {
            Ok(()) => self.recovers(&driving.engine, id).await,
            Err(error) => Ok(Err(error)),
        }
    }

    /// Sends signals to the run, answers its questions, and may cancel it.
    async fn asks_more(&self, requester: &Driving, id: &str) -> Result<Result<(), StoreError>, String> {
        let drawn = |what: &str| behaviour::drawn(self.scenario.chance, id, what);
        if self.scenario.waits() && drawn("signals before the retry").in_percent(50) {
            for signal in self.early_signals() {
                if let Err(error) = self.sends(requester, id, &signal).await? {
                    return Ok(Err(error));
                }
            }
        }
        // Without schemas only a process with the workflow can answer.
        if schema::IS_CHECKED
            && drawn("answers before the retry").in_percent(40)
            && let Err(error) = self.answers_early(requester, id).await?
        {
            return Ok(Err(error));
        }
        if !drawn("cancelled before the retry").in_percent(8) {
            return Ok(Ok(()));
        }
        match requester.engine.cancel(id).await {
            Ok(()) => Ok(Ok(())),
            Err(CancelError::Store(error)) => Ok(Err(error)),
            Err(unknown) => Err(unknown.to_string()),
        }
    }

    /// Answers the questions that are open by the records before the request.
    async fn answers_early(&self, requester: &Driving, id: &str) -> Result<Result<(), StoreError>, String> {
        let asked = async {
            match requester.engine.get_run(id).await? {
                Some(run) => run.questions().await,
                None => Ok(Vec::new()),
            }
        };
        let questions = match asked.await {
            Ok(questions) => questions,
            Err(error) => return Ok(Err(error)),
        };
        for question in questions {
            let right = json!(behaviour::answer(&question.id));
            match requester.engine.answer(id, &question.id, right).await {
                // Its node reads it once the request is carried out, if it still asks.
                Ok(())
                | Err(
                    AnswerError::Unread { .. } | AnswerError::Withdrawn { .. } | AnswerError::AlreadyAnswered { .. },
                ) => {}
                Err(AnswerError::Store(error)) => return Ok(Err(error)),
                Err(other) => return Err(format!("an early answer to `{}` was refused: {other}", question.id)),
            }
        }
        Ok(Ok(()))
    }
}
