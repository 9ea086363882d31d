//! Bodies: read whole before anybody looks at them, within a size, a time and a pool.
//!
//! So no handler waits for a client that sends byte by byte, and what all clients together have
//! sent of their requests stays bounded: a small body costs its connection alone, what is beyond
//! takes from a pool in which each source has a share. A body is scanned before it is parsed, and
//! what its parsed form may take is paid for, too: until nothing of the request is there any more.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::{CONTENT_LENGTH, EXPECT, HeaderMap};
use chat_core::Address;
use tokio::time::timeout;

use super::held::Paid;
use super::refused::Fault;
use super::scan::cost;
use crate::capacity::{Capacity, Held};

/// What a body, and what is parsed of it, may have without taking from the pool.
pub(super) const SMALL: usize = 16 * 1_024;

/// How many times the limit is read and thrown away of a body that is too large: a client hears
/// why it is refused only if it may finish what it says.
const PATIENCE: usize = 8;

/// How long that may take.
const PATIENCE_TIME: Duration = Duration::from_secs(2);

/// How large bodies may be, and how long they may take.
#[derive(Clone, Debug)]
pub(super) struct Bodies {
    limit: usize,
    within: Duration,
    capacity: Arc<Capacity>,
}

/// A body, and what its request paid with, if it is not small.
type Read = (Bytes, Option<Paid>);

impl Bodies {
    pub(super) fn new(limit: usize, within: Duration, capacity: Arc<Capacity>) -> Self {
        Self {
            limit,
            within,
            capacity,
        }
    }

    /// Reads a body of this source whole, and bounds what can be parsed of it.
    pub(super) async fn read(
        &self,
        headers: &HeaderMap,
        body: Body,
        source: Address,
    ) -> Result<Read, Fault> {
        let mut held = self.capacity.bodies.nothing(source);
        let body = self.whole(headers, body, &mut held).await?;
        self.pay(&mut held, cost(&body)?)?;
        let paid = (held.amount() > 0).then(|| Paid::with(held));
        Ok((body, paid))
    }

    async fn whole(
        &self,
        headers: &HeaderMap,
        mut body: Body,
        held: &mut Held,
    ) -> Result<Bytes, Fault> {
        if body.is_end_stream() {
            return Ok(Bytes::new());
        }
        let too_large = Fault::BodyTooLarge { limit: self.limit };
        if declared(headers).is_some_and(|length| length > self.limit) {
            // One that asks first has not begun to send.
            if !headers.contains_key(EXPECT) {
                self.discard(&mut body).await;
            }
            return Err(too_large);
        }
        let read = match timeout(self.within, self.collect(&mut body, held)).await {
            Ok(read) => read,
            Err(_) => Err(Fault::BodyTooSlow {
                seconds: self.within.as_secs(),
            }),
        };
        if read.as_ref() == Err(&too_large) {
            self.discard(&mut body).await;
        }
        read
    }

    async fn collect(&self, body: &mut Body, held: &mut Held) -> Result<Bytes, Fault> {
        let Some(first) = next(body).await? else {
            return Ok(Bytes::new());
        };
        self.check(first.len())?;
        if body.is_end_stream() {
            return Ok(first);
        }
        let mut whole = Vec::from(first);
        while let Some(more) = next(body).await? {
            self.check(whole.len() + more.len())?;
            self.pay(held, whole.len() + more.len())?;
            whole.extend_from_slice(&more);
        }
        Ok(whole.into())
    }

    /// Pays for so many bytes. Nothing large is taken while memory is short.
    fn pay(&self, held: &mut Held, bytes: usize) -> Result<(), Fault> {
        let beyond = bytes.saturating_sub(SMALL) as u64;
        if beyond > 0 {
            self.capacity.memory.check().map_err(Fault::Full)?;
        }
        held.grow(beyond).map_err(|full| Fault::Full(full.into()))
    }

    fn check(&self, length: usize) -> Result<(), Fault> {
        if length > self.limit {
            return Err(Fault::BodyTooLarge { limit: self.limit });
        }
        Ok(())
    }

    /// Reads on and keeps nothing.
    async fn discard(&self, body: &mut Body) {
        let most = self.limit.saturating_mul(PATIENCE);
        let read_on = async {
            let mut seen = 0;
            while let Ok(Some(more)) = next(body).await {
                seen += more.len();
                if seen > most {
                    break;
                }
            }
        };
        // Whoever has not finished by then is cut off.
        let _ = timeout(PATIENCE_TIME, read_on).await;
    }
}

