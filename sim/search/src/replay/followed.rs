//! One participant of a journal: its calls with their outcomes, and the events of its inbox.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use chat_core::{Entry, Hub, SecretHash, Seq, UserId};
use chat_types::Span;
use sim_model::protocol::{InboxEvent, Op, Refusal, Reply};
use sim_model::server::Implied;
use sim_model::words;

/// The largest number of events that are read at once.
const PAGE: usize = 100;

/// The largest number of names that are kept for an error.
const MAX_NAMES: usize = 10_000;

/// A participant to follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FollowTarget {
    /// `user_7`.
    Number(u64),
    /// A display name, or a public id that was chosen. Several participants may have had it.
    Name(String),
}

impl FromStr for FollowTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.strip_prefix("user_");
        Ok(match number.and_then(|digits| digits.parse().ok()) {
            Some(number) => Self::Number(number),
            None if text.is_empty() => return Err("write a name, or an id such as user_7".into()),
            None => Self::Name(text.into()),
        })
    }
}

/// The followed participants, with the end of each inbox.
pub(super) struct FollowedParticipant {
    whom: FollowTarget,
    inboxes: BTreeMap<UserId, Seq>,
    /// Their handles, also after they unregister.
    handles: BTreeMap<SecretHash, UserId>,
    /// Display names of others.
    others: BTreeSet<String>,
}

impl FollowedParticipant {
    pub(super) fn new(whom: &FollowTarget) -> Self {
        Self {
            whom: whom.clone(),
            inboxes: BTreeMap::new(),
            handles: BTreeMap::new(),
            others: BTreeSet::new(),
        }
    }

    /// The display names of others, if no participant was the followed one.
    pub(super) fn other_names(self) -> Option<Vec<String>> {
        let is_missing = self.inboxes.is_empty();
        is_missing.then(|| self.others.into_iter().collect())
    }

    /// Shows the entry if it is of a followed participant, and what it added to their inboxes.
    pub(super) fn entry(
        &mut self,
        hub: &Hub,
        (position, after): (u64, Span),
        entry: &Entry,
        said: Result<&Reply, Refusal>,
        show: &mut dyn FnMut(&str),
    ) {
        if let Some(user) = self.actor(hub, entry) {
            self.inboxes.entry(user).or_insert(Seq(0));
            show(&line(position, after, user, &deed(entry, said)));
        }
        for (user, end) in &mut self.inboxes {
            while let Ok(page) = hub.read_inbox(*user, *end, PAGE)
                && page.cursor > *end
            {
                for (_, event) in &page.events {
                    let event = InboxEvent::Event(event);
                    let words = format!("  · {}", words::event_words(event, Some(*user)));
                    show(&line(position, after, *user, &words));
                }
                *end = page.cursor;
            }
        }
    }

    /// The followed participant whose call or stream the entry is about.
    fn actor(&mut self, hub: &Hub, entry: &Entry) -> Option<UserId> {
        let (user, handle) = match entry {
            Entry::Call { caller, .. } => {
                let handle = caller.handle();
                // The call that unregisters a participant is its last.
                let left = || self.handles.get(&handle).copied();
                (hub.user_by_handle(&handle).or_else(left)?, Some(handle))
            }
            Entry::Implied { user, .. } => (*user, None),
            Entry::Operate { .. }
            | Entry::Tick
            | Entry::Started { .. }
            | Entry::Resumed { .. }
            | Entry::Stepped => return None,
        };
        let is_followed = self.inboxes.contains_key(&user) || self.is_meant(hub, user);
        if is_followed && let Some(handle) = handle {
            self.handles.insert(handle, user);
        }
        if self.inboxes.is_empty() && self.others.len() < MAX_NAMES {
            let who = hub.who_is(user).filter(|_| !is_followed);
            self.others.extend(who.map(|who| who.name.to_string()));
        }
        is_followed.then_some(user)
    }

    fn is_meant(&self, hub: &Hub, user: UserId) -> bool {
        match &self.whom {
            FollowTarget::Number(number) => user.0 == *number,
            FollowTarget::Name(name) => hub.who_is(user).is_some_and(|who| {
                *who.name == **name || who.chosen_id.as_deref() == Some(name.as_str())
            }),
        }
    }
}

fn line(position: u64, after: Span, user: UserId, words: &str) -> String {
    let seconds = after.0 as f64 / 1_000_000.0;
    format!("{position:>9}  {seconds:>12.3}s  {user}  {words}")
}

/// The entry with its outcome, in words.
fn deed(entry: &Entry, said: Result<&Reply, Refusal>) -> String {
    let Entry::Call { command, .. } = entry else {
        return kind(entry).to_owned();
    };
    let outcome = match said {
        Ok(reply) => words::reply_words(reply),
        Err(refusal) => format!("refused: {}", refusal.code),
    };
    let called = words::called(&Op::Command(command.clone()));
    format!("{called} → {outcome}")
}

/// The kind of an entry: a tool, or what the server wrote.
pub(super) const fn kind(entry: &Entry) -> &'static str {
    match entry {
        Entry::Call { command, .. } => command.tool(),
        Entry::Implied { implied, .. } => match implied {
            Implied::OpenStream => "stream opened",
            Implied::CloseStream => "stream closed",
            Implied::Seen { .. } => "seen",
            Implied::Read { .. } => "read",
        },
        Entry::Operate { .. } => "operator's act",
        Entry::Tick => "deadline",
        Entry::Started { .. } => "start",
        Entry::Resumed { .. } => "restart",
        Entry::Stepped => "step of the clock",
    }
}
