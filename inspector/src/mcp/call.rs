//! A call of a tool: a run that is followed until it has ended or needs what the client cannot give.

use graphweft::{Engine, Outcome, Question, Run};
use rmcp::RoleServer;
use rmcp::model::{
    CallToolResponse, ClientResult, ContentBlock, ElicitRequest, ElicitResult, InputRequest, InputRequiredResult,
    InputResponses, ProtocolVersion, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext, ServiceError};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::answers::{Answered, Recorded, answer, closed, elsewhere, not_taken};
use super::form::{Filled, Form};
use super::late::Late;
use super::outcome;
use super::progress::Progress;

/// How many answers to one question may be unusable before the call returns.
const ATTEMPTS: u32 = 3;

/// How a client asks a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asks {
    /// By a request during the call.
    ByRequest,
    /// By the result of the call, which the client repeats with the answers: since version 2026-07-28, where servers send no requests.
    ByResult,
    /// It cannot.
    Not,
}

impl Asks {
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        let forms = context.client_capabilities().and_then(|client| client.elicitation);
        // One that names no kind can show forms.
        let shows_forms = forms.is_some_and(|forms| forms.form.is_some() || forms.url.is_none());
        let is_recent =
            context.protocol_version().is_some_and(|it| it.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
        match (shows_forms, is_recent) {
            (false, _) => Asks::Not,
            (true, false) => Asks::ByRequest,
            (true, true) => Asks::ByResult,
        }
    }
}

/// A call that is under way.
pub(super) struct Call<'c> {
    pub(super) engine: &'c Engine,
    pub(super) context: &'c RequestContext<RoleServer>,
    /// Cancelled when the client has closed its stream.
    pub(super) gone: &'c CancellationToken,
    pub(super) asks: Asks,
}

/// What has become of a question that was shown to a person.
enum Shown {
    Filled(Filled),
    /// It was answered elsewhere.
    Closed,
    /// The client does not want the result any more.
    CutOff,
    /// The client cannot show it.
    Failed(ServiceError),
}

/// What the answers were with which a client repeats a call.
#[derive(Default)]
struct Taken {
    /// What was wrong with one.
    rejected: Option<String>,
    /// Which ones were not taken, since there is another answer.
    notes: Vec<String>,
    /// The questions that are open since the person declines.
    declined: Option<Vec<Question>>,
}

