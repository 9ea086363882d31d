//! Request bodies: read completely before a handler runs, within limits of size, time and a pool.
//!
//! So no handler waits for a slow client, and the total size of requests is bounded. A small body
//! is covered by its connection; the rest of a larger one is taken from a pool in which each source
//! has a share. A body is scanned before it is parsed. The memory of its parsed form is taken from
//! the pool as well, until the request is dropped. The part beyond small bodies has a rate, also
//! while a refused body is discarded. The values of a body count in that rate as in the pool,
//! because parsing them takes longer than reading their bytes.
//!
//! A parsed value takes a hundred times the bytes of its text, so a limit on bytes is not enough.
//! The scan reads the bytes once and stores nothing. It counts separators and opening brackets
//! outside of strings, which is never less than the number of values in valid JSON. The parser
//! refuses invalid JSON later.
//!
//! An answer in transit cannot be withdrawn, because the core counts it as delivered. So its bytes are
//! charged to its source until the client has read them, even beyond the share, and a source that
//! exceeds its share can make no further requests until its clients have read some. Answers have a rate
//! as well: a source that received too much too fast has to wait for its next answer, or for the next
//! part of a stream. Meanwhile events collect in the inbox, and are sent together.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes, HttpBody};
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, EXPECT, HeaderMap};
use futures_util::StreamExt as _;
use hyper::body::{Frame, SizeHint};
use server_chat::capacity::{Capacity, MAX_WAIT, PART, Reservation, Source};
use server_storage::lock;
use tokio::time::{Instant, Sleep, sleep, timeout, timeout_at};

use super::http_error::Fault;

/// The size of a body, including its parsed values, up to which nothing is taken from the pool.
pub const SMALL_BODY: usize = 16 * 1_024;

/// A body that is too large is read and discarded up to this multiple of the limit: a client only
/// receives the refusal if it can finish sending.
const PATIENCE: usize = 8;

/// The time limit for discarding.
const PATIENCE_TIME: Duration = Duration::from_secs(2);

/// The limits of bodies.
#[derive(Clone, Debug)]
pub(super) struct Bodies {
    pub(super) limit: usize,
    pub(super) within: Duration,
    pub(super) capacity: Arc<Capacity>,
}

/// A body, and the amount taken for it, if it is not small.
type Read = (Bytes, Option<RequestCharge>);

impl Bodies {
    /// Reads a whole body of this source, and checks the size of its parsed form.
    pub(super) async fn read(
        &self,
        headers: &HeaderMap,
        body: Body,
        source: Source,
    ) -> Result<Read, Fault> {
        let mut reading = Reading {
            body: body.into_data_stream(),
            source,
            read: 0,
            spent: 0,
            patience: MAX_WAIT,
            held: self.capacity.bodies.nothing(source),
        };
        let body = self.whole(headers, &mut reading).await?;
        let cost = cost(&body)?;
        self.pay(&mut reading.held, cost)?;
        reading.spend(&self.capacity, cost).await?;
        let held = reading.held;
        let paid = (held.amount > 0).then(|| RequestCharge(Arc::new(Mutex::new(held))));
        Ok((body, paid))
    }

    async fn whole(&self, headers: &HeaderMap, reading: &mut Reading) -> Result<Bytes, Fault> {
        if reading.body.is_end_stream() {
            return Ok(Bytes::new());
        }
        let too_large = Fault::BodyTooLarge(self.limit);
        let is_too_large = declared(headers).is_some_and(|length| length > self.limit);
        if is_too_large || is_encoded(headers) {
            // A client that sent `Expect` has not begun to send the body.
            if !headers.contains_key(EXPECT) {
                self.discard(reading).await;
            }
            return Err(match is_too_large {
                true => too_large,
                false => Fault::BodyEncoded,
            });
        }
        let read = self.collect(reading).await;
        if read.as_ref() == Err(&too_large) {
            self.discard(reading).await;
        }
        read
    }

    async fn collect(&self, reading: &mut Reading) -> Result<Bytes, Fault> {
        let mut ends = Instant::now() + self.within;
        let too_slow = Fault::BodyTooSlow(self.within.as_secs());
        let mut whole = Vec::new();
        loop {
            let next = timeout_at(ends, reading.next()).await;
            let Some(more) = next.map_err(|_| too_slow.clone())?? else {
                return Ok(whole.into());
            };
            let length = whole.len() + more.len();
            if length > self.limit {
                return Err(Fault::BodyTooLarge(self.limit));
            }
            // A body in one piece is not copied.
            if whole.is_empty() && reading.body.is_end_stream() {
                self.turn(reading, &mut ends).await?;
                return Ok(more);
            }
            self.pay(&mut reading.held, length)?;
            self.turn(reading, &mut ends).await?;
            whole.extend_from_slice(&more);
        }
    }

