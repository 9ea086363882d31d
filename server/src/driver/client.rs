//! The driver's client for other tasks.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use chat_core::{Address, Call, Earlier, Node, Reader, Reject, Seq, Span, Ticket, Time};
use tokio::sync::{mpsc, oneshot};

use super::caller_context::{AnswerFacts, CallerContext};
use super::stream_slot::{Delivery, StreamSlot};
use super::{Answered, Input, MAX_QUEUED, Request, Shared};
use crate::metrics::Metrics;

/// The retry delay when the channel is full.
const OVERLOAD_RETRY: Span = Span::millis(250);

/// The input of the driver. Cheap to clone.
#[derive(Clone, Debug)]
pub struct NodeClient {
    inputs: mpsc::UnboundedSender<Input>,
    shared: Arc<Shared>,
}

impl NodeClient {
    pub(super) fn new(inputs: mpsc::UnboundedSender<Input>, shared: Arc<Shared>) -> Self {
        Self { inputs, shared }
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

    /// The number of calls in the channel.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.shared.queued.load(Ordering::Relaxed)
    }

    /// Sends a request, and waits for the answer. If the caller stops waiting, the request may
    /// still take effect.
    pub async fn call(&self, from: Address, request: Request) -> Answered {
        let ticket = self.ticket();
        let (reply, answer) = oneshot::channel();
        // The key of a call that never reaches the node is not looked up.
        let earlier = if is_keyed(&request) {
            Earlier::Unknown
        } else {
            Earlier::Unasked
        };
        let input = Input::Call {
            ticket,
            from,
            request,
            sent: Instant::now(),
            reply,
        };
        self.ask(ticket, input, (answer, earlier)).await
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
        let ticket = self.ticket();
        let (reply, answer) = oneshot::channel();
        let slot = Arc::new(StreamSlot::default());
        let input = Input::Open {
            ticket,
            from,
            call: Call::OpenStream { reader, after },
            slot: Arc::clone(&slot),
            reply,
        };
        let answered = self.ask(ticket, input, (answer, Earlier::Unasked)).await;
        if answered.outcome.is_err() {
            return Err(answered);
        }
        let stream = EventStream {
            ticket,
            slot,
            driver: self.clone(),
            holds_page: false,
        };
        Ok((stream, answered.context))
    }

    /// Runs `look` on the node's committed state between two turns. It must be brief: all other
    /// work waits. None if the driver is too busy, or has stopped.
    pub async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Node) -> T + Send + 'static,
    ) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.reserve().ok()?;
        let look = Box::new(move |node: &Node| {
            // The caller may have stopped waiting.
            let _ = reply.send(look(node));
        });
        self.inputs.send(Input::Look(look)).ok()?;
        answer.await.ok()
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
            return Err(Reject::Overloaded {
                retry_after: OVERLOAD_RETRY,
                earlier: Earlier::Unasked,
            });
        }
        Ok(())
    }

    async fn ask(
        &self,
        ticket: Ticket,
        input: Input,
        (answer, earlier): (oneshot::Receiver<Answered>, Earlier),
    ) -> Answered {
        if let Err(reject) = self.reserve() {
            return self.refusal(reject.with_earlier(earlier));
        }
        if self.inputs.send(input).is_err() {
            return self.refusal(Reject::ShuttingDown { earlier });
        }
        let mut waiting = Waiting {
            ticket,
            driver: Some(self),
        };
        let answered = answer.await;
        waiting.driver = None;
        // The driver stopped with the call in progress, which may have taken effect.
        let earlier = Earlier::Unknown;
        answered.unwrap_or_else(|_| self.refusal(Reject::ShuttingDown { earlier }))
    }

    /// A refusal by the driver itself, without any lookup.
    fn refusal(&self, reject: Reject) -> Answered {
        Answered {
            outcome: Err(reject),
            context: CallerContext {
                at: self.now(),
                me: None,
                more: AnswerFacts::Nothing,
            },
        }
    }
}

fn is_keyed(request: &Request) -> bool {
    matches!(request, Request::Call(Call::Command { key: Some(_), .. }))
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
    ticket: Ticket,
    slot: Arc<StreamSlot>,
    driver: NodeClient,
    /// The reader has not finished the last page.
    holds_page: bool,
}

impl EventStream {
    /// The next delivery for the reader. The call implies that the last one is finished.
    pub async fn next(&mut self) -> Delivery {
        if std::mem::take(&mut self.holds_page) {
            // A driver that has stopped has closed the stream.
            let _ = self.driver.inputs.send(Input::Ready(self.ticket));
        }
        let delivery = self.slot.take().await;
        if let Delivery::Page { page, .. } = &delivery {
            self.holds_page = true;
            let now = self.driver.now();
            for (_, event) in &page.events {
                self.driver.metrics().delivered(event.at, now);
            }
        }
        delivery
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        // A driver that has stopped has closed the stream.
        let _ = self.driver.inputs.send(Input::Close(self.ticket));
    }
}
