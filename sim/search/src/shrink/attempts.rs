//! The network's treatment of the attempts of a call, and its form in steps.

use std::sync::Arc;

use chat_types::{Span, Time};

use sim_model::draw::{Quantiles, Shape};
use sim_model::plan::{Capacity, Delivery, Net};

/// The service and commit times, where all of them are recorded as delivery times.
const AT_ONCE: Span = Span::micros(1);

/// A server and a disk without delays.
pub(super) fn at_once(capacity: &Capacity) -> Capacity {
    let no_time = Arc::new(Quantiles::new(Shape::Fixed(AT_ONCE.0)));
    Capacity {
        service: Arc::clone(&no_time),
        commit: no_time,
        queue: capacity.queue,
        snapshot_every: capacity.snapshot_every,
    }
}

/// The moments that a recorded run reproduces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fidelity {
    /// When requests and answers left and arrived, with the usual service times.
    Packets,
    /// When requests were served, in that order, and when their answers arrived. Server and disk
    /// have no delays.
    Service,
}

/// One attempt of a call: its request and its answer.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    pub(super) sent_at: Time,
    pub(super) fate: Delivery,
    /// The fate of the network's copy of the request.
    pub(super) copy: Option<Delivery>,
    /// The times at which request and copy were served.
    pub(super) served: Vec<Time>,
    /// When the answer that arrived first was sent, and its fate.
    pub(super) replied: Option<(Time, Delivery)>,
}

impl Attempt {
    pub(super) const fn new(sent_at: Time, fate: Delivery, copy: Option<Delivery>) -> Self {
        Self {
            sent_at,
            fate,
            copy,
            served: Vec::new(),
            replied: None,
        }
    }

    /// Records an answer to the request or to its copy.
    pub(super) fn reply(&mut self, left_at: Time, fate: Delivery) {
        let arrives = |(left_at, fate): (Time, Delivery)| match fate {
            Delivery::After(length) => left_at + length,
            Delivery::Lost => Time::MAX,
        };
        let before = self.replied.map_or(Time::MAX, arrives);
        if self.replied.is_none() || arrives((left_at, fate)) < before {
            self.replied = Some((left_at, fate));
        }
    }

    /// The form in steps. A call that `waits` is answered by its event, whatever is recorded.
    pub(super) fn net(&self, to: Fidelity, waits: bool) -> Net {
        let copy = self.copy.filter(|copy| *copy != Delivery::Lost);
        let reply = self.replied.map(|(_, fate)| fate);
        let as_sent = Net {
            request: Some(self.fate),
            duplicate: copy,
            reply,
            ..Net::default()
        };
        let Some(&first) = self.served.first() else {
            return as_sent;
        };
        if to == Fidelity::Packets {
            return as_sent;
        }
        let on_its_way = |served: Time| Delivery::After(served.since(self.sent_at) - AT_ONCE);
        let second = self.served.get(1).copied();
        let (request, duplicate) = match (self.fate, copy) {
            (Delivery::Lost, _) => (Delivery::Lost, Some(on_its_way(first))),
            (Delivery::After(request), Some(Delivery::After(copy))) if copy < request => {
                (on_its_way(second.unwrap_or(first)), Some(on_its_way(first)))
            }
            (Delivery::After(_), Some(_)) => (on_its_way(first), second.map(on_its_way)),
            (Delivery::After(_), None) => (on_its_way(first), None),
        };
        let reply = self.replied.map(|(left_at, fate)| match fate {
            Delivery::After(length) if !waits => {
                Delivery::After((left_at + length).since(first) - AT_ONCE)
            }
            Delivery::After(_) | Delivery::Lost => fate,
        });
        Net {
            request: Some(request),
            duplicate,
            reply,
            ..Net::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn after(millis: u64) -> Delivery {
        Delivery::After(Span::millis(millis))
    }

    fn at(millis: u64) -> Time {
        Time(0) + Span::millis(millis)
    }

    #[test]
    fn a_request_served_late_is_written_with_a_long_delivery() {
        let mut call_attempt = Attempt::new(at(10), after(5), None);
        call_attempt.served.push(at(40));
        call_attempt.replied = Some((at(60), after(7)));
        let packets = call_attempt.net(Fidelity::Packets, false);
        assert_eq!(
            (packets.request, packets.reply),
            (Some(after(5)), Some(after(7)))
        );
        let service = call_attempt.net(Fidelity::Service, false);
        let less = |millis| Some(Delivery::After(Span::millis(millis) - AT_ONCE));
        assert_eq!((service.request, service.reply), (less(30), less(27)));
        assert_eq!(
            call_attempt.net(Fidelity::Service, true).reply,
            Some(after(7))
        );
    }

    #[test]
    fn a_copy_may_be_served_first_or_alone() {
        let less = |millis| Some(Delivery::After(Span::millis(millis) - AT_ONCE));
        let mut overtaken = Attempt::new(at(0), after(9), Some(after(2)));
        overtaken.served = vec![at(3), at(10)];
        let net = overtaken.net(Fidelity::Service, false);
        assert_eq!((net.request, net.duplicate), (less(10), less(3)));
        let mut alone = Attempt::new(at(0), Delivery::Lost, Some(after(2)));
        alone.served = vec![at(3)];
        let net = alone.net(Fidelity::Service, false);
        assert_eq!(
            (net.request, net.duplicate),
            (Some(Delivery::Lost), less(3))
        );
    }

    #[test]
    fn a_request_never_served_is_written_as_sent() {
        let net = Attempt::new(at(0), Delivery::Lost, None).net(Fidelity::Service, false);
        assert_eq!((net.request, net.reply), (Some(Delivery::Lost), None));
    }
}