    /// Waits until the source may continue. The time limit of the body is extended by the wait.
    async fn turn(&self, reading: &mut Reading, ends: &mut Instant) -> Result<(), Fault> {
        let before = reading.patience;
        let turn = reading.spend(&self.capacity, reading.read).await;
        *ends += before - reading.patience;
        turn
    }

    /// Takes an amount for these bytes. Large bodies are refused while memory is short.
    fn pay(&self, held: &mut Reservation, bytes: usize) -> Result<(), Fault> {
        let beyond = bytes.saturating_sub(SMALL_BODY) as u64;
        if beyond > 0 {
            self.capacity.memory.check().map_err(Fault::Full)?;
        }
        held.grow(beyond).map_err(|full| Fault::Full(full.into()))
    }

    /// Reads the rest and discards it.
    async fn discard(&self, reading: &mut Reading) {
        let most = self.limit.saturating_mul(PATIENCE);
        let read_on = async {
            while let Ok(Some(_)) = reading.next().await {
                let read = reading.read;
                if read > most || reading.spend(&self.capacity, read).await.is_err() {
                    break;
                }
            }
        };
        // A client that has not finished by then is disconnected.
        let _ = timeout(PATIENCE_TIME, read_on).await;
    }
}

/// A body while it is read.
struct Reading {
    body: BodyDataStream,
    source: Source,
    /// The number of bytes read.
    read: usize,
    /// The part of its cost beyond a small body that was spent.
    spent: usize,
    /// The remaining time that its source may wait.
    patience: Duration,
    held: Reservation,
}

impl Reading {
    /// The next data of the body; none at its end.
    async fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        let data = self.body.next().await.transpose();
        let data = data.map_err(|_| Fault::BodyBroken)?;
        self.read += data.as_ref().map_or(0, Bytes::len);
        Ok(data)
    }

    /// Spends the part of `cost` beyond a small body that was not spent yet, and waits for the
    /// source's turn.
    async fn spend(&mut self, capacity: &Capacity, cost: usize) -> Result<(), Fault> {
        let beyond = cost.saturating_sub(SMALL_BODY);
        let more = beyond.saturating_sub(self.spent) as u64;
        if more == 0 {
            return Ok(());
        }
        self.spent = beyond;
        let patience = &mut self.patience;
        let turn = capacity.large.spend(self.source, more, patience).await;
        turn.map_err(Fault::Full)
    }
}

