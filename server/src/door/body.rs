//! Bodies: read whole before anybody looks at them, within a size, a time and a budget.
//!
//! So no handler waits for a client that sends byte by byte, and what all clients together have
//! sent of their requests stays bounded: a small body costs its connection alone, what is beyond
//! takes from a budget that all share.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::{CONTENT_LENGTH, EXPECT, HeaderMap};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::refused::Fault;

/// What a body may have without taking from the budget.
const SMALL: usize = 16 * 1_024;

/// What all larger bodies together may have, in units.
const BUDGET: usize = 64 * 1_024;

/// A unit of the budget, in bytes.
const UNIT: usize = 1_024;

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
    budget: Arc<Semaphore>,
}

impl Bodies {
    pub(super) fn new(limit: usize, within: Duration) -> Self {
        Self {
            limit,
            within,
            budget: Arc::new(Semaphore::new(BUDGET.max(limit.div_ceil(UNIT)))),
        }
    }

    /// Reads a body whole.
    pub(super) async fn read(&self, headers: &HeaderMap, mut body: Body) -> Result<Bytes, Fault> {
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
        let read = match timeout(self.within, self.collect(&mut body)).await {
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

    async fn collect(&self, body: &mut Body) -> Result<Bytes, Fault> {
        let Some(first) = next(body).await? else {
            return Ok(Bytes::new());
        };
        self.check(first.len())?;
        if body.is_end_stream() {
            return Ok(first);
        }
        let mut taken = Taken::default();
        let mut whole = Vec::from(first);
        while let Some(more) = next(body).await? {
            self.check(whole.len() + more.len())?;
            taken.up_to(whole.len() + more.len(), &self.budget)?;
            whole.extend_from_slice(&more);
        }
        Ok(whole.into())
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

/// What one body has taken from the budget. It goes back when the body is read.
#[derive(Debug, Default)]
struct Taken(Vec<OwnedSemaphorePermit>);

impl Taken {
    fn up_to(&mut self, length: usize, budget: &Arc<Semaphore>) -> Result<(), Fault> {
        let held: usize = self.0.iter().map(OwnedSemaphorePermit::num_permits).sum();
        let needed = length.saturating_sub(SMALL).div_ceil(UNIT);
        let missing = u32::try_from(needed.saturating_sub(held)).map_err(|_| Fault::Overloaded)?;
        if missing == 0 {
            return Ok(());
        }
        let permit = Arc::clone(budget)
            .try_acquire_many_owned(missing)
            .map_err(|_| Fault::Overloaded)?;
        match self.0.last_mut() {
            Some(all) => all.merge(permit),
            None => self.0.push(permit),
        }
        Ok(())
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

    fn chunks(count: usize, size: usize) -> Body {
        let chunk = move |_| Ok::<_, std::convert::Infallible>(Bytes::from(vec![b'x'; size]));
        Body::from_stream(stream::iter((0..count).map(chunk)))
    }

    #[tokio::test]
    async fn a_body_is_read_whole_up_to_its_limit() {
        let bodies = Bodies::new(100, Duration::from_secs(30));
        let none = HeaderMap::new();
        let read = bodies.read(&none, chunks(10, 10)).await;
        assert_eq!(read.map(|bytes| bytes.len()), Ok(100));
        let read = bodies.read(&none, chunks(11, 10)).await;
        assert_eq!(read, Err(Fault::BodyTooLarge { limit: 100 }));
        assert_eq!(bodies.read(&none, Body::empty()).await, Ok(Bytes::new()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stands_still_is_given_up() {
        let bodies = Bodies::new(100, Duration::from_secs(30));
        let never = stream::pending::<Result<Bytes, std::convert::Infallible>>();
        let read = bodies
            .read(&HeaderMap::new(), Body::from_stream(never))
            .await;
        assert_eq!(read, Err(Fault::BodyTooSlow { seconds: 30 }));
    }

    #[tokio::test]
    async fn large_bodies_share_a_budget_and_give_it_back() {
        let budget = Arc::new(Semaphore::new(10));
        let (mut one, mut other) = (Taken::default(), Taken::default());
        assert_eq!(one.up_to(SMALL, &budget), Ok(()));
        assert_eq!(one.up_to(SMALL + 4 * UNIT, &budget), Ok(()));
        assert_eq!(one.up_to(SMALL + 8 * UNIT, &budget), Ok(()));
        assert_eq!(budget.available_permits(), 2);
        assert_eq!(
            other.up_to(SMALL + 3 * UNIT, &budget),
            Err(Fault::Overloaded)
        );
        drop(one);
        assert_eq!(other.up_to(SMALL + 3 * UNIT, &budget), Ok(()));
    }
}
