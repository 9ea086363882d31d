//! The judge of wakers: the property `woken`. It shares no logic with the wakers of the core.
//!
//! A user that sleeps reads nothing until it hears a knock. So its waker has to look into the inbox without
//! a pause of more than [`T`], whether or not a look has an answer. A look that shows something for its
//! reader decides whether the waker knocks, at that instant:
//!
//! - It must for what is behind its last knock, and once more for what it knocked for a minute ago. The
//!   minute counts from the end of the knock, or from a restart.
//! - It may once more after a crash, which may have taken the mark of its last knock.
//! - It must not otherwise: for nothing, for what was read, a third time, or beyond its limit an hour.
//!
//! A knock that the door loses is no fault of the waker. A knock precedes its mark.

use std::collections::{BTreeMap, VecDeque};

use chat_types::{Item, Page, Span, Time};
use sim_model::history::WakerRecord;
use sim_model::protocol::{Agent, Body, Room, User};

/// The longest time between two signs of a waker: its pause between two looks, what it waits for an answer,
/// and the time of a knock, each several times.
pub(crate) const T: Span = Span::secs(10);

/// The time until a second knock for the same.
const MINUTE: Span = Span::secs(60);

const HOUR: Span = Span::secs(3_600);

/// How a waker breaks the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WakingFault {
    /// It gave no sign since this instant.
    Silent { since: Time },
    /// It did not knock for what is unread up to this place.
    Unknocked { last: u64 },
    /// It knocked for what is unread up to one place, where that is another one.
    Misplaced { last: u64, knocked: u64 },
    /// It knocked while nothing was unread for its reader.
    Unfounded,
    /// It knocked again for what is unread up to this place.
    Again { last: u64 },
    /// It knocked more than so many times in an hour.
    Beyond { per_hour: u16 },
}

/// What a waker may do at this instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Knock {
    Must(u64),
    May(u64),
    Never(WakingFault),
}

/// The wakers of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Woken {
    wakers: BTreeMap<Agent, Watch>,
    /// The number of looks that showed something for their readers.
    pub(crate) checks: u64,
}

/// One waker.
#[derive(Clone, Debug)]
struct Watch {
    reader: User,
    per_hour: u16,
    /// Its last sign; none while it is down.
    sign: Option<Time>,
    /// The places that concern its reader, as far as the present look has come; of a grant, with its room.
    unread: Vec<(u64, Option<Room>)>,
    /// What the last look allows.
    knock: Knock,
    /// The last place that it knocked for, and whether it did so twice.
    last: u64,
    is_repeated: bool,
    /// When it may have forgotten its last knock: the minute counts from here.
    since: Time,
    /// Whether it crashed since its last knock.
    has_crashed: bool,
    /// The knocks of the last hour of its life.
    knocks: VecDeque<Time>,
}

impl Woken {
    /// Takes the next record of a waker. Returns how it breaks the rule, with its reader, if it does.
    pub(crate) fn record(
        &mut self,
        at: Time,
        agent: Agent,
        what: &WakerRecord<'_>,
    ) -> Option<(User, WakingFault)> {
        if let WakerRecord::Started { reader, per_hour } = *what {
            let new = || Watch::new(at, reader, per_hour);
            self.wakers.entry(agent).or_insert_with(new).start(at);
            return None;
        }
        let watch = self.wakers.get_mut(&agent)?;
        let reader = watch.reader;
        let fault = watch.silence(at).or_else(|| watch.fault(what));
        if let WakerRecord::Ended = what {
            self.wakers.remove(&agent);
        } else {
            watch.follow(at, what);
            let is_decided = !matches!(watch.knock, Knock::Never(WakingFault::Unfounded));
            self.checks += u64::from(is_decided);
        }
        fault.map(|fault| (reader, fault))
    }

    /// Looks for a waker that gave no sign in time.
    pub(crate) fn look_for_late(&self, now: Time) -> Option<(User, WakingFault)> {
        self.wakers.values().find_map(|watch| {
            let fault = watch.silence(now)?;
            Some((watch.reader, fault))
        })
    }
}

impl Watch {
    const fn new(at: Time, reader: User, per_hour: u16) -> Self {
        Self {
            reader,
            per_hour,
            sign: None,
            unread: Vec::new(),
            knock: Knock::Never(WakingFault::Unfounded),
            last: 0,
            is_repeated: false,
            since: at,
            has_crashed: false,
            knocks: VecDeque::new(),
        }
    }

    /// A life of the waker begins: it knows nothing but its mark.
    fn start(&mut self, at: Time) {
        (self.sign, self.since) = (Some(at), at);
        self.unread.clear();
        self.knocks.clear();
    }

