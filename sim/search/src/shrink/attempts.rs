//! The network's treatment of the attempts of a call, and its form in steps.

use std::sync::Arc;

use chat_types::Span;

use sim_model::draw::{Quantiles, Shape};
use sim_model::history::NetworkRecord;
use sim_model::plan::{Capacity, Delivery, Net};
use sim_model::run_log::{Entry, Logged, RunLog};

/// The service and commit times, where all of them are recorded as delivery times.
const AT_ONCE: Span = Span::micros(1);

/// A distribution of one value.
pub(crate) fn fixed(value: u64) -> Arc<Quantiles> {
    Arc::new(Quantiles::new(Shape::Fixed(value)))
}

/// The capacity without the delays that are recorded as delivery times.
pub(super) fn capacity(usual: &Capacity, to: Fidelity) -> Capacity {
    let no_time = || fixed(AT_ONCE.0);
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

/// The network's treatment of a packet that left, of its copy, and of the replies to them, as steps have
/// it. A call that `waits` is answered by its event, whatever is recorded.
pub(super) fn net(log: &RunLog, sent: &Entry, to: Fidelity, waits: bool) -> Net {
    let (fate, copy) = if let Logged::Network(NetworkRecord::Sent { fate, copy, .. }) = sent.what {
        (fate, copy)
    } else if let Logged::Network(NetworkRecord::Opening { fate, .. }) = sent.what {
        (fate, None)
    } else {
        return Net::default();
    };
    let (request, reply) = treatment(log, sent, (fate, false), to, waits);
    let copy = copy.filter(|copy| *copy != Delivery::Lost);
    let copy = copy.map(|fate| treatment(log, sent, (fate, true), to, waits));
    Net {
        request: Some(request),
        duplicate: copy.map(|(request, _)| request),
        reply,
        duplicate_reply: copy.and_then(|(_, reply)| reply),
        ..Net::default()
    }
}

fn treatment(
    log: &RunLog,
    sent: &Entry,
    (fate, is_copy): (Delivery, bool),
    to: Fidelity,
    waits: bool,
) -> (Delivery, Option<Delivery>) {
    let (mut served, mut replied) = (None, None);
    for entry in log.then(sent) {
        if let Logged::Network(NetworkRecord::Served { copy, .. }) = entry.what
            && copy == is_copy
        {
            served.get_or_insert(entry.at);
        } else if let Logged::Network(NetworkRecord::Replied { copy, fate, .. }) = entry.what
            && copy == is_copy
        {
            replied = Some((entry.at, fate));
        } else if let Logged::Network(NetworkRecord::Opened { fate }) = entry.what {
            served.get_or_insert(entry.at);
            replied = Some((entry.at, fate));
        }
    }
    let reply = replied.map(|(_, fate)| fate);
    let Some(served) = served.filter(|_| to != Fidelity::Packets) else {
        return (fate, reply);
    };
    let request = Delivery::After(served.since(sent.at) - AT_ONCE);
    if to == Fidelity::Order {
        return (request, reply);
    }
    let reply = replied.map(|(left_at, fate)| match fate {
        Delivery::After(length) if !waits => {
            Delivery::After((left_at + length).since(served) - AT_ONCE)
        }
        Delivery::After(_) | Delivery::Lost => fate,
    });
    (request, reply)
}

#[cfg(test)]
mod tests {
    use chat_types::Time;
    use sim_model::history::{ClientEvent, Observer as _, Record, RequestKey, RunEvent};
    use sim_model::protocol::{Agent, CallId, Op, Read};

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

    const CALL: CallId = CallId(0);

    /// The log of an attempt, and of what the server did with it and its copy.
    fn log(
        sent_at: u64,
        fates: (Delivery, Option<Delivery>),
        then: &[(u64, NetworkRecord)],
    ) -> RunLog {
        let mut log = RunLog::default();
        log.observe(RunEvent::Client(&Record {
            at: at(sent_at),
            agent: Agent(0),
            name: "",
            user: None,
            what: ClientEvent::Called {
                call: CALL,
                op: &Op::by_handle(Read::Mood),
                intended: at(sent_at),
                key: RequestKey::Own,
            },
        }));
        let (fate, copy) = fates;
        let sent = NetworkRecord::Sent {
            call: CALL,
            attempt: 0,
            fate,
            copy,
        };
        log.observe_network(at(sent_at), Agent(0), &sent);
        for (millis, record) in then {
            log.observe_network(at(*millis), Agent(0), record);
        }
        log
    }

    const fn serve(copy: bool) -> NetworkRecord {
        NetworkRecord::Served {
            call: CALL,
            attempt: 0,
            copy,
        }
    }

    const fn reply(copy: bool, fate: Delivery) -> NetworkRecord {
        NetworkRecord::Replied {
            call: CALL,
            attempt: 0,
            copy,
            refused: None,
            fate,
        }
    }

    /// What the network did to the request, to its copy, and to the replies to them.
    fn treated(log: &RunLog, to: Fidelity, waits: bool) -> [Option<Delivery>; 4] {
        let net = net(log, &log.entries[1], to, waits);
        [net.request, net.duplicate, net.reply, net.duplicate_reply]
    }

    #[test]
    fn a_request_served_late_is_written_with_a_long_delivery() {
        let then = [(40, serve(false)), (60, reply(false, after(7)))];
        let log = log(10, (after(5), None), &then);
        let own = Some(after(7));
        for (to, waits, request, reply) in [
            (Fidelity::Packets, false, Some(after(5)), own),
            (Fidelity::Service, false, less(30), less(27)),
            (Fidelity::Order, false, less(30), own),
            (Fidelity::Service, true, less(30), own),
        ] {
            assert_eq!(treated(&log, to, waits), [request, None, reply, None]);
        }
    }

    #[test]
    fn a_copy_has_a_delivery_and_a_reply_of_its_own() {
        let lost = Some(Delivery::Lost);
        let then = [
            (3, serve(true)),
            (4, reply(true, Delivery::Lost)),
            (10, serve(false)),
            (11, reply(false, after(1))),
        ];
        let log = log(0, (after(9), Some(after(2))), &then);
        let packets = [after(9), after(2), after(1), Delivery::Lost].map(Some);
        assert_eq!(treated(&log, Fidelity::Packets, false), packets);
        let service = [less(10), less(3), less(2), lost];
        assert_eq!(treated(&log, Fidelity::Service, false), service);
    }

    #[test]
    fn a_request_never_served_is_written_as_sent() {
        let (lost, sent) = (Delivery::Lost, after(1));
        let copy_alone = log(0, (lost, Some(after(2))), &[(3, serve(true))]);
        let alone = log(0, (lost, None), &[]);
        let copy_lost = log(0, (sent, Some(lost)), &[]);
        for (log, to, waits, request, copy) in [
            (copy_alone, Fidelity::Service, false, lost, less(3)),
            (alone, Fidelity::Service, false, lost, None),
            (copy_lost, Fidelity::Packets, true, sent, None),
        ] {
            assert_eq!(treated(&log, to, waits), [Some(request), copy, None, None]);
        }
    }
}
