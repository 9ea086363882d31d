//! Calls of tools: progress while they wait, and cancellation when their client is gone.

use std::pin::pin;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ContentBlock, ErrorCode, ErrorData,
    ProgressNotificationParam,
};
use rmcp::service::RequestContext;
use serde_json::{Map, Value};
use server_chat::render_text;
use server_chat::service::CallOutcome;
use server_chat::tools::Tool;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::handler::{Chat, McpOrigin};
use super::listing;

impl Chat {
    /// Calls a tool of the chat.
    pub(super) async fn call(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let tool = listing::offered(&self.tools, &request.name)?;
        let from = self.origin_of(&context.extensions);
        let arguments = request.arguments.unwrap_or_default();
        let outcome = self.perform(tool, arguments, &from, context).await?;
        if let Some(session) = &from.session {
            self.follow(&outcome, session);
        }
        let json = outcome.json();
        let text = render_text::text(&outcome, &json);
        self.service.node().metrics().sent_to_model(text.len());
        Ok(result(&outcome, &json, text))
    }

    /// Makes a call, and waits for the answer as long as the client does. An answer that is dropped
    /// does not count as delivered: the next bare `check` repeats its events.
    async fn perform(
        &self,
        tool: Tool,
        arguments: Map<String, Value>,
        from: &McpOrigin,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallOutcome, ErrorData> {
        let mut performing = pin!(self.service.perform(tool, arguments, &from.origin));
        let token = context.meta.get_progress_token();
        let began = Instant::now();
        let mut ticks = interval_at(began + self.progress_every, self.progress_every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                outcome = &mut performing => return Ok(outcome),
                () = context.ct.cancelled() => return Err(given_up()),
                () = from.gone() => return Err(given_up()),
                _ = ticks.tick(), if token.is_some() => {}
            }
            let Some(token) = token.clone() else {
                continue;
            };
            let waited = ProgressNotificationParam::new(token, began.elapsed().as_secs_f64());
            let waited = waited.with_message("waiting");
            tokio::select! {
                biased;
                outcome = &mut performing => return Ok(outcome),
                // A client that cannot receive progress will not receive the answer either; the
                // call ends with the connection.
                _ = context.peer.notify_progress(waited) => {}
            }
        }
    }

    /// Counts a call of this participant in its session.
    fn follow(&self, outcome: &CallOutcome, session: &super::session::Session) {
        if let (Ok(_), Some(handle)) = (&outcome.result, &outcome.caller) {
            let reader = self.service.secrets().reader_of(handle);
            session.follows.called(&reader, handle);
        }
    }
}

/// The result in the protocol's format, with this text beside it.
fn result(outcome: &CallOutcome, json: &Value, text: String) -> CallToolResult {
    let text = vec![ContentBlock::text(text)];
    let mut result = match outcome.result {
        Ok(_) => CallToolResult::success(text),
        Err(_) => CallToolResult::error(text),
    };
    result.structured_content = Some(render_text::structured(outcome, json));
    result
}

/// The answer of a cancelled call, which is not sent.
fn given_up() -> ErrorData {
    ErrorData::new(
        ErrorCode::INTERNAL_ERROR,
        "the request was cancelled, or its connection closed",
        None,
    )
}