    fn silence(&self, at: Time) -> Option<WakingFault> {
        let since = self.sign.filter(|sign| at.since(*sign) > T)?;
        Some(WakingFault::Silent { since })
    }

    /// How this record breaks the rule.
    fn fault(&self, what: &WakerRecord<'_>) -> Option<WakingFault> {
        if let WakerRecord::Knocked { last: knocked, .. } = *what {
            return match self.knock {
                Knock::Must(last) | Knock::May(last) if last == knocked => None,
                Knock::Must(last) | Knock::May(last) => {
                    Some(WakingFault::Misplaced { last, knocked })
                }
                Knock::Never(fault) => Some(fault),
            };
        }
        match (what, self.knock) {
            // What a crash prevents is due after the restart.
            (WakerRecord::Crashed | WakerRecord::Ended, _) => None,
            (_, Knock::Must(last)) => Some(WakingFault::Unknocked { last }),
            (_, Knock::May(_) | Knock::Never(_)) => None,
        }
    }

    fn follow(&mut self, at: Time, what: &WakerRecord<'_>) {
        let unfounded = Knock::Never(WakingFault::Unfounded);
        let allowed = std::mem::replace(&mut self.knock, unfounded);
        self.sign = Some(at);
        match *what {
            WakerRecord::Read { page } => {
                self.read(page);
                if page.unread == 0 {
                    self.knock = self.decide(at);
                }
            }
            WakerRecord::Knocked { last, .. } => {
                if last > self.last {
                    (self.last, self.is_repeated, self.has_crashed) = (last, false, false);
                } else if let Knock::Must(_) = allowed {
                    self.is_repeated = true;
                } else {
                    self.has_crashed = false;
                }
                self.knocks.push_back(at);
            }
            WakerRecord::Kept => self.since = at,
            WakerRecord::Crashed => {
                self.sign = None;
                self.has_crashed = true;
            }
            WakerRecord::Unanswered => self.unread.clear(),
            WakerRecord::Started { .. } | WakerRecord::Ended => {}
        }
    }

    /// Reads a page of the inbox: that of a new look, unless it goes on behind the page before it.
    fn read(&mut self, page: &Page) {
        for item in page.items() {
            let (seq, event) = match item {
                Item::Gap(gap) => {
                    self.unread.push((gap.to.0, None));
                    continue;
                }
                Item::Event(seq, event) => (seq.0, event),
            };
            if let Body::StickGranted { user, .. } = &event.body {
                if user.id == self.reader {
                    self.unread.push((seq, Some(event.room)));
                }
            } else if let Body::StickReleased { user, .. } | Body::StickExpired { user, .. } =
                &event.body
            {
                // A grant that is over asks for nothing.
                let is_over = |room| user.id == self.reader && room == Some(event.room);
                self.unread.retain(|(_, room)| !is_over(*room));
            } else if concerns(&event.body, self.reader) {
                self.unread.push((seq, None));
            }
        }
    }

    /// The last place that concerns the reader.
    fn last_unread(&self) -> Option<u64> {
        self.unread.iter().map(|(seq, _)| *seq).max()
    }

    /// What a look that is complete at this instant allows.
    fn decide(&mut self, at: Time) -> Knock {
        let unread = self.last_unread();
        self.unread.clear();
        let Some(last) = unread else {
            return Knock::Never(WakingFault::Unfounded);
        };
        self.knocks.retain(|knock| at.since(*knock) < HOUR);
        if self.knocks.len() >= usize::from(self.per_hour) {
            let per_hour = self.per_hour;
            return Knock::Never(WakingFault::Beyond { per_hour });
        }
        let is_due_again = !self.is_repeated && at.since(self.since) >= MINUTE;
        if last > self.last || is_due_again {
            Knock::Must(last)
        } else if self.has_crashed {
            Knock::May(last)
        } else {
            Knock::Never(WakingFault::Again { last })
        }
    }
}

/// Whether an event concerns this receiver, also where it is about another one.
fn concerns(body: &Body, reader: User) -> bool {
    match body {
        Body::Message { to, .. } => to.is_empty() || to.iter().any(|who| who.id == reader),
        Body::Found(_)
        | Body::PartnerDisconnected(_)
        | Body::Muted { .. }
        | Body::Kicked { .. }
        | Body::Closed { .. } => true,
        Body::PartnerAway(_)
        | Body::PartnerReconnected(_)
        | Body::Joined(_)
        | Body::Left(_)
        | Body::Away(_)
        | Body::Back(_)
        | Body::StickClaimed { .. }
        | Body::StickGranted { .. }
        | Body::StickReleased { .. }
        | Body::StickExpired { .. } => false,
    }
}

#[cfg(test)]
mod tests;
