//! `/healthz` and `/readyz`: whether the process runs, and whether it accepts calls.

use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use serde_json::json;
use server_chat::refusal::Refusal;
use tokio::time::timeout;

use super::Http;
use super::chat::ok;
use super::views::shown;
use crate::guard::{Fault, HttpError};

/// The time limit for the node's answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long the node's answer is cached.
const KEPT: Duration = Duration::from_millis(250);

/// `GET /healthz`: the process answers.
pub(super) async fn healthz() -> Response {
    ok(&json!({ "status": "ok" }))
}

/// `GET /readyz`: the node answers, the journal can be written, and the server is not shutting down.
pub(super) async fn readyz(State(http): State<Http>) -> Result<Response, HttpError> {
    if http.closing.is_cancelled() {
        return Err(Fault::ShuttingDown.into());
    }
    let asked = async {
        let now = http.service.node().now();
        let answer = http
            .service
            .node()
            .look(move |node| node.check_storage(now));
        timeout(PATIENCE, answer).await.ok().flatten()
    };
    match http.views.ready.get(KEPT, asked).await {
        Some(Ok(())) => Ok(ok(&json!({ "status": "ready" }))),
        Some(Err(reject)) => Err(Refusal::from(reject).into()),
        None => Ok(shown(&http, None)),
    }
}
