//! The server as rmcp sees it.

use std::sync::Arc;

use graphweft::{Engine, Run};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult, ErrorCode,
    Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::answers::{Answered, answer};
use super::brief::brief;
use super::call::{Asks, Call};
use super::tools::{AnswerArguments, Tools, WorkflowTool};
use crate::problem::shown;

/// The id of the run in the `_meta` of a call.
const META_RUN_ID: &str = "graphweft/run_id";

/// The tools of one engine for one client, or for all of an HTTP server.
#[derive(Clone)]
pub(super) struct Door {
    engine: Engine,
    tools: Arc<Tools>,
    /// Cancelled when the client has closed its stream.
    gone: CancellationToken,
}

impl Door {
    pub(super) fn new(engine: Engine, gone: CancellationToken) -> Self {
        let tools = Arc::new(Tools::of(&engine));
        Door { engine, tools, gone }
    }

    fn instructions(&self) -> String {
        format!(
            "Each tool but `{answer}` runs a workflow. Its work is recorded: give `run_id` where a call may be cut off, and \
             repeat the call with the same `run_id` and arguments to get the result. A result with the status `waiting` has \
             the questions that a person has to answer; `{answer}`, if there is this tool, answers one.",
            answer = self.tools.answer_name(),
        )
    }

    /// Starts the run of a call, or finds it.
    async fn start(
        &self,
        tool: &WorkflowTool,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<Run<Value>, String> {
        let (argument, input) = tool.read(request.arguments.unwrap_or_default())?;
        let meta = match context.meta.0.0.get(META_RUN_ID) {
            None => None,
            Some(Value::String(id)) => Some(id.clone()),
            Some(_) => return Err(format!("invalid `_meta`: at `{META_RUN_ID}`: the id of a run is a text")),
        };
        let mut start = self.engine.start_json(&request.name, input);
        // The state is what a call before this one has returned with a question.
        if let Some(id) = request.request_state.or(argument).or(meta) {
            start = start.id(id);
        }
        start.await.map_err(|error| error.to_string())
    }

    /// Answers a question for a client that cannot show forms.
    async fn answer(&self, request: CallToolRequestParams, call: &Call<'_>) -> Result<Run<Value>, String> {
        let AnswerArguments { run, question, answer: given } =
            AnswerArguments::read(request.arguments.unwrap_or_default())?;
        let found = self.engine.get_run(&run).await.map_err(|error| error.to_string())?;
        let found = found.ok_or_else(|| format!("at `run_id`: there is no run `{}`", shown(&run)))?;
        let asking = found.last().await.map_err(|error| error.to_string())?;
        match answer(&self.engine, &asking, &question, given, call.client()).await.map_err(|error| error.to_string())? {
            Answered::Recorded => Ok(found),
            Answered::NotTaken(why) | Answered::Rejected(why) => Err(why),
        }
    }

    async fn carry_out(
        &self,
        mut request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<Result<CallToolResponse, String>, ErrorData> {
        let asks = Asks::of(context);
        let call = Call { engine: &self.engine, context, gone: &self.gone, asks };
        let answers = request.input_responses.take();
        let run = match self.tools.workflow(&request.name) {
            Some(tool) => self.start(tool, request, context).await,
            None if self.tools.is_answer(&request.name) && asks == Asks::Not => self.answer(request, &call).await,
            None => {
                let message =
                    format!("there is no tool `{}`; `tools/list` lists those that there are", shown(&request.name));
                return Err(ErrorData::invalid_params(message, None));
            }
        };
        match run {
            Ok(run) => Ok(call.follow(&run, answers).await),
            Err(why) => Ok(Err(why)),
        }
    }
}

impl ServerHandler for Door {
    fn get_info(&self) -> ServerConfig {
        let about = Implementation::new("graphweft", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(about)
            .with_instructions(self.instructions())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.list(Asks::of(&context) != Asks::Not)))
    }

    /// What does not fit its method comes here as well.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let CustomRequest { method, params, .. } = request;
        if method == "tools/call"
            && let Err(error) = serde_path_to_error::deserialize::<_, CallToolRequestParams>(params.unwrap_or_default())
        {
            let path = error.path().to_string();
            let message = format!("invalid `params` of `tools/call`: at `{}`: {}", shown(&path), error.inner());
            return Err(ErrorData::invalid_params(brief(&message), None));
        }
        let message = format!("there is no method `{}`, or its `params` do not fit it", shown(&method));
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // What the model did wrong is a result, so that it sees it.
        let response = self.carry_out(request, &context).await?;
        Ok(response.unwrap_or_else(|why| CallToolResult::error(vec![ContentBlock::text(brief(&why))]).into()))
    }
}
