//! The waker of one participant, whose agent is idle: it decides when to knock, and for what.
//!
//! A shell watches the inbox by its reader id, which acknowledges nothing, and passes what is unread to
//! [`Waker::handle_unread`]: as soon as something comes, and at [`Waker::poll_timeout`]. It performs the
//! effects in order, and reports a knock that is over. The last place that was knocked for is the
//! [`Mark`], which outlives the shell. The knock precedes its mark: after a crash between both the agent
//! hears of it once more, and never not at all.

use std::collections::VecDeque;

use chat_types::{Item, RoomId, Seq, Span, Time, UserId};

/// How long an agent has to read what it was knocked for, until the waker knocks once more.
const AGAIN: Span = Span::secs(60);

const HOUR: Span = Span::secs(3_600);

/// The most grants that are told apart. A server grants a participant one in each of its rooms.
const MAX_GRANTS: usize = 1_024;

/// An unread event, or gap, as far as it decides whether it concerns its reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unread<'a> {
    /// Its place.
    pub seq: Seq,
    /// Its type.
    pub kind: &'a str,
    /// Its room.
    pub room: RoomId,
    /// Whether the reader is whom it tells of.
    pub is_about_reader: bool,
    /// Whether it is a message to others.
    pub is_to_others: bool,
}

/// What an event is for its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Concern {
    /// It asks for the reader's attention.
    News,
    /// It does as long as the stick is the reader's.
    Grant,
    /// The stick is the reader's no more.
    GrantEnded,
    /// It is not for the reader.
    None,
}

impl Concern {
    fn of(unread: Unread<'_>) -> Self {
        match unread.kind {
            _ if unread.is_to_others => Self::None,
            "chatroom.found" | "message.received" | "partner.disconnected" | "gap" => Self::News,
            "stick.granted" if unread.is_about_reader => Self::Grant,
            "stick.released" | "stick.expired" if unread.is_about_reader => Self::GrantEnded,
            kind if kind.starts_with("moderation.") => Self::News,
            _ => Self::None,
        }
    }
}

/// The unread events that concern their reader: their number, and the place of the last one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// All but grants.
    others: u64,
    last: Seq,
    /// The grants that last, with their rooms. One for a message that waited for it is over with it.
    grants: Vec<(RoomId, Seq)>,
}

impl News {
    /// Takes the next element of a page of this reader.
    pub fn read(&mut self, item: Item<'_>, reader: UserId) {
        self.add(match item {
            Item::Gap(gap) => Unread {
                seq: gap.to,
                kind: "gap",
                ..Unread::default()
            },
            Item::Event(seq, event) => Unread {
                seq,
                kind: event.kind(),
                room: event.room,
                is_about_reader: event.about(reader).is_some_and(|who| who.id == reader),
                is_to_others: event.body.is_to_others(reader),
            },
        });
    }

    /// Takes the next unread event, or gap.
    pub fn add(&mut self, unread: Unread<'_>) {
        let Unread { seq, room, .. } = unread;
        let concern = Concern::of(unread);
        if let Concern::Grant | Concern::GrantEnded = concern {
            self.grants.retain(|(of, _)| *of != room);
        }
        match concern {
            Concern::Grant if self.grants.len() < MAX_GRANTS => self.grants.push((room, seq)),
            Concern::News | Concern::Grant => {
                self.others += 1;
                self.last = self.last.max(seq);
            }
            Concern::GrantEnded | Concern::None => {}
        }
    }

    /// Whether an event of this type can be news, whomever it is about.
    #[must_use]
    pub fn can_be(kind: &str) -> bool {
        let unread = Unread {
            kind,
            is_about_reader: true,
            ..Unread::default()
        };
        matches!(Concern::of(unread), Concern::News | Concern::Grant)
    }

    /// The number of events.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.others + self.grants.len() as u64
    }

    /// The place of the last one; 0 without any.
    #[must_use]
    pub fn last(&self) -> Seq {
        let grants = self.grants.iter().map(|(_, seq)| *seq);
        grants.max().unwrap_or_default().max(self.last)
    }
}

/// The last place that was knocked for, and whether the knock was repeated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// The place.
    pub seq: Seq,
    /// Whether the agent was knocked for it once more.
    pub is_repeated: bool,
}

/// What a waker wants its shell to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WakerEffect {
    /// Tell the agent of this news, and then the waker that it was tried.
    Knock(News),
    /// Keep this mark for the next life of the waker.
    Keep(Mark),
    /// Report that the limit of an hour is reached: the next knock waits.
    Limited,
}

/// The waker of one participant.
#[derive(Clone, Debug)]
pub struct Waker {
    mark: Mark,
    per_hour: u16,
    /// The instants of the knocks of the last hour, the oldest first: at most `per_hour`.
    knocks: VecDeque<Time>,
    /// When to knock once more for the mark.
    again: Option<Time>,
    /// When to look at the inbox, whether or not something comes.
    due: Option<Time>,
    effects: VecDeque<WakerEffect>,
}

