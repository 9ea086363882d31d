//! What goes wrong, and when, drawn from the seed.

use chat_types::{Span, Time};
use sim_model::draw::Draw;

use crate::site::MEMBERS;
use sim_world::log::{Harm, REPLICAS};

/// The time of the last fault's beginning.
pub(crate) const FAULTS_UNTIL: Time = Time(40_000_000);

/// The first instant at which nothing is wrong any more.
pub(crate) const HEALED: Time = Time(62_000_000);

/// The end of the history.
pub(crate) const END: Time = Time(92_000_000);

/// Something that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The log's leader ends. Just before, it appends and reports nothing.
    LeaderFails { replica: usize, lasts: Span },
    /// The log has no leader for a while; then this replica leads.
    NewLeader { replica: usize, lasts: Span },
    /// What the member sends to the log is lost.
    CutOut { member: usize, lasts: Span },
    /// What the log sends to the member is lost, or late if it is a record.
    CutIn { member: usize, lasts: Span },
    /// The member stops in the middle of a turn.
    Pause { member: usize, lasts: Span },
    /// The owner does.
    PauseOwner { lasts: Span },
    /// The process ends, and starts again.
    Crash {
        member: usize,
        lasts: Span,
        from_snapshot: u64,
    },
    /// The owner resigns.
    Resign,
    /// A replica is behind, until all is well.
    Lag { replica: usize, lag: Span },
    /// A replica has lost or changed a record, this many before or behind the last one.
    Harm {
        replica: usize,
        harm: Harm,
        back: i64,
    },
    /// Reports of appends are lost, each with probability 1/3.
    LoseReports { lasts: Span },
    /// Reports come twice, and so do appends.
    Double { lasts: Span },
    /// Each append takes up to this span to the log.
    SlowAppends { up_to: Span, lasts: Span },
    /// The log refuses appends at once.
    Refuse { lasts: Span, rejected: u64 },
    /// The time of day jumps at a member.
    SetClock { member: usize, by: i64 },
}

/// The faults of a seed, in the order of their instants.
pub(crate) fn draw_faults(draw: &mut Draw) -> Vec<(Time, Fault)> {
    let count = 3 + draw.below(12);
    // One replica's disk is bad, so that the others have every record.
    let bad = index(draw, REPLICAS);
    let mut faults: Vec<(Time, Fault)> = (0..count)
        .map(|_| {
            let at = Time(3_000_000 + draw.below(FAULTS_UNTIL.0 - 3_000_000));
            (at, draw_fault(draw, bad))
        })
        .collect();
    faults.sort_by_key(|(at, _)| *at);
    faults
}

fn index(draw: &mut Draw, of: usize) -> usize {
    usize::try_from(draw.below(of as u64)).unwrap_or_default()
}

fn span(draw: &mut Draw, from_ms: u64, to_ms: u64) -> Span {
    Span::millis(from_ms + draw.below(to_ms - from_ms))
}

fn draw_fault(draw: &mut Draw, bad: usize) -> Fault {
    let member = index(draw, MEMBERS);
    let replica = index(draw, REPLICAS);
    match draw.below(16) {
        0 | 1 => Fault::LeaderFails {
            replica,
            lasts: span(draw, 4_000, 9_000),
        },
        2 => Fault::CutOut {
            member,
            lasts: span(draw, 500, 10_000),
        },
        3 => Fault::CutIn {
            member,
            lasts: span(draw, 500, 10_000),
        },
        4 => Fault::Pause {
            member,
            lasts: span(draw, 100, 20_000),
        },
        5 | 6 => Fault::PauseOwner {
            lasts: span(draw, 100, 20_000),
        },
        7 | 8 => Fault::Crash {
            member,
            lasts: span(draw, 200, 8_000),
            from_snapshot: draw.below(2),
        },
        9 => Fault::Resign,
        10 => Fault::Lag {
            replica,
            lag: span(draw, 100, 12_000),
        },
        11 => Fault::Harm {
            replica: bad,
            harm: if draw.below(2) == 0 {
                Harm::Lost
            } else {
                Harm::Flipped
            },
            back: i64::try_from(draw.below(20)).unwrap_or_default() - 10,
        },
        12 => Fault::LoseReports {
            lasts: span(draw, 500, 8_000),
        },
        13 => Fault::Double {
            lasts: span(draw, 500, 8_000),
        },
        14 => match draw.below(3) {
            0 => Fault::Refuse {
                lasts: span(draw, 100, 4_000),
                rejected: draw.below(2),
            },
            _ => Fault::SlowAppends {
                up_to: span(draw, 500, 8_000),
                lasts: span(draw, 1_000, 8_000),
            },
        },
        _ => Fault::SetClock {
            member,
            by: i64::try_from(draw.below(20_000_000)).unwrap_or_default() - 10_000_000,
        },
    }
}
