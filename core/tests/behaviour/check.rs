//! Plays a script on a Hub and records the results.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::panic::Location;
use std::path::Path;

use chat_core::{
    Answer, Caller, Config, Effect, Entry, Event, Hub, Implied, MeasureTarget, Read, Reject, Reply,
    RoomId, RoomSeq, Seq, Span, Time, UserId, mix,
};

use crate::render;
use crate::script;
use crate::words::Words;

/// Plays the lines of a script, and compares their results with those that are written with them:
/// the answer, the next deadline where it changed, and each event with its receivers (`ann#3`: at
/// this place of Ann's inbox). With `UPDATE_SCRIPTS=1` it writes them, one test at a time.
///
/// After every line the Hub's contract is checked, too: see `ScriptRun::keep_the_contract`.
#[track_caller]
pub(crate) fn check(text: &str) {
    let (margin, _) = text.split_at(text.find(|c: char| !c.is_whitespace()).expect("lines"));
    let lines: Vec<&str> = text.trim_end().split(margin).skip(1).collect();
    let script = lines.iter().filter(|line| !line.starts_with(' '));
    let script: Vec<&str> = script.filter_map(|line| line.split(" ⇒ ").next()).collect();
    let actual = play(&script.join("\n")).transcript;
    if actual.lines().eq(lines.iter().copied()) {
        return;
    }
    if std::env::var_os("UPDATE_SCRIPTS").is_some() {
        let file = Path::new("..").join(Location::caller().file());
        let source = fs::read_to_string(&file).expect("the test's source");
        let end = &text[text.trim_end().len()..];
        let written = format!("{margin}{}{end}", actual.trim_end().replace('\n', margin));
        fs::write(&file, source.replacen(text, &written, 1)).expect("it is written");
    }
    let mut was = lines.iter().copied().chain(["absent"]);
    let first = actual
        .lines()
        .find_map(|is| was.next().filter(|was| *was != is));
    panic!("the first difference was\n{first:?}\nin\n{actual}");
}

/// A script that was played, and its results.
pub(crate) struct ScriptRun {
    /// The results as text.
    pub(crate) transcript: String,
    /// The outcome of each entry.
    pub(crate) outcomes: Vec<Result<Reply, Reject>>,
    /// Every event that reached an inbox, by kind.
    pub(crate) kinds: Vec<&'static str>,
    /// The Hub at the end.
    pub(crate) hub: Hub,
    at: Time,
    users: BTreeMap<String, UserId>,
    /// The last place of each inbox that was recorded.
    shown: BTreeMap<UserId, Seq>,
    deadline: Option<Time>,
    /// Whether a `resume` lowered limits, so that collections may exceed them for a while.
    lowered: bool,
}

pub(crate) fn play(script: &str) -> ScriptRun {
    // Scripts count on these; the defaults are no matter of theirs.
    let config = Config {
        idle_timeout: Span::secs(300),
        queue_timeout: Span::secs(300),
        ..Config::default()
    };
    let mut run = ScriptRun {
        transcript: String::new(),
        outcomes: Vec::new(),
        kinds: Vec::new(),
        hub: Hub::new(config, 42),
        at: Time(0),
        users: BTreeMap::new(),
        shown: BTreeMap::new(),
        deadline: None,
        lowered: false,
    };
    let lines = script.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty())
        .for_each(|line| run.line(line));
    run
}

impl ScriptRun {
    fn line(&mut self, line: &str) {
        self.transcript.push_str(line);
        let results = self.results(line);
        if !results.is_empty() {
            let _ = write!(self.transcript, " ⇒ {}", results.join("\n    "));
        }
        self.transcript.push('\n');
    }

    /// The results of a line: none of a comment, a configuration and a set-up. What is refused alike
    /// is shown once.
    fn results(&mut self, line: &str) -> Vec<String> {
        if line.starts_with('#') {
            return Vec::new();
        }
        let mut words = Words::of(line);
        if words.take("config").is_some() {
            let config = script::configured(self.hub.config(), &mut words);
            self.hub = Hub::new(config, 42);
            return Vec::new();
        }
        if words.take("seed").is_some() {
            let word = words.next();
            self.hub = Hub::new(self.hub.config().clone(), words.parse(&word));
            return Vec::new();
        }
        self.lowered |= line.contains("resume max_");
        if let Ok(span) = Span::parse(words.peek()) {
            words.next();
            self.at = Time(0) + span;
        }
        let is_given = words.peek() == "given";
        if !is_given && words.peek() != "each" {
            return self.act(words);
        }
        let (mut results, before) = (Vec::new(), self.outcomes.len());
        for step in script::steps(line) {
            results.push(self.act(Words::of(&step)));
            let outcome = self.outcomes.last().expect("an entry");
            assert_eq!(outcome.is_ok(), is_given, "{step}: {outcome:?}");
        }
        if is_given {
            return Vec::new();
        }
        let refusals = &self.outcomes[before..];
        assert!(
            refusals.iter().all(|one| *one == refusals[0]),
            "{refusals:?}"
        );
        results.swap_remove(0)
    }

