//! The driver's client for other tasks.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use chat_core::{Address, Call, Earlier, Reader, Reject, RequestKey, Seq, Span, Ticket, Time};
use server_storage::random;
use tokio::sync::{mpsc, oneshot};

use super::caller_context::{CallerContext, reader_of};
use super::engine::{Remote, RemoteStream};
use super::stream_slot::{Delivery, StreamSlot};
use super::{Answered, Input, MAX_QUEUED, Settled, Shared, Waiter};
use crate::banned_addresses::BannedAddresses;
use crate::metrics::{Metrics, Row};
use crate::view::View;

/// The retry delay when the channel is full.
const OVERLOAD_RETRY: Span = Span::millis(250);

/// The input of the driver. Cheap to clone.
#[derive(Clone, Debug)]
pub struct NodeClient {
    inputs: mpsc::UnboundedSender<Input>,
    shared: Arc<Shared>,
    /// The other members, which may have the node.
    remote: Option<Arc<dyn Remote>>,
}

impl NodeClient {
    pub(super) fn new(inputs: mpsc::UnboundedSender<Input>, shared: Arc<Shared>) -> Self {
        Self {
            inputs,
            shared,
            remote: None,
        }
    }

    /// This client, with a way to the node while another member has it.
    #[must_use]
    pub fn with_remote(self, remote: Arc<dyn Remote>) -> Self {
        let remote = Some(remote);
        Self { remote, ..self }
    }

    /// The server's time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.shared.clock.now()
    }

    /// The metrics.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    /// The banned addresses, whose streams and waiting calls end.
    #[must_use]
    pub fn banned_addresses(&self) -> &BannedAddresses {
        &self.shared.banned_addresses
    }

    /// The number of calls in the channel.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.shared.queued.load(Ordering::Relaxed)
    }

    /// Makes a call, and waits for the answer. If the caller stops waiting, the call may still take
    /// effect.
    pub async fn call(&self, from: Address, call: Call) -> Answered {
        let Some(remote) = &self.remote else {
            return self.settled(self.try_call(from, call).await);
        };
        let (call, is_minted) = keyed(call);
        let mut answered = match self.try_call(from, call.clone()).await {
            Settled::Answered(answered) => answered,
            Settled::Moved(earlier) => remote.call(from, call, earlier).await,
        };
        if is_minted
            && let Err(reject) = &mut answered.outcome
            && reject.earlier() == Earlier::None
        {
            *reject = reject.with_earlier(Earlier::Unasked);
        }
        answered
    }

    /// Calls the node of this member, if it has it.
    pub async fn try_call(&self, from: Address, call: Call) -> Settled {
        self.ask(self.ticket(), (from, call), None).await
    }

    /// Opens an event stream of the reader's inbox: after `after`, or from its end.
    ///
    /// # Errors
    /// The refusal, with the caller's context.
    pub async fn open_stream(
        &self,
        from: Address,
        reader: Reader,
        after: Option<Seq>,
    ) -> Result<(EventStream, CallerContext), Answered> {
        let opened = self.try_open(from, reader, after).await;
        match (opened, &self.remote) {
            (Ok(open), _) => Ok(open),
            (Err(Settled::Moved(_)), Some(remote)) => {
                let (stream, context) = remote.open_stream(from, reader, after).await?;
                let driver = self.clone();
                let source = StreamSource::Remote(stream);
                Ok((EventStream { source, driver }, context))
            }
            (Err(settled), _) => Err(self.settled(settled)),
        }
    }

    /// Opens a stream at the node of this member, if it has it.
    ///
    /// # Errors
    /// The answer, if the node refuses the stream; another member has the node; or the driver has ended.
    pub async fn try_open(
        &self,
        from: Address,
        reader: Reader,
        after: Option<Seq>,
    ) -> Result<(EventStream, CallerContext), Settled> {
        let (ticket, slot) = (self.ticket(), Arc::new(StreamSlot::default()));
        let asked = (from, Call::OpenStream { reader, after });
        match self.ask(ticket, asked, Some(Arc::clone(&slot))).await {
            Settled::Answered(answered) if answered.outcome.is_ok() => {
                let source = StreamSource::Local {
                    ticket,
                    slot,
                    holds_page: false,
                };
                let driver = self.clone();
                Ok((EventStream { source, driver }, answered.context))
            }
            other @ (Settled::Answered(_) | Settled::Moved(_)) => Err(other),
        }
    }

    /// Runs `look` on the committed state, as far as this member has it, between two turns. It must be brief: all other
    /// work waits.
    ///
    /// # Errors
    /// The driver is too busy, or has stopped.
    pub async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&View<'_>) -> T + Send + 'static,
    ) -> Result<T, Reject> {
        let (reply, answer) = oneshot::channel();
        self.reserve()?;
        let look = Box::new(move |view: &View<'_>| {
            // The caller may have stopped waiting.
            let _ = reply.send(look(view));
        });
        let sent = self.inputs.send(Input::Look(look));
        sent.map_err(|_| Reject::shutting_down())?;
        answer.await.map_err(|_| Reject::shutting_down())
    }

    /// Shuts the driver down: new calls are refused, admitted ones are finished, streams and
    /// waiting checks receive their events and end, at `by` at the latest.
    pub fn stop(&self, by: Instant) {
        // A driver that has stopped needs no request.
        let _ = self.inputs.send(Input::Stop { by });
    }

    fn ticket(&self) -> Ticket {
        Ticket(self.shared.tickets.fetch_add(1, Ordering::Relaxed))
    }

    /// Reserves a place in the channel, which the driver frees.
    fn reserve(&self) -> Result<(), Reject> {
        let queued = &self.shared.queued;
        if queued.fetch_add(1, Ordering::Relaxed) >= MAX_QUEUED {
            queued.fetch_sub(1, Ordering::Relaxed);
            return Err(Reject::overloaded(OVERLOAD_RETRY));
        }
        Ok(())
    }

    async fn ask(
        &self,
        ticket: Ticket,
        (from, call): (Address, Call),
        slot: Option<Arc<StreamSlot>>,
    ) -> Settled {
        // The key of a call that never reaches the node is not looked up.
        let earlier = call.earlier_if_refused();
        if let Err(reject) = self.reserve() {
            return Settled::Answered(self.refusal(reject.with_earlier(earlier)));
        }
        let (reply, answer) = oneshot::channel();
        let reader = reader_of(&call);
        let input = Input::Call {
            ticket,
            from,
            call,
            sent: Instant::now(),
            waiter: Waiter {
                reader,
                reply,
                slot,
            },
        };
        if self.inputs.send(input).is_err() {
            return Settled::Answered(self.refusal(Reject::ShuttingDown { earlier }));
        }
        let mut waiting = Waiting {
            ticket,
            driver: Some(self),
        };
        let settled = answer.await;
        waiting.driver = None;
        settled.unwrap_or_else(|_| {
            // The driver stopped with the call in progress, which may have taken effect.
            let earlier = Earlier::Unknown;
            Settled::Answered(self.refusal(Reject::ShuttingDown { earlier }))
        })
    }

    /// The answer of a node that is alone, or of the one that no member takes.
    fn settled(&self, settled: Settled) -> Answered {
        match settled {
            Settled::Answered(answered) => answered,
            Settled::Moved(earlier) => {
                let reject = Reject::storage_unavailable(OVERLOAD_RETRY);
                self.refusal(reject.with_earlier(earlier))
            }
        }
    }

    /// A refusal by the driver itself, without any lookup.
    #[must_use]
    pub fn refusal(&self, reject: Reject) -> Answered {
        Answered {
            outcome: Err(reject),
            context: CallerContext {
                at: self.now(),
                ..CallerContext::default()
            },
        }
    }
}

