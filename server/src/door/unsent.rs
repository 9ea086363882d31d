//! Answers on their way: what lies here until its reader takes it is counted against its source.
//!
//! An answer that was made cannot be taken back, since the core counts it as delivered. So its bytes
//! are charged whatever there is, and a source beyond its share makes no further requests until its
//! readers have taken some.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use chat_core::Address;
use hyper::body::{Frame, SizeHint};

use crate::capacity::{Held, Pool};

/// A part of an answer up to this size is not counted: its connection's buffers hold as much.
const SMALL: usize = 4 * 1_024;

/// The body of an answer, each part of which is charged until it is written to its connection.
pub(super) struct Unsent {
    body: Body,
    pool: Pool,
    source: Address,
}

/// A part of an answer, and its charge.
struct Part {
    bytes: Bytes,
    _held: Held,
}

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Unsent {
    /// The same body, charged to this source.
    pub(super) fn charged(body: Body, pool: &Pool, source: Address) -> Body {
        Body::new(Self {
            body,
            pool: pool.clone(),
            source,
        })
    }

    fn charge(&self, bytes: Bytes) -> Bytes {
        if bytes.len() <= SMALL {
            return bytes;
        }
        let held = self.pool.charge(self.source, bytes.len() as u64);
        // The connection keeps it as it is until it is written.
        Bytes::from_owner(Part { bytes, _held: held })
    }
}

impl HttpBody for Unsent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        polled.map_ok(|frame| frame.map_data(|bytes| self.charge(bytes)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;
    use crate::capacity::Capacity;

    #[tokio::test]
    async fn a_large_part_is_charged_until_it_is_gone() {
        let pool = Capacity::default().answers;
        let charged = |size: usize| {
            let body = Body::from(vec![b'x'; size]);
            Unsent::charged(body, &pool, Address(1))
        };
        let body = charged(100_000);
        assert_eq!(body.size_hint().exact(), Some(100_000));
        let whole = body.collect().await.unwrap().to_bytes();
        assert_eq!((whole.len(), pool.held()), (100_000, 100_000));
        let half = whole.slice(50_000..);
        drop(whole);
        assert_eq!(pool.held(), 100_000, "half of it is there");
        drop(half);
        assert_eq!(pool.held(), 0);
        let _small = charged(SMALL).collect().await.unwrap().to_bytes();
        assert_eq!(pool.held(), 0);
    }
}