impl Call<'_> {
    /// Follows a run to the result of the call.
    ///
    /// # Errors
    /// What has failed. The run is not changed by that.
    pub(super) async fn follow(
        &self,
        run: &Run<Value>,
        answers: Option<InputResponses>,
    ) -> Result<CallToolResponse, String> {
        let mut attempts = 0;
        let Taken { rejected: mut problem, mut notes, declined } = match answers {
            Some(answers) => self.take(run, answers).await?,
            None => Taken::default(),
        };
        if let Some(open) = declined {
            return Ok(result(run, &Outcome::Waiting(open), notes));
        }
        let mut progress = Progress::of(run, self.context);
        loop {
            let outcome = tokio::select! {
                outcome = run.outcome() => outcome.map_err(|error| self.failed(run, &error))?,
                never = progress.follow() => match never {},
                () = self.cut_off() => return Err(self.left(run)),
            };
            progress.flush().await;
            let question = match &outcome {
                Outcome::Waiting(questions) if attempts < ATTEMPTS => questions.first(),
                _ => None,
            };
            let Some(question) = question.filter(|_| self.asks != Asks::Not) else {
                return Ok(result(run, &outcome, notes));
            };
            if self.asks == Asks::ByResult {
                let form = Form::of(&question.schema).ask(question, problem.as_deref());
                let asked = [(question.id.clone(), InputRequest::Elicitation(ElicitRequest::new(form)))].into();
                return Ok(InputRequiredResult::new(Some(asked), Some(run.id().to_owned())).into());
            }
            let asking = run.last().await.map_err(|error| self.failed(run, &error))?;
            let shown = tokio::select! {
                shown = self.show(&asking, question, problem.take()) => shown.map_err(|error| self.failed(run, &error))?,
                never = progress.follow() => match never {},
            };
            let given = match shown {
                Shown::Filled(Filled::Answer(given)) => given,
                Shown::Filled(Filled::Unusable(why)) => {
                    attempts += 1;
                    problem = Some(why);
                    continue;
                }
                Shown::Filled(Filled::Declined) => return Ok(result(run, &outcome, notes)),
                Shown::Closed => {
                    notes.push(elsewhere(&question.id, self.recorded(&asking, &question.id).await?.as_ref()));
                    continue;
                }
                Shown::CutOff => return Err(self.left(run)),
                Shown::Failed(error) => {
                    tracing::debug!(run = run.id(), %error, "a client has not shown a question");
                    return Ok(result(run, &outcome, notes));
                }
            };
            let answered = answer(self.engine, &asking, &question.id, given, self.client()).await;
            match answered.map_err(|error| self.failed(run, &error))? {
                Answered::Recorded => attempts = 0,
                Answered::NotTaken(why) => {
                    attempts = 0;
                    notes.push(why);
                }
                Answered::Rejected(why) => {
                    attempts += 1;
                    problem = Some(why);
                }
            }
        }
    }

    /// Takes the answers with which a client repeats a call.
    async fn take(&self, run: &Run<Value>, answers: InputResponses) -> Result<Taken, String> {
        let asking = run.last().await.map_err(|error| self.failed(run, &error))?;
        let mut taken = Taken::default();
        for (id, answered) in answers {
            let open = asking.questions().await.map_err(|error| self.failed(run, &error))?;
            let Some(question) = open.iter().find(|question| question.id == id) else {
                taken.notes.extend(self.compare(&asking, &id, answered).await?);
                continue;
            };
            let filled = match serde_json::from_value::<ElicitResult>(answered) {
                Ok(result) => Form::of(&question.schema).read(result),
                Err(error) => Filled::Unusable(format!("this is not the result of an elicitation: {error}")),
            };
            match filled {
                Filled::Answer(given) => {
                    let answered = answer(self.engine, &asking, &id, given, self.client()).await;
                    match answered.map_err(|error| self.failed(run, &error))? {
                        Answered::Recorded => {}
                        Answered::NotTaken(why) => taken.notes.push(why),
                        Answered::Rejected(why) => taken.rejected = Some(why),
                    }
                }
                Filled::Unusable(why) => taken.rejected = Some(why),
                Filled::Declined => {
                    taken.declined = Some(open);
                    break;
                }
            }
        }
        Ok(taken)
    }

    /// Compares an answer to a question that is not open any more with the one that is recorded. What to say if it is another one.
    async fn compare(&self, asking: &Run<Value>, question: &str, answered: Value) -> Result<Option<String>, String> {
        let Ok(result) = serde_json::from_value::<ElicitResult>(answered) else { return Ok(None) };
        let recorded = self.recorded(asking, question).await?;
        let given = match recorded.as_ref().map(|recorded| Form::of(&recorded.schema).read(result)) {
            Some(Filled::Declined) => return Ok(None),
            Some(Filled::Answer(given)) => Some(given),
            Some(Filled::Unusable(_)) | None => None,
        };
        let is_the_same = recorded.as_ref().is_some_and(|recorded| Some(&recorded.answer) == given.as_ref());
        Ok((!is_the_same).then(|| not_taken(question, recorded.as_ref())))
    }

    async fn recorded(&self, asking: &Run<Value>, question: &str) -> Result<Option<Recorded>, String> {
        let recorded = Recorded::of(self.engine, asking, question).await;
        recorded.map_err(|error| self.failed(asking, &error))
    }

    /// Shows a question to a person by a request, as long as it is open.
    async fn show(
        &self,
        asking: &Run<Value>,
        question: &Question,
        problem: Option<String>,
    ) -> Result<Shown, graphweft::store::StoreError> {
        let form = Form::of(&question.schema);
        let request = ServerRequest::ElicitRequest(ElicitRequest::new(form.ask(question, problem.as_deref())));
        let sent = self.context.peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
        let mut asked = match sent {
            Ok(asked) => asked,
            Err(error) => return Ok(Shown::Failed(error)),
        };
        let response = tokio::select! {
            response = &mut asked.rx => response,
            closed = closed(asking, &question.id) => {
                closed?;
                // A client that is gone does not show it any more.
                _ = asked.cancel(Some("the question was answered elsewhere".to_owned())).await;
                return Ok(Shown::Closed);
            }
            () = self.cut_off() => {
                let late = Late {
                    engine: self.engine.clone(),
                    asking: asking.clone(),
                    question: question.id.clone(),
                    form,
                    by: self.client(),
                    gone: self.gone.clone(),
                };
                late.withdraw(asked).await;
                return Ok(Shown::CutOff);
            }
        };
        Ok(match response {
            Ok(Ok(ClientResult::ElicitResult(result))) => Shown::Filled(form.read(result)),
            Ok(Ok(_)) => Shown::Failed(ServiceError::UnexpectedResponse),
            Ok(Err(error)) => Shown::Failed(error),
            Err(_) => Shown::Failed(ServiceError::TransportClosed),
        })
    }

    /// Waits until the client does not want the result any more.
    async fn cut_off(&self) {
        tokio::select! {
            () = self.context.ct.cancelled() => {}
            () = self.gone.cancelled() => {}
        }
    }

    /// The name of the client, for the record of an answer.
    pub(super) fn client(&self) -> Option<String> {
        let client = self.context.client_info()?;
        Some(format!("{} (MCP)", crate::problem::shown(&client.name)))
    }

    fn failed(&self, run: &Run<Value>, error: &dyn std::error::Error) -> String {
        format!("run `{}`: {error}", run.id())
    }

    fn left(&self, run: &Run<Value>) -> String {
        format!("the call was cancelled; run `{0}` continues, and a call with the `run_id` `{0}` finds it", run.id())
    }
}

/// The result of a call, with what has become of answers.
fn result(run: &Run<Value>, outcome: &Outcome<Value>, notes: Vec<String>) -> CallToolResponse {
    let mut result = outcome::result(run.id(), outcome);
    result.content.extend(notes.into_iter().map(ContentBlock::text));
    result.into()
}