/// The call with a request key, and whether the key was drawn here: so that a repetition at another
/// member has no second effect.
fn keyed(mut call: Call) -> (Call, bool) {
    if let Call::Command {
        key: key @ None, ..
    } = &mut call
    {
        // Without randomness the call goes out once, and is not repeated.
        let drawn = random().ok();
        *key = drawn.map(|drawn| RequestKey(u128::from_le_bytes(drawn)));
        return (call, drawn.is_some());
    }
    (call, false)
}

/// A waiting caller. If it is dropped before the answer, the call is cancelled.
struct Waiting<'a> {
    ticket: Ticket,
    driver: Option<&'a NodeClient>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(driver) = self.driver {
            // A driver that has stopped needs no cancellation.
            let _ = driver.inputs.send(Input::Cancel(self.ticket));
        }
    }
}

/// An open event stream. It is closed on drop.
#[derive(Debug)]
pub struct EventStream {
    source: StreamSource,
    driver: NodeClient,
}

/// Where a stream comes from.
#[derive(Debug)]
enum StreamSource {
    /// The node of this member.
    Local {
        ticket: Ticket,
        slot: Arc<StreamSlot>,
        /// The reader has not finished the last page.
        holds_page: bool,
    },
    /// The node of another member.
    Remote(Box<dyn RemoteStream>),
}

impl EventStream {
    /// The next delivery for the reader. The call implies that the last one is finished.
    pub async fn next(&mut self) -> Delivery {
        let delivery = match &mut self.source {
            StreamSource::Local {
                ticket,
                slot,
                holds_page,
            } => {
                if std::mem::take(holds_page) {
                    // A driver that has stopped has closed the stream.
                    let _ = self.driver.inputs.send(Input::Ready(*ticket));
                }
                let delivery = slot.take().await;
                *holds_page = matches!(delivery, Delivery::Page { .. });
                delivery
            }
            StreamSource::Remote(stream) => stream.next().await,
        };
        if let Delivery::Page { page, .. } = &delivery {
            let now = self.driver.now();
            for (_, event) in &page.events {
                let lag = Duration::from_micros(now.since(event.at).0);
                self.driver.metrics().took(Row::InboxLagSeconds, "", lag);
            }
        }
        delivery
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        if let StreamSource::Local { ticket, .. } = &self.source {
            // A driver that has stopped has closed the stream.
            let _ = self.driver.inputs.send(Input::Cancel(*ticket));
        }
    }
}
