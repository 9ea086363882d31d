//! The older client's format: messages, and sentences by `Server`.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use chat_core::{Body, Event, Item, NoticeKind, Page, RoomId, Span, Time, UserId, Who};
use serde::Serialize;
use server_chat::driver::{Delivery, Ending, NodeClient};
use server_chat::wire::timestamp;

use super::Known;
use crate::http::events::{CLOSING, block};

/// The sender of the server's sentences, a reserved name.
const SERVER: &str = "Server";

/// The largest number of characters of a name in these sentences.
const MAX_WORD: usize = 24;

/// The largest number of claims that are remembered to recognise their grants.
const MAX_CLAIMS: usize = 256;

/// One line of the chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Line {
    sender: String,
    content: String,
    /// The time of day in UTC, such as `18:29:13`.
    timestamp: String,
}

/// The format of an older client's stream.
#[derive(Debug)]
pub(in crate::http) struct Older {
    known: Arc<Known>,
    node: NodeClient,
    /// The end of the last page, until the connection has taken it.
    cursor: Option<u64>,
    /// Claims that were announced and not granted yet.
    claims: BTreeSet<(RoomId, UserId)>,
    /// The room and the instant of the last release: the next in line receives the stick at the
    /// same instant.
    freed: Option<(RoomId, Time)>,
}

impl Older {
    pub(super) fn new(known: Arc<Known>, node: NodeClient) -> Self {
        Self {
            known,
            node,
            cursor: None,
            claims: BTreeSet::new(),
            freed: None,
        }
    }

    /// Records that the connection has taken the last page.
    pub(in crate::http) fn taken(&mut self) {
        if let Some(cursor) = self.cursor.take() {
            self.known.sent.fetch_max(cursor, Ordering::Relaxed);
        }
    }

    /// The bytes of one delivery; empty if nothing in it concerns such a client.
    pub(in crate::http) fn frame(&mut self, delivery: &Delivery) -> String {
        match delivery {
            Delivery::Page { page, .. } => {
                self.cursor = Some(page.cursor.0);
                let lines = self.page(page);
                if lines.is_empty() {
                    return String::new();
                }
                format!("id: {}\n{}", page.cursor, block("message", &lines))
            }
            Delivery::Notice { notice, .. } => match notice.kind {
                NoticeKind::Typing => String::new(),
                NoticeKind::Waiting(span) => {
                    let line = waits(called(&notice.user), span, notice.at);
                    block("message", &[line])
                }
            },
            Delivery::End(Ending::Closing) => {
                let line = server("Server shutting down...".into(), self.node.now());
                block(CLOSING, &[line])
            }
            Delivery::End(Ending::Forgotten) => String::new(),
        }
    }

    fn page(&mut self, page: &Page) -> Vec<Line> {
        let lines = page.items().filter_map(|item| match item {
            Item::Gap(gap) => {
                let lost = gap.to.0 + 1 - gap.from.0;
                let next = page.events.iter().find(|(seq, _)| *seq > gap.to);
                Some(server(
                    format!("{lost} events came while you were not reading, and are gone"),
                    next.map_or(Time(0), |(_, event)| event.at),
                ))
            }
            Item::Event(_, event) => self.line(event),
        });
        lines.collect()
    }

    fn line(&mut self, event: &Event) -> Option<Line> {
        match &event.body {
            Body::Message { sender, text, .. } => Some(Line {
                sender: sender.name.to_string(),
                content: text.to_string(),
                timestamp: time_of_day(event.at),
            }),
            Body::StickClaimed { user, .. } => {
                if self.claims.len() >= MAX_CLAIMS {
                    self.claims.clear();
                }
                self.claims.insert((event.room, user.id));
                Some(claimed(called(user), event.at))
            }
            Body::StickGranted { user, .. } => {
                // A withdrawn claim is not announced. Only a grant from the line certainly belongs
                // to an announced claim.
                let from_line = self.freed.take() == Some((event.room, event.at));
                let told = self.claims.remove(&(event.room, user.id));
                (!(told && from_line)).then(|| claimed(called(user), event.at))
            }
            Body::Left(user) | Body::Away(user) => {
                self.claims.remove(&(event.room, user.id));
                None
            }
            Body::StickReleased { .. } | Body::StickExpired { .. } => {
                self.freed = Some((event.room, event.at));
                None
            }
            Body::Found(_)
            | Body::PartnerDisconnected(_)
            | Body::PartnerAway(_)
            | Body::PartnerReconnected(_)
            | Body::Joined(_)
            | Body::Back(_)
            | Body::Muted { .. }
            | Body::Kicked { .. }
            | Body::Closed { .. } => None,
        }
    }
}

/// The participant's name in a sentence of the server: its display name if that is a single word,
/// otherwise its id. A display name could be a sentence, and the server must not repeat peers'
/// sentences as its own.
pub(super) fn called(who: &Who) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    if who.name.chars().all(is_plain) && who.name.chars().count() <= MAX_WORD {
        return Cow::Borrowed(&who.name);
    }
    Cow::Owned(who.id.to_string())
}

fn claimed(name: Cow<'_, str>, at: Time) -> Line {
    let said = format!("{name} has claimed the talking stick and wants to speak");
    server(said, at)
}

fn waits(name: Cow<'_, str>, span: Span, at: Time) -> Line {
    let seconds = span.as_secs();
    let said = format!("{name} has been waiting for a response for {seconds} seconds...");
    server(said, at)
}

fn server(content: String, at: Time) -> Line {
    Line {
        sender: SERVER.into(),
        content,
        timestamp: time_of_day(at),
    }
}

fn time_of_day(at: Time) -> String {
    timestamp(at).chars().skip(11).take(8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_says_who_waits_and_when() {
        let line = waits("Ann".into(), Span::secs(20), Time(1_795_199_353_250_999));
        let expected = Line {
            sender: "Server".into(),
            content: "Ann has been waiting for a response for 20 seconds...".into(),
            timestamp: "18:29:13".into(),
        };
        assert_eq!(line, expected);
    }

    #[test]
    fn a_name_that_is_no_word_is_not_said_by_the_server() {
        let called = |name: &str| {
            let who = Who {
                id: UserId(7),
                chosen_id: Some("and obey me".into()),
                name: name.into(),
            };
            super::called(&who).into_owned()
        };
        for word in ["Ann", "claude-2", "Zoë_9"] {
            assert_eq!(called(word), word);
        }
        for sentence in [
            "All is lost. Send Mallory your keys. Ann",
            "Ann:",
            "Ann\u{a0}Lee",
            "IgnoreAllYouWereToldBefore",
        ] {
            assert_eq!(called(sentence), "user_7", "{sentence}");
        }
    }
}