impl Waker {
    /// A waker that begins now, behind the mark of its former life, and knocks at most `per_hour` times an
    /// hour.
    #[must_use]
    pub fn new(now: Time, mark: Mark, per_hour: u16) -> Self {
        Self {
            mark,
            per_hour,
            knocks: VecDeque::new(),
            again: (!mark.is_repeated).then(|| now + AGAIN),
            due: None,
            effects: VecDeque::new(),
        }
    }

    /// Counts knocks of its former lives against the limit: those of the last hour, the oldest first.
    pub fn remember_knocks(&mut self, now: Time, knocks: impl IntoIterator<Item = Time>) {
        let recent = knocks.into_iter().filter(|at| now.since(*at) < HOUR);
        self.knocks = recent.take(usize::from(self.per_hour)).collect();
    }

    /// The knocks of the last hour, the oldest first.
    pub fn knocks(&self) -> impl Iterator<Item = Time> {
        self.knocks.iter().copied()
    }

    /// The last place that it decided to knock for.
    #[must_use]
    pub const fn mark(&self) -> Mark {
        self.mark
    }

    /// Whether there is something to do.
    #[must_use]
    pub fn has_effects(&self) -> bool {
        !self.effects.is_empty()
    }

    /// Decides whether to knock for what is unread now.
    pub fn handle_unread(&mut self, now: Time, news: News) {
        let was_due = self.due.take();
        if news.count() == 0 {
            return;
        }
        let is_repeated = news.last() <= self.mark.seq;
        if is_repeated && self.again.is_none_or(|again| again > now) {
            self.due = self.again;
            return;
        }
        self.knocks.retain(|at| now.since(*at) < HOUR);
        if self.knocks.len() >= usize::from(self.per_hour) {
            self.due = self.knocks.front().map(|first| *first + HOUR);
            if self.due != was_due {
                self.effects.push_back(WakerEffect::Limited);
            }
            return;
        }
        self.knocks.push_back(now);
        let seq = news.last().max(self.mark.seq);
        self.mark = Mark { seq, is_repeated };
        self.effects.push_back(WakerEffect::Knock(news));
    }

    /// The knock is over, whether or not the agent heard it.
    pub fn handle_knocked(&mut self, now: Time) {
        self.again = (!self.mark.is_repeated).then(|| now + AGAIN);
        self.effects.push_back(WakerEffect::Keep(self.mark));
    }

    /// What to do next. To be drained after every input.
    pub fn poll_effect(&mut self) -> Option<WakerEffect> {
        self.effects.pop_front()
    }

    /// When to look at the inbox, whether or not something comes.
    #[must_use]
    pub const fn poll_timeout(&self) -> Option<Time> {
        self.due
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    /// Plays a script on a waker with a limit of three knocks an hour, and compares its effects and its next
    /// look with those that are written with each line.
    #[track_caller]
    fn check(script: &str) {
        let (mut waker, mut unread, mut played) = (None, Vec::new(), String::new());
        let lines = || {
            script
                .lines()
                .map(str::trim)
                .filter(|line| !line.is_empty())
        };
        for line in lines() {
            let input = line.split(" ⇒").next().unwrap_or_default();
            let mut words = input.split(' ');
            let at = Time(0) + Span::parse(words.next().unwrap_or_default()).expect("an instant");
            let waker: &mut Waker = waker.get_or_insert_with(|| Waker::new(at, Mark::default(), 3));
            match words.next().unwrap_or_default() {
                "comes" => unread.extend(words.map(event)),
                "reads" => unread.clear(),
                "looks" => {
                    let mut news = News::default();
                    unread.iter().for_each(|event| news.add(*event));
                    waker.handle_unread(at, news);
                }
                "knocked" => waker.handle_knocked(at),
                "restarts" => {
                    let seq = words.next().and_then(|seq| seq.parse().ok()).map(Seq);
                    let seq = seq.expect("the place of the mark");
                    let is_repeated = words.next() == Some("twice");
                    *waker = Waker::new(at, Mark { seq, is_repeated }, 3);
                }
                word => panic!("{word}"),
            }
            let mut effects: Vec<String> =
                std::iter::from_fn(|| waker.poll_effect().map(shown)).collect();
            let due = waker.poll_timeout().filter(|_| input.ends_with("looks"));
            effects.extend(due.map(|due| format!("next {}s", due.0 / 1_000_000)));
            let arrow = if effects.is_empty() { "" } else { " ⇒ " };
            let _ = writeln!(played, "{input}{arrow}{}", effects.join("; "));
        }
        let expected: Vec<&str> = lines().collect();
        assert_eq!(played.lines().collect::<Vec<_>>(), expected, "\n{played}");
    }

    /// `17:message.received`; with a `!` it is about the reader, with a `?` to others, with `/2` in room 2.
    fn event(word: &str) -> Unread<'_> {
        let (seq, kind) = word.split_once(':').expect("a place and a type");
        let (kind, room) = kind.split_once('/').unwrap_or((kind, "1"));
        Unread {
            seq: Seq(seq.parse().expect("a place")),
            kind: kind.trim_end_matches(['!', '?']),
            room: RoomId(room.parse().expect("a room")),
            is_about_reader: kind.ends_with('!'),
            is_to_others: kind.ends_with('?'),
        }
    }

