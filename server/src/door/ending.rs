//! Answers that end with their caller's right to them: a call that waits, and a stream that is open,
//! stop when the token behind them is revoked.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::response::{IntoResponse as _, Response};
use hyper::body::{Frame, SizeHint};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::refused::{Fault, Refused};

/// The answer, unless `ended` is cancelled before it is there; and its body until then.
pub(super) async fn unless(
    ended: CancellationToken,
    answer: impl Future<Output = Response>,
) -> Response {
    let response = tokio::select! {
        biased;
        response = answer => response,
        () = ended.cancelled() => return Refused::from(Fault::TokenUnknown).into_response(),
    };
    // What is whole already is sent as it is.
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    response.map(|body| {
        Body::new(Ending {
            body,
            ended: Box::pin(ended.cancelled_owned()),
        })
    })
}

/// A body that comes to its end when the token is cancelled.
struct Ending {
    body: Body,
    ended: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl HttpBody for Ending {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.ended.as_mut().poll(context).is_ready() {
            // What feeds it is told that nobody reads any more.
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
