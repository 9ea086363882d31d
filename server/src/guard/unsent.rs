//! Answers in transit: their bytes are charged to their source until the client has read them.
//!
//! An answer cannot be withdrawn, because the core counts it as delivered. So its bytes are charged
//! even beyond the share, and a source that exceeds its share can make no further requests until
//! its clients have read some. Answers have a rate as well: a source that received too much too
//! fast has to wait for its next answer, or for the next part of a stream. Meanwhile events collect
//! in the inbox, and are sent together.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};

use server_chat::capacity::{Capacity, PART, Reservation, Source};
use tokio::time::{Sleep, sleep};

/// A part up to this size is not charged: the buffers of its connection hold as much.
const SMALL: usize = 4 * 1_024;

/// The body of an answer. Each part is charged until it is written to the connection.
pub(super) struct Unsent {
    body: Body,
    capacity: Arc<Capacity>,
    source: Source,
    /// The amount booked for the next part.
    booked: u64,
    /// The wait for the next part.
    turn: Option<Pin<Box<Sleep>>>,
}

/// A part of an answer with its charge.
struct Part {
    bytes: Bytes,
    _held: Reservation,
}

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Unsent {
    /// Wraps a body, charged to this source.
    pub(super) fn charged(body: Body, capacity: &Arc<Capacity>, source: Source) -> Body {
        Body::new(Self {
            body,
            capacity: Arc::clone(capacity),
            source,
            booked: 0,
            turn: None,
        })
    }

    /// Books the next part, and waits for its turn.
    fn poll_turn(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.booked == 0 {
            // The length of a stream's next part is unknown.
            self.booked = self.body.size_hint().exact().unwrap_or(0) + PART;
            let wait = self.capacity.answered.book(self.source, self.booked);
            self.turn = wait.map(|wait| Box::pin(sleep(wait)));
        }
        if let Some(turn) = &mut self.turn {
            ready!(turn.as_mut().poll(context));
            self.turn = None;
        }
        Poll::Ready(())
    }

    fn charge(&mut self, bytes: Bytes) -> Bytes {
        let length = bytes.len() as u64;
        let more = (length + PART).saturating_sub(std::mem::take(&mut self.booked));
        if more > 0 {
            // The next part waits for the difference.
            let _ = self.capacity.answered.book(self.source, more);
        }
        if bytes.len() <= SMALL {
            return bytes;
        }
        let held = self.capacity.answers.charge(self.source, length);
        // The connection keeps these bytes until they are written.
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
        // The end of the body is not charged.
        if !self.body.is_end_stream() {
            ready!(self.poll_turn(context));
        }
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
    use server_chat::capacity::{Limits, Speed};

    #[tokio::test(start_paused = true)]
    async fn a_source_above_its_share_waits_for_its_answers() {
        let speed = Speed::new(10_000, 20_000);
        let limits = Limits {
            answered: Some(speed),
            ..Limits::default()
        };
        let capacity = Arc::new(Capacity::new(&limits));
        let sent = async |source: u64, size: u64| {
            let body = Body::from(vec![b'x'; usize::try_from(size - PART).unwrap()]);
            let body = Unsent::charged(body, &capacity, Source(source));
            body.collect().await.unwrap().to_bytes().len()
        };
        let began = tokio::time::Instant::now();
        for _ in 0..3 {
            sent(1, 20_000).await;
        }
        assert_eq!(began.elapsed().as_secs(), 4);
        sent(2, 20_000).await;
        assert_eq!(began.elapsed().as_secs(), 4, "others go on");
        sent(1, 10_000).await;
        assert_eq!(began.elapsed().as_secs(), 5);
        assert_eq!(capacity.answered.waited(), 3);
    }

    #[tokio::test]
    async fn a_large_part_is_charged_until_it_is_written() {
        let capacity = Arc::<Capacity>::default();
        let pool = &capacity.answers;
        let charged = |size: usize| {
            let body = Body::from(vec![b'x'; size]);
            Unsent::charged(body, &capacity, Source(1))
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
