//! The network's treatment of the attempts of a call, and its form in steps.

use std::sync::Arc;

use chat_types::{Span, Time};

use sim_model::draw::{Quantiles, Shape};
use sim_model::plan::{Capacity, Delivery, Net};

/// The service and commit times, where all of them are recorded as delivery times.
const AT_ONCE: Span = Span::micros(1);

/// The capacity without the delays that are recorded as delivery times.
pub(super) fn capacity(usual: &Capacity, to: Fidelity) -> Capacity {
    let no_time = || Arc::new(Quantiles::new(Shape::Fixed(AT_ONCE.0)));
    let mut capacity = usual.clone();
    match to {
        Fidelity::Packets => {}
        Fidelity::Order => capacity.service = no_time(),
        Fidelity::Service => (capacity.service, capacity.commit) = (no_time(), no_time()),
    }
    capacity
}

/// The moments that a recorded run reproduces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fidelity {
    /// When requests and answers left and arrived, with the usual service times.
    Packets,
    /// When requests were served, in that order. The server has no delay, and the disk its usual one.
    Order,
    /// When requests were served, in that order, and when their answers arrived. Server and disk
    /// have no delays.
    Service,
}

/// One attempt of a call: its request, the network's copy of that, and their answers.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    sent_at: Time,
    request: Packet,
    copy: Option<Packet>,
}

/// A request or its copy.
#[derive(Clone, Copy, Debug)]
struct Packet {
    fate: Delivery,
    /// When it was first served.
    served: Option<Time>,
    /// When its answer was sent, and the answer's fate.
    replied: Option<(Time, Delivery)>,
}

impl Packet {
    const fn new(fate: Delivery) -> Self {
        Self {
            fate,
            served: None,
            replied: None,
        }
    }

    /// The treatment of the packet and of its answer. A call that `waits` is answered by its event,
    /// whatever is recorded.
    fn net(self, sent_at: Time, to: Fidelity, waits: bool) -> (Delivery, Option<Delivery>) {
        let reply = self.replied.map(|(_, fate)| fate);
        let Some(served) = self.served.filter(|_| to != Fidelity::Packets) else {
            return (self.fate, reply);
        };
        let request = Delivery::After(served.since(sent_at) - AT_ONCE);
        if to == Fidelity::Order {
            return (request, reply);
        }
        let reply = self.replied.map(|(left_at, fate)| match fate {
            Delivery::After(length) if !waits => {
                Delivery::After((left_at + length).since(served) - AT_ONCE)
            }
            Delivery::After(_) | Delivery::Lost => fate,
        });
        (request, reply)
    }
}

impl Attempt {
    pub(super) fn new(sent_at: Time, fate: Delivery, copy: Option<Delivery>) -> Self {
        let copy = copy.filter(|copy| *copy != Delivery::Lost);
        Self {
            sent_at,
            request: Packet::new(fate),
            copy: copy.map(Packet::new),
        }
    }

    fn packet(&mut self, copy: bool) -> &mut Packet {
        match &mut self.copy {
            Some(packet) if copy => packet,
            Some(_) | None => &mut self.request,
        }
    }

    /// Records that the request or its copy is served.
    pub(super) fn serve(&mut self, copy: bool, at: Time) {
        self.packet(copy).served.get_or_insert(at);
    }

    /// Records the answer to the request or to its copy.
    pub(super) fn reply(&mut self, copy: bool, left_at: Time, fate: Delivery) {
        self.packet(copy).replied = Some((left_at, fate));
    }

    /// The form in steps.
    pub(super) fn net(&self, to: Fidelity, waits: bool) -> Net {
        let (request, reply) = self.request.net(self.sent_at, to, waits);
        let copy = self.copy.map(|copy| copy.net(self.sent_at, to, waits));
        Net {
            request: Some(request),
            duplicate: copy.map(|(request, _)| request),
            reply,
            duplicate_reply: copy.and_then(|(_, reply)| reply),
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

    /// A delivery that is shorter by the time that the server takes.
    fn less(millis: u64) -> Option<Delivery> {
        Some(Delivery::After(Span::millis(millis) - AT_ONCE))
    }

    #[test]
    fn a_request_served_late_is_written_with_a_long_delivery() {
        let mut call_attempt = Attempt::new(at(10), after(5), None);
        call_attempt.serve(false, at(40));
        call_attempt.reply(false, at(60), after(7));
        let packets = call_attempt.net(Fidelity::Packets, false);
        assert_eq!(
            (packets.request, packets.reply),
            (Some(after(5)), Some(after(7)))
        );
        let service = call_attempt.net(Fidelity::Service, false);
        assert_eq!((service.request, service.reply), (less(30), less(27)));
        let order = call_attempt.net(Fidelity::Order, false);
        assert_eq!((order.request, order.reply), (less(30), Some(after(7))));
        assert_eq!(
            call_attempt.net(Fidelity::Service, true).reply,
            Some(after(7))
        );
    }

    #[test]
    fn a_copy_has_a_delivery_and_a_reply_of_its_own() {
        let mut both = Attempt::new(at(0), after(9), Some(after(2)));
        both.serve(true, at(3));
        both.reply(true, at(4), Delivery::Lost);
        both.serve(false, at(10));
        both.reply(false, at(11), after(1));
        let net = both.net(Fidelity::Packets, false);
        let replies = (net.reply, net.duplicate_reply);
        assert_eq!(
            (net.request, net.duplicate),
            (Some(after(9)), Some(after(2)))
        );
        assert_eq!(replies, (Some(after(1)), Some(Delivery::Lost)));
        let net = both.net(Fidelity::Service, false);
        let replies = (net.reply, net.duplicate_reply);
        assert_eq!((net.request, net.duplicate), (less(10), less(3)));
        assert_eq!(replies, (less(2), Some(Delivery::Lost)));
    }

    #[test]
    fn a_copy_may_be_served_alone() {
        let mut alone = Attempt::new(at(0), Delivery::Lost, Some(after(2)));
        alone.serve(true, at(3));
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
        let net = Attempt::new(at(0), after(1), Some(Delivery::Lost)).net(Fidelity::Packets, true);
        assert_eq!((net.request, net.duplicate), (Some(after(1)), None));
    }
}
