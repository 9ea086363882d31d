//! Ends answers when their caller loses its permission: a waiting call and an open stream end when
//! their token is revoked, or when their address is banned.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::response::{IntoResponse as _, Response};
use chat_core::{Address, Reject};
use hyper::body::{Frame, SizeHint};
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
            service.banned_addresses().until_banned(address),
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
    let ended = Box::pin(end());
    response.map(|body| Body::new(Ending { body, ended }))
}

/// A body that ends when its reader loses its permission.
struct Ending<E> {
    body: Body,
    ended: Pin<Box<E>>,
}

impl<E: Future> HttpBody for Ending<E> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.ended.as_mut().poll(context).is_ready() {
            // Dropping the inner body stops its source.
            self.body = Body::empty();
            return Poll::Ready(None);
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