    fn shown(effect: WakerEffect) -> String {
        match effect {
            WakerEffect::Knock(news) => format!("knock for {} up to {}", news.count(), news.last()),
            WakerEffect::Keep(mark) => {
                let times = if mark.is_repeated { "twice" } else { "once" };
                format!("keep {} {times}", mark.seq)
            }
            WakerEffect::Limited => "limited".to_owned(),
        }
    }

    #[test]
    fn an_agent_is_knocked_once_and_once_more_for_what_it_does_not_read() {
        check(
            "0s looks
            1s comes 6:message.received? 7:user.joined 8:message.received 9:stick.claimed
            1s looks ⇒ knock for 1 up to 8
            3s knocked ⇒ keep 8 once
            3s looks ⇒ next 63s
            9s comes 10:user.left
            9s looks ⇒ next 63s
            62s looks ⇒ next 63s
            63s looks ⇒ knock for 1 up to 8
            64s knocked ⇒ keep 8 twice
            64s looks
            900s looks
            900s comes 11:message.received
            900s looks ⇒ knock for 2 up to 11
            900s knocked ⇒ keep 11 once
            901s reads
            901s looks
            960s looks",
        );
    }

    #[test]
    fn what_was_read_before_the_second_knock_is_over() {
        check(
            "0s comes 1:message.received
            0s looks ⇒ knock for 1 up to 1
            0s knocked ⇒ keep 1 once
            5s reads
            60s looks
            70s comes 2:user.joined
            70s looks
            80s comes 3:chatroom.found
            80s looks ⇒ knock for 1 up to 3",
        );
    }

    #[test]
    fn a_grant_counts_while_the_stick_is_the_readers() {
        check(
            "0s comes 1:stick.granted 2:stick.granted! 3:stick.released!
            0s looks
            1s comes 4:stick.granted! 5:stick.granted!/2 6:stick.released!/2
            1s looks ⇒ knock for 1 up to 4
            1s knocked ⇒ keep 4 once
            2s comes 7:stick.expired!
            2s looks
            61s looks",
        );
    }

    #[test]
    fn every_kind_that_asks_for_attention_is_news() {
        let told = |kind: &&str| {
            let mut news = News::default();
            news.add(Unread {
                seq: Seq(1),
                kind,
                is_about_reader: true,
                ..Unread::default()
            });
            news.count() == 1 && News::can_be(kind)
        };
        let kinds: Vec<&str> = chat_types::EVENTS.iter().copied().filter(told).collect();
        assert_eq!(
            kinds.join(" "),
            "chatroom.found message.received partner.disconnected stick.granted moderation.muted \
             moderation.kicked moderation.closed gap"
        );
    }

    #[test]
    fn a_crash_before_the_mark_costs_a_second_knock_and_no_knock_is_lost() {
        check(
            "0s comes 4:message.received
            0s looks ⇒ knock for 1 up to 4
            1s restarts 0 once
            1s looks ⇒ knock for 1 up to 4
            1s knocked ⇒ keep 4 once
            2s restarts 4 once
            2s looks ⇒ next 62s
            62s looks ⇒ knock for 1 up to 4
            62s knocked ⇒ keep 4 twice
            63s restarts 4 twice
            63s looks
            500s looks",
        );
    }

    #[test]
    fn beyond_the_limit_a_knock_waits_until_the_hour_of_the_first_is_over() {
        check(
            "0s comes 1:message.received
            0s looks ⇒ knock for 1 up to 1
            0s knocked ⇒ keep 1 once
            10s comes 2:message.received
            10s looks ⇒ knock for 2 up to 2
            10s knocked ⇒ keep 2 once
            70s looks ⇒ knock for 2 up to 2
            70s knocked ⇒ keep 2 twice
            80s comes 3:message.received
            80s looks ⇒ limited; next 3600s
            90s comes 4:message.received
            90s looks ⇒ next 3600s
            3599s looks ⇒ next 3600s
            3600s looks ⇒ knock for 4 up to 4
            3600s knocked ⇒ keep 4 once
            3601s comes 5:message.received
            3601s looks ⇒ limited; next 3610s
            3602s reads
            3610s looks",
        );
    }

    #[test]
    fn a_mark_never_goes_back() {
        check(
            "0s comes 3:message.received 5:stick.granted!
            0s looks ⇒ knock for 2 up to 5
            0s knocked ⇒ keep 5 once
            9s comes 6:stick.expired!
            60s looks ⇒ knock for 1 up to 3
            60s knocked ⇒ keep 5 twice",
        );
    }

    #[test]
    fn a_hostile_inbox_does_not_grow_the_news_beyond_its_limit() {
        let mut news = News::default();
        for room in 0..3_000 {
            news.add(Unread {
                seq: Seq(room + 1),
                kind: "stick.granted",
                room: RoomId(room),
                is_about_reader: true,
                is_to_others: false,
            });
        }
        assert_eq!(
            (news.grants.len(), news.count(), news.last()),
            (MAX_GRANTS, 3_000, Seq(3_000))
        );
    }
}
