//! A call of a tool: a run that is followed until it has ended or needs what the client cannot give.

use graphweft::{Outcome, Question, Run};
use rmcp::RoleServer;
use rmcp::model::{
    CallToolResponse, ClientResult, ElicitRequest, ElicitResult, InputRequest, InputRequiredResult, InputResponses,
    ProtocolVersion, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext, ServiceError};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::answers::{Answered, answer, closed, last};
use super::form::{Filled, Form};
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
    /// The client cannot show it.
    Failed(ServiceError),
}

/// What the answers were with which a client repeats a call.
enum Taken {
    /// What was wrong with one.
    Answers(Option<String>),
    /// The questions that are open since the person declines.
    Declined(Vec<Question>),
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
        let mut problem = None;
        let mut attempts = 0;
        if let Some(answers) = answers {
            match self.take(run, answers).await? {
                Taken::Answers(rejected) => problem = rejected,
                Taken::Declined(open) => return Ok(outcome::result(run.id(), &Outcome::Waiting(open)).into()),
            }
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
                return Ok(outcome::result(run.id(), &outcome).into());
            };
            if self.asks == Asks::ByResult {
                let form = Form::of(&question.schema).ask(question, problem.as_deref());
                let asked = [(question.id.clone(), InputRequest::Elicitation(ElicitRequest::new(form)))].into();
                return Ok(InputRequiredResult::new(Some(asked), Some(run.id().to_owned())).into());
            }
            let asking = last(run).await.map_err(|error| self.failed(run, &error))?;
            let shown = tokio::select! {
                shown = self.show(&asking, question, problem.take()) => shown.map_err(|error| self.failed(run, &error))?,
                never = progress.follow() => match never {},
                () = self.cut_off() => return Err(self.left(run)),
            };
            let given = match shown {
                Shown::Filled(Filled::Answer(given)) => given,
                Shown::Filled(Filled::Unusable(why)) => {
                    attempts += 1;
                    problem = Some(why);
                    continue;
                }
                Shown::Filled(Filled::Declined) => return Ok(outcome::result(run.id(), &outcome).into()),
                Shown::Closed => continue,
                Shown::Failed(error) => {
                    tracing::debug!(run = run.id(), %error, "a client has not shown a question");
                    return Ok(outcome::result(run.id(), &outcome).into());
                }
            };
            let answered = answer(&asking, &question.id, given, self.client()).await;
            match answered.map_err(|error| self.failed(run, &error))? {
                Answered::Closed => attempts = 0,
                Answered::Rejected(why) => {
                    attempts += 1;
                    problem = Some(why);
                }
            }
        }
    }

    /// Takes the answers with which a client repeats a call.
    async fn take(&self, run: &Run<Value>, answers: InputResponses) -> Result<Taken, String> {
        let asking = last(run).await.map_err(|error| self.failed(run, &error))?;
        let mut problem = None;
        for (id, answered) in answers {
            let open = asking.questions().await.map_err(|error| self.failed(run, &error))?;
            let Some(question) = open.iter().find(|question| question.id == id) else { continue };
            let filled = match serde_json::from_value::<ElicitResult>(answered) {
                Ok(result) => Form::of(&question.schema).read(result),
                Err(error) => Filled::Unusable(format!("this is not the result of an elicitation: {error}")),
            };
            match filled {
                Filled::Answer(given) => {
                    let answered = answer(&asking, &id, given, self.client()).await;
                    if let Answered::Rejected(why) = answered.map_err(|error| self.failed(run, &error))? {
                        problem = Some(why);
                    }
                }
                Filled::Unusable(why) => problem = Some(why),
                Filled::Declined => return Ok(Taken::Declined(open)),
            }
        }
        Ok(Taken::Answers(problem))
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