    fn act(&mut self, mut words: Words) -> Vec<String> {
        let actor = words.next();
        let results = if let Some(answer) = self.read(&actor, &mut words) {
            vec![answer]
        } else {
            let lookup = |name: &str| self.users.get(name).copied();
            let entry = script::entry(&actor, &mut words, self.hub.config(), &lookup);
            self.handle(&actor, &entry)
        };
        words.end();
        self.keep_the_contract();
        results
    }

    fn handle(&mut self, actor: &str, entry: &Entry) -> Vec<String> {
        let before = self.hub.clone();
        let outcome = self.hub.handle(self.at, entry);
        if outcome.is_err() {
            self.nothing_changed(before, entry);
        }
        // A caller may have registered.
        if let Entry::Call { caller, .. } = entry
            && let Some(user) = self.hub.user_by_handle(&caller.handle())
        {
            self.users.insert(actor.to_owned(), user);
        }
        let mut lines = vec![render::outcome(&self.hub, &outcome)];
        let deadline = self.hub.poll_timeout();
        if deadline != self.deadline {
            let next = deadline.map_or("never".to_owned(), |at| render::time(at).to_string());
            lines[0] += &format!("; next {next}");
            self.deadline = deadline;
        }
        let mut grew = BTreeMap::new();
        while let Some(effect) = self.hub.poll_effect() {
            match effect {
                Effect::InboxGrew(user) => *grew.entry(user).or_insert(0) += 1,
                Effect::Noticed { room, notice } => {
                    lines.push(format!("~ {room} {}", render::notice(&notice)));
                }
                Effect::Forgotten(user) => {
                    grew.remove(&user);
                    // A participant whose registration ended registers again at its next login.
                    self.users.retain(|_, known| *known != user);
                    lines.push(format!("{user} is forgotten"));
                }
            }
        }
        lines.extend(self.new_events(&grew));
        self.outcomes.push(outcome);
        lines
    }

    /// Checks that a refusal leaves the state that its envelope alone would leave: time has
    /// advanced, and a caller with a handle was seen, as was one whose stream opens. (With a key
    /// the outcome is remembered, too; see `keys.rs`.)
    fn nothing_changed(&self, mut before: Hub, entry: &Entry) {
        let mut caller = None;
        if let Entry::Call {
            caller: who, key, ..
        } = entry
        {
            if key.is_some() {
                return;
            }
            if let Caller::Handle(handle) = who {
                caller = before.user_by_handle(handle);
            }
        } else if let Some((user, Implied::OpenStream)) = entry.implied() {
            caller = Some(user);
        }
        let envelope = caller.map_or(Entry::Tick, |user| Entry::Implied {
            user,
            implied: Implied::Seen { waiting: None },
        });
        // If the registration ends before the call, the participant is not seen, and the twin
        // refuses as well.
        let _ = before.handle(self.at, &envelope);
        let (expected, found) = (before.digest(), self.hub.digest());
        assert_eq!(expected, found, "after\n{}", self.transcript);
    }

    /// The events since the last line: each one once, with all its receivers.
    fn new_events(&mut self, grew: &BTreeMap<UserId, u64>) -> Vec<String> {
        let mut told: BTreeMap<_, (String, Vec<String>)> = BTreeMap::new();
        let mut gaps = Vec::new();
        for (user, count) in grew {
            let name = render::name(&self.hub, *user);
            let shown = self.shown.entry(*user).or_default();
            let end = self.hub.inbox_cursors(*user).expect("registered").0;
            // The numbers of a lost life have no events.
            if end.0 - shown.0 < 1_000_000 {
                assert_eq!(end.0 - shown.0, *count, "{user} is told of each event once");
            }
            while *shown < end {
                let page = self.hub.read_inbox(*user, *shown, usize::MAX);
                let page = page.expect("a cursor");
                let lost = page.gaps.iter().map(render::gap);
                gaps.extend(lost.map(|gap| format!("{name} {gap}")));
                for (seq, event) in &page.events {
                    let one = told.entry((event.at, event.room, event.room_seq));
                    let (_, whom) = one.or_insert_with(|| (render::event(event), Vec::new()));
                    whom.push(format!("{name}#{seq}"));
                    self.kinds.push(Event::kind(event));
                }
                *shown = page.cursor;
            }
        }
        let events = told.into_values();
        let events = events.map(|(event, whom)| format!("{event} → {}", whom.join(" ")));
        events.chain(gaps).collect()
    }