fn declared(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// The body's next data; none at its end.
async fn next(body: &mut Body) -> Result<Option<Bytes>, Fault> {
    loop {
        let frame = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await;
        match frame {
            None => return Ok(None),
            Some(Err(_)) => return Err(Fault::BodyBroken),
            Some(Ok(frame)) => {
                // Trailers say nothing here.
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;
    use crate::capacity::{Limits, Share};

    /// What a body without values takes besides its bytes.
    const VALUE: usize = 256;

    fn chunks(count: usize, size: usize) -> Body {
        let chunk = move |_| Ok::<_, std::convert::Infallible>(Bytes::from(vec![b'x'; size]));
        Body::from_stream(stream::iter((0..count).map(chunk)))
    }

    fn bodies(limit: usize, bytes: Share) -> Bodies {
        let limits = Limits {
            bodies: bytes,
            ..Limits::default()
        };
        let capacity = Arc::new(Capacity::new(&limits));
        Bodies::new(limit, Duration::from_secs(30), capacity)
    }

    async fn read(bodies: &Bodies, body: Body, source: u64) -> Result<Read, Fault> {
        let none = HeaderMap::new();
        bodies.read(&none, body, Address(source)).await
    }

    const PLENTY: Share = Share::of(64 << 20, 4);

    #[tokio::test]
    async fn a_body_is_read_whole_up_to_its_limit() {
        let bodies = bodies(100, PLENTY);
        let length = async |body| Ok(read(&bodies, body, 1).await?.0.len());
        assert_eq!(length(chunks(10, 10)).await, Ok(100));
        let too_large = Err(Fault::BodyTooLarge { limit: 100 });
        assert_eq!(length(chunks(11, 10)).await, too_large);
        assert_eq!(length(Body::empty()).await, Ok(0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stands_still_is_given_up() {
        let never = stream::pending::<Result<Bytes, std::convert::Infallible>>();
        let read = read(&bodies(100, PLENTY), Body::from_stream(never), 1).await;
        assert_eq!(read.unwrap_err(), Fault::BodyTooSlow { seconds: 30 });
    }

    #[tokio::test]
    async fn large_bodies_share_a_pool_for_as_long_as_their_requests_last() {
        let bodies = bodies(
            1 << 20,
            Share {
                all: 10_000,
                each: 6_000,
            },
        );
        let held = || bodies.capacity.bodies.held();
        let large = |size| chunks(4, size / 4);
        let (_, small) = read(&bodies, large(SMALL - VALUE), 1).await.unwrap();
        assert_eq!((small.is_some(), held()), (false, 0));
        let (_, first) = read(&bodies, large(SMALL - VALUE + 4_000), 1)
            .await
            .unwrap();
        assert_eq!(held(), 4_000);
        let full = read(&bodies, large(SMALL - VALUE + 4_000), 1).await;
        assert!(matches!(full, Err(Fault::Full(_))), "{full:?}");
        let (_, other) = read(&bodies, large(SMALL - VALUE + 5_000), 2)
            .await
            .unwrap();
        assert_eq!(held(), 9_000);
        let copy = first.clone();
        drop((first, other));
        assert_eq!(held(), 4_000, "a copy of the request is there");
        drop(copy);
        assert_eq!(held(), 0);
    }

    #[tokio::test]
    async fn what_is_parsed_is_paid_for_as_well() {
        let bodies = bodies(1 << 20, PLENTY);
        let list = format!("[{}1]", "1,".repeat(1_000));
        let (_, paid) = read(&bodies, Body::from(list), 1).await.unwrap();
        assert!(paid.is_some() && bodies.capacity.bodies.held() > 200_000);
    }

    #[tokio::test]
    async fn nothing_large_is_taken_while_memory_is_short() {
        let limits = Limits {
            memory: Some(1),
            ..Limits::default()
        };
        let capacity = Arc::new(Capacity::new(&limits));
        capacity.memory.measured(2);
        let bodies = Bodies::new(1 << 20, Duration::from_secs(30), capacity);
        assert!(read(&bodies, chunks(1, 100), 1).await.is_ok());
        let full = read(&bodies, chunks(2, SMALL), 1).await;
        assert!(matches!(full, Err(Fault::Full(_))), "{full:?}");
    }
}