fn declared(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn is_encoded(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(CONTENT_ENCODING).iter();
    codings.any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// The bytes taken for a request and its parsed form. It is stored in the request's extensions, and
/// so follows the request: the library keeps a request's head beside its message, and a session
/// keeps that of its first request.
#[derive(Clone, Debug)]
pub struct RequestCharge(Arc<Mutex<Reservation>>);

impl RequestCharge {
    /// Returns the excess over what this part of the body needs; the rest of the body is dropped.
    pub fn keep(&self, part: &[u8]) {
        if let Ok(cost) = cost(part) {
            let beyond = cost.saturating_sub(SMALL_BODY) as u64;
            lock(&self.0).shrink(beyond);
        }
    }
}

/// The largest number of values of a body, including names of members.
const MAX_VALUES: usize = 2_048;

/// The largest depth of values.
const MAX_DEPTH: usize = 32;

/// A generous cost of one parsed value besides its bytes.
const VALUE: usize = 256;

/// The number of bytes of a body and its parsed values.
///
/// # Errors
/// The body has too many values, or they are nested too deeply.
pub fn cost(body: &[u8]) -> Result<usize, Fault> {
    let values = scan(body, MAX_VALUES)?;
    Ok(values.saturating_mul(VALUE).saturating_add(body.len()))
}

/// The number of values in JSON.
///
/// # Errors
/// It is more than `limit`, or they are nested too deeply.
pub(crate) fn scan(body: &[u8], limit: usize) -> Result<usize, Fault> {
    let (mut values, mut depth) = (1_usize, 0_usize);
    let mut bytes = body.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => skip_string(&mut bytes),
            b'{' | b'[' => {
                depth += 1;
                values += 1;
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' | b':' => values += 1,
            _ => {}
        }
        if depth > MAX_DEPTH {
            let why = format!("the body nests values more than {MAX_DEPTH} deep");
            return Err(Fault::BodyUnread(why));
        }
        if values > limit {
            return Err(Fault::TooManyValues(limit));
        }
    }
    Ok(values)
}

/// Advances past the end of a string.
fn skip_string(bytes: &mut std::slice::Iter<'_, u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
}

/// A part up to this size is not charged: the buffers of its connection hold as much.
const SMALL_PART: usize = 4 * 1_024;

/// The body of an answer in transit. Each part is charged until it is written to the connection.
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
        if bytes.len() <= SMALL_PART {
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
    use futures_util::stream;

    use super::*;
    use http_body_util::BodyExt as _;
    use server_chat::capacity::{LARGE, Limits, Share, Speed};

    fn chunks(count: usize, size: usize) -> Body {
        let chunk = move |_| Ok::<_, std::convert::Infallible>(Bytes::from(vec![b'x'; size]));
        Body::from_stream(stream::iter((0..count).map(chunk)))
    }

    fn bodies(limit: usize, bytes: Share) -> Bodies {
        let limits = Limits {
            bodies: bytes,
            ..Limits::default()
        };
        Bodies {
            limit,
            within: Duration::from_secs(30),
            capacity: Arc::new(Capacity::new(&limits)),
        }
    }

    async fn read(bodies: &Bodies, body: Body, source: u64) -> Result<Read, Fault> {
        let none = HeaderMap::new();
        bodies.read(&none, body, Source(source)).await
    }

    fn refuse_full(read: Result<Read, Fault>) {
        assert!(matches!(read, Err(Fault::Full(_))), "{read:?}");
    }

    /// Spends all that the first source may have at once.
    async fn spend_burst(bodies: &Bodies) {
        let (large, mut patience) = (&bodies.capacity.large, MAX_WAIT);
        let spent = large.spend(Source(1), LARGE.burst, &mut patience);
        spent.await.unwrap();
    }

    /// Checks that the first source has waited for as long as these bytes take.
    fn check_wait(began: Instant, bytes: usize) {
        let expected = bytes as f64 / LARGE.per_second as f64;
        let waited = began.elapsed().as_secs_f64();
        assert!((waited - expected).abs() < 0.01, "{waited} {expected}");
    }

    const PLENTY: Share = Share {
        all: 64 << 20,
        each: 16 << 20,
    };

    #[tokio::test]
    async fn a_body_is_read_whole_up_to_its_limit() {
        let bodies = bodies(100, PLENTY);
        let length = async |body| Ok(read(&bodies, body, 1).await?.0.len());
        assert_eq!(length(chunks(10, 10)).await, Ok(100));
        let too_large = Err(Fault::BodyTooLarge(100));
        assert_eq!(length(chunks(11, 10)).await, too_large);
        assert_eq!(length(Body::empty()).await, Ok(0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_stalled_body_is_refused() {
        let never = stream::pending::<Result<Bytes, std::convert::Infallible>>();
        let read = read(&bodies(100, PLENTY), Body::from_stream(never), 1).await;
        assert_eq!(read.unwrap_err(), Fault::BodyTooSlow(30));
    }

    #[tokio::test]
    async fn large_bodies_share_a_pool_for_as_long_as_their_requests_last() {
        let (all, each) = (10_000, 6_000);
        let bodies = bodies(1 << 20, Share { all, each });
        let held = || bodies.capacity.bodies.held();
        let large = async |beyond, source| {
            let body = chunks(4, (SMALL_BODY - VALUE + beyond) / 4);
            read(&bodies, body, source).await
        };
        let (_, small) = large(0, 1).await.unwrap();
        assert_eq!((small.is_some(), held()), (false, 0));
        let (_, first) = large(4_000, 1).await.unwrap();
        assert_eq!(held(), 4_000);
        refuse_full(large(4_000, 1).await);
        let (_, other) = large(5_000, 2).await.unwrap();
        assert_eq!(held(), 9_000);
        let copy = first.clone();
        drop((first, other));
        assert_eq!(held(), 4_000, "a copy of the request is there");
        drop(copy);
        assert_eq!(held(), 0);
    }

    #[tokio::test]
    async fn parsed_values_are_charged_to_the_source() {
        let bodies = bodies(1 << 20, PLENTY);
        let list = format!("[{}1]", "1,".repeat(1_000));
        let (_, paid) = read(&bodies, Body::from(list), 1).await.unwrap();
        assert!(paid.is_some() && bodies.capacity.bodies.held() > 200_000);
    }

    #[tokio::test]
    async fn large_bodies_are_refused_above_the_limit_of_memory() {
        let limits = Limits {
            memory: Some(1),
            ..Limits::default()
        };
        let capacity = Arc::new(Capacity::new(&limits));
        capacity.memory.measured(2);
        let bodies = Bodies {
            capacity,
            ..bodies(1 << 20, PLENTY)
        };
        assert!(read(&bodies, chunks(1, 100), 1).await.is_ok());
        refuse_full(read(&bodies, chunks(2, SMALL_BODY), 1).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_source_above_its_rate_is_delayed() {
        let limit = 1 << 20;
        let bodies = bodies(limit, PLENTY);
        spend_burst(&bodies).await;
        let began = Instant::now();
        let small = chunks(2, (SMALL_BODY - VALUE) / 2);
        assert!(read(&bodies, small, 1).await.is_ok());
        assert!(read(&bodies, chunks(8, limit / 8), 2).await.is_ok());
        assert!(began.elapsed().is_zero(), "small ones and others' go on");
        let kept = SMALL_BODY + limit / 2;
        assert!(read(&bodies, chunks(8, kept / 8), 1).await.is_ok());
        check_wait(began, kept - SMALL_BODY);
        let began = Instant::now();
        let thrown_away = SMALL_BODY + 3 * limit;
        let too_large = read(&bodies, chunks(8, thrown_away / 8), 1).await;
        assert_eq!(too_large.unwrap_err(), Fault::BodyTooLarge(limit));
        check_wait(began, 3 * limit);
    }

    #[tokio::test(start_paused = true)]
    async fn values_have_the_rate_of_the_memory_that_they_take() {
        let bodies = bodies(1 << 20, PLENTY);
        spend_burst(&bodies).await;
        let list = format!("[{}1]", "1,".repeat(1_000));
        let cost = list.len() + 1_002 * VALUE;
        let began = Instant::now();
        assert!(read(&bodies, Body::from("[1,1]"), 1).await.is_ok());
        assert!(began.elapsed().is_zero(), "few values are small");
        assert!(read(&bodies, Body::from(list), 1).await.is_ok());
        check_wait(began, cost - SMALL_BODY);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_would_wait_too_long_is_refused() {
        let bodies = bodies(1 << 20, PLENTY);
        let mut long = MAX_WAIT * 3;
        let bytes = LARGE.burst + 2 * MAX_WAIT.as_secs() * LARGE.per_second;
        tokio::select! {
            biased;
            _ = bodies.capacity.large.spend(Source(1), bytes, &mut long) => unreachable!("it waits"),
            read = read(&bodies, chunks(2, SMALL_BODY), 1) => refuse_full(read),
        }
    }

    #[test]
    fn values_are_counted_outside_of_strings() {
        assert_eq!(scan(b"{}", MAX_VALUES), Ok(2));
        assert_eq!(scan(br#"{"a":[1,2],"b":"[,:{\"["}"#, MAX_VALUES), Ok(7));
        assert_eq!(scan(b"", MAX_VALUES), Ok(1));
        assert_eq!(scan(br#""never ends \"#, MAX_VALUES), Ok(1));
    }

    #[test]
    fn too_many_values_and_too_deep_nesting_are_refused() {
        let many = format!("[{}1]", "1,".repeat(MAX_VALUES));
        let scanned = scan(many.as_bytes(), MAX_VALUES);
        assert_eq!(scanned, Err(Fault::TooManyValues(MAX_VALUES)));
        let deep = |depth| scan("[".repeat(depth).as_bytes(), MAX_VALUES);
        assert!(deep(MAX_DEPTH).is_ok());
        assert!(matches!(deep(MAX_DEPTH + 1), Err(Fault::BodyUnread(_))));
    }

    #[tokio::test(start_paused = true)]
    async fn a_source_above_its_share_waits_for_its_answers() {
        let speed = Speed {
            per_second: 10_000,
            burst: 20_000,
        };
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
        let _small = charged(SMALL_PART).collect().await.unwrap().to_bytes();
        assert_eq!(pool.held(), 0);
    }
}
