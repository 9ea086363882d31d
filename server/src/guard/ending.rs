//! Ends answers when their caller loses its permission: a waiting call and an open stream end when
//! their token is revoked, or when their address is banned.

use std::sync::Arc;

use axum::body::{Body, HttpBody as _};
use axum::response::{IntoResponse as _, Response};
use chat_core::{Address, Reject};
use futures_util::StreamExt as _;
use server_chat::refusal::Refusal;
use server_chat::service::Service;
use tokio_util::sync::CancellationToken;

use super::http_error::{Fault, HttpError};

/// Waits until a caller may no longer receive answers, and returns the reason.
async fn of(token: Option<CancellationToken>, banned: impl Future<Output = Arc<str>>) -> HttpError {
    let revoked = async {
        match token {
            Some(token) => token.cancelled().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = revoked => Fault::TokenUnknown.into(),
        reason = banned => Refusal::banned(Reject::Blocked, &reason).into(),
    }
}

/// The answer, unless its caller loses its permission before; a streamed body ends then.
pub(super) async fn unless(
    (token, service, address): (Option<CancellationToken>, &Service, Address),
    answer: impl Future<Output = Response>,
) -> Response {
    let end = || {
        of(
            token.clone(),
            service.node().banned_addresses().until_banned(address),
        )
    };
    let response = tokio::select! {
        biased;
        response = answer => response,
        refused = end() => return refused.into_response(),
    };
    // A complete body is sent as it is.
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    let ended = end();
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(ended)))
}