    /// The answer to a read, if it is one.
    fn read(&mut self, actor: &str, words: &mut Words) -> Option<String> {
        let hub = &self.hub;
        let before = hub.digest();
        let user = || script::participant(actor, &|name| self.users.get(name).copied());
        let answer = |read| hub.answer(user(), self.at, read).map(answered);
        let answer = match (actor, words.peek()) {
            ("reports", _) => return Some(self.reports()),
            ("bans", _) => return Some(self.bans()),
            (_, "read") => {
                let max = words.number("max").unwrap_or(usize::MAX);
                let delivered = hub.inbox_cursors(user()).map(|(_, delivered)| delivered);
                let after = words.number("after").map(Seq).or(delivered);
                let page = hub.read_inbox(user(), after.unwrap_or_default(), max);
                page.map(|page| render::page(&page))
            }
            (_, "users") => {
                let room = words.number("room").map(RoomId);
                answer(Read::Members { room })
            }
            (_, "history") => {
                let room = words.number("room").map(RoomId);
                let before = words.number("before").map(RoomSeq);
                let limit = words.number("limit").unwrap_or(usize::MAX);
                answer(Read::History {
                    room,
                    before,
                    limit,
                })
            }
            (_, "notices") => Ok(self.notices(user())),
            (_, "mood") => answer(Read::Mood),
            _ => return None,
        };
        words.next();
        assert_eq!(self.hub.digest(), before, "a read moves nothing");
        Some(answer.unwrap_or_else(|reject| {
            self.outcomes.push(Err(reject));
            render::outcome(&self.hub, &Err(reject))
        }))
    }

    fn notices(&self, user: UserId) -> String {
        let notices = self.hub.read_notices(user, self.at);
        let notices = notices.iter();
        let one = notices.map(|(room, notice)| format!("{room} {}", render::notice(notice)));
        let all = one.collect::<Vec<_>>().join(", ");
        if all.is_empty() { "none".into() } else { all }
    }

    fn reports(&self) -> String {
        let one = self.hub.reports();
        let one = one.map(|one| format!("{} of {}: {:?}", one.by, one.about, one.reason));
        one.collect::<Vec<_>>().join(", ")
    }

    /// The mutes and bans.
    fn bans(&self) -> String {
        let sizes = self.hub.sizes();
        let bans = sizes.iter().find(|size| size.name == "bans");
        let mut text = format!("{} kept", bans.expect("it is counted").size);
        for (_, kept, ban) in self.hub.kept(None) {
            let what = match kept {
                MeasureTarget::Name(shown) => shown.to_string(),
                MeasureTarget::Handle(owner) => format!("the handle of {}", owner.name),
                MeasureTarget::Address(address) => format!("address {}", address.0),
            };
            let _ = write!(text, ", {what} {:?}: {:?}", ban.measure, ban.reason);
        }
        text
    }

    /// Checks the contract after every line: the invariants, the next deadline later than now, and
    /// a snapshot from which the Hub can continue. After some lines it does continue from one.
    fn keep_the_contract(&mut self) {
        let sound = self.hub.validate();
        assert_eq!(sound, Ok(()), "after\n{}", self.transcript);
        if !self.lowered {
            let sizes = self.hub.sizes();
            let over = sizes.iter().find(|size| size.size > size.limit);
            assert_eq!(over, None, "no limit was lowered");
        }
        let now = self.hub.now();
        let mut later = self.hub.clone();
        later.handle_timeout(now);
        let next = later.poll_timeout();
        assert!(next.is_none_or(|next| next > now), "due, but not done");
        let mut restored = Hub::restore(&self.hub.snapshot()).expect("its own snapshot");
        assert_eq!(restored.digest(), self.hub.digest());
        assert_eq!(restored.poll_timeout(), self.hub.poll_timeout());
        if mix(self.hub.position().0, now.0).is_multiple_of(3) {
            self.hub = restored;
        }
    }
}

fn answered(answer: Answer) -> String {
    match answer {
        Answer::Page { page, .. } => render::page(&page),
        Answer::Members { room, members } => format!("{room}: {}", render::members(&members)),
        Answer::History {
            room,
            messages,
            more,
        } => {
            let mut text = room.to_string();
            if more {
                text += ", and older ones";
            }
            for message in &messages {
                let _ = write!(text, "\n    {}", render::event(message));
            }
            text
        }
        Answer::Mood { stress, boss_alert } => format!("stress {stress}, boss {boss_alert}"),
    }
}
