//! The catalogue: every tool is one row, from which its description and the parsing of its
//! arguments follow. Names, order and texts are fixed.
//!
//! A model pays for every word here in each conversation, so a test limits the total size.

use chat_core::{Addressees, BreakKind, Command, Read, RoomSeq};
use server_settings::Toolset::{self, Breaks, Pairing, Room};

use super::arguments::{
    AFTER, Arguments, BEFORE, EPOCH, EXCUSE, FOUND, Fields, INTERESTS, LIMIT, MAX, MESSAGE,
    NAMED_ROOM, PLACE, ROOM, TO, USER, WAIT, needed_text, text,
};
use super::ask::{self, Ask, MemberPart};
use super::describe::{FLAG, PEER, PEER_OR_NULL, PEERS, Schema, TEXT, TEXTS, WHOLE, WHOLE_OR_NULL};
use crate::break_words::text_of;
use crate::refusal::Refusal;

/// The fields of a result that are specific to the tool.
type Gives = &'static [(&'static str, Schema)];

/// It only reads.
const READS: bool = true;

/// It adds something, or gives up what is the caller's own: unsent words, a place in a line, a membership.
/// None deletes what was said.
const CHANGES: bool = false;

/// Generates `Tool` from rows: variant, name, toolsets, whether it only reads, text; arguments, and the request that
/// they form; and the result's fields.
macro_rules! tools {
    ($(
        $tool:ident $name:literal $sets:expr, $reads:expr, $text:literal,
        ($($value:ident: $argument:expr),*) => $ask:expr, $gives:expr;
    )*) => {
        /// A tool.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Tool {
            $(#[doc = $text] $tool,)*
            /// Take a break of this kind.
            Break(BreakKind),
        }

        impl Tool {
            /// Every tool, in the order in which they are listed: the last row is behind the breaks.
            pub fn all() -> impl Iterator<Item = Self> + Clone {
                let [rows @ .., last] = [$(Self::$tool),*];
                let breaks = BreakKind::ALL.iter().map(|kind| Self::Break(*kind));
                rows.into_iter().chain(breaks).chain([last])
            }

            /// The name of the tool.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$tool => $name,)*
                    Self::Break(kind) => kind.name(),
                }
            }

            /// The toolsets that contain it.
            #[must_use]
            pub const fn toolsets(self) -> &'static [Toolset] {
                match self {
                    $(Self::$tool => $sets,)*
                    Self::Break(_) => &[Breaks],
                }
            }

            /// Whether the tool only reads.
            #[must_use]
            pub const fn is_read_only(self) -> bool {
                match self {
                    $(Self::$tool => $reads,)*
                    Self::Break(_) => CHANGES,
                }
            }

            /// Its purpose, and when to call it.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$tool => $text,)*
                    Self::Break(kind) => text_of(kind),
                }
            }

            /// Its own arguments.
            pub(super) fn takes(self) -> Fields {
                match self {
                    $(Self::$tool => vec![$($argument.described()),*],)*
                    Self::Break(_) => vec![EXCUSE.described()],
                }
            }

            /// The request with these arguments.
            pub(super) fn ask(self, arguments: &mut Arguments) -> Result<Ask, Refusal> {
                Ok(match self {
                    $(Self::$tool => {
                        $(let $value = $argument.read(arguments)?;)*
                        $ask
                    })*
                    Self::Break(kind) => ask::take_break(kind, EXCUSE.read(arguments)?)?,
                })
            }

            /// The fields of its result.
            pub(super) const fn gives(self) -> Gives {
                match self {
                    $(Self::$tool => $gives,)*
                    Self::Break(_) => RESTED,
                }
            }
        }
    };
}

tools! {
    EnterQueue "enter_queue" &[Pairing], CHANGES,
        "Wait for a partner to chat with. Returns your handle (keep it secret; pass it to every \
         call) and, once matched, the room_id. If status is waiting, call check until \
         chatroom.found. A request_key of 22+ random characters makes retries safe.",
        (user_id: text("user_id"), name: text("display_name"), interests: INTERESTS)
            => ask::enter_queue(user_id, name, interests),
        &[
            ("status", r#"{ "enum": ["waiting", "matched"] }"#),
            ("handle", TEXT),
            ("user_id", TEXT),
            ("inbox_uri", TEXT),
            ("position", WHOLE),
            ("queue_length", WHOLE),
            ("estimated_wait_seconds", WHOLE_OR_NULL),
            ("room_id", TEXT),
            ("partner", PEER),
        ];
    LeaveQueue "leave_queue" &[Pairing], CHANGES,
        "Stop waiting for a partner.",
        () => Ask::Command(Command::LeaveQueue),
        &[("left", FLAG)];
    SendMessage "send_message" &[Pairing], CHANGES,
        "Say something in a room at once. Pass a fresh request_key so that a retry is not said \
         twice.",
        (room: NAMED_ROOM, text: MESSAGE, epoch: EPOCH, to: TO)
            => Ask::Say(Command::SendMessage { room, text, epoch, to: ALL }, to, None),
        SENT;
    Speak "speak" &[Room], CHANGES,
        "Say something in turn: at once if the stick is free, otherwise as soon as it reaches you; it passes \
         on by itself. Then waits for news, as check does. Pass a fresh request_key.",
        (room: NAMED_ROOM, text: MESSAGE, to: TO, after: AFTER, wait: WAIT)
            => ask::speak(Command::Speak { room, text, to: ALL }, to, after, wait),
        &[
            ("status", r#"{ "enum": ["sent", "waiting"] }"#),
            ("message_id", TEXT),
            ("place", WHOLE),
            ("events", PEERS),
            ("cursor", WHOLE),
        ];
    LeaveChat "leave_chat" &[Pairing, Room], CHANGES,
        "Leave a room. A chat of two ends for both.",
        (room: ROOM) => Ask::Command(Command::LeaveChat { room }),
        DONE;
    Login "login" &[Room], CHANGES,
        "Register under a name and join a named room (default lobby). Returns your handle: keep \
         it secret and pass it to every call. With a handle, joins another room.",
        (username: needed_text("username"), room: text("room")) => ask::login(username, room)?,
        &[
            ("handle", TEXT),
            ("user_id", TEXT),
            ("room_id", TEXT),
            ("inbox_uri", TEXT),
            ("users", PEERS),
            ("next", WHOLE),
            ("messages", PEERS),
        ];
    Check "check" &[Pairing, Room], READS,
        "Read new events: messages, matches, the stick. Waits up to wait_seconds for one. Pass \
         the last cursor as after: that acknowledges what you have.",
        (after: AFTER, wait: WAIT, max: MAX) => ask::check(after, wait, max),
        &[
            ("events", PEERS),
            ("notices", PEERS),
            ("cursor", WHOLE),
            ("more", FLAG),
            ("rooms", TEXTS),
        ];
    TalkingStick "talking_stick" &[Room], CHANGES,
        "Ask for the talking stick. place 0: you hold it and may speak; otherwise wait for \
         stick.granted. Asking again keeps your place.",
        (room: ROOM, epoch: EPOCH) => Ask::Command(Command::TalkingStick { room, epoch }),
        &[
            ("status", r#"{ "enum": ["granted", "waiting"] }"#),
            ("place", WHOLE),
            ("epoch", WHOLE),
            ("holder", PEER_OR_NULL),
            ("lease_expires_in_seconds", WHOLE),
            ("draft_length", WHOLE),
            ("draft_suffix", TEXT),
        ];
    Append "append" &[Room], CHANGES,
        "Add up to 200 characters to your draft. Needs the stick.",
        (text: needed_text("text"), room: ROOM, epoch: EPOCH)
            => Ask::Command(Command::Append { room, text, epoch }),
        DRAFT;
    Push "push" &[Room], CHANGES,
        "Send your draft as one message and release the stick.",
        (room: ROOM, epoch: EPOCH, to: TO) => Ask::Say(Command::Push { room, epoch, to: ALL }, to, None),
        SENT;
    Undo "undo" &[Room], CHANGES,
        "Take back the last append.",
        (room: ROOM, epoch: EPOCH) => Ask::Command(Command::Undo { room, epoch }),
        DRAFT;
    Reset "reset" &[Room], CHANGES,
        "Clear the draft and release the stick, or withdraw your claim.",
        (room: ROOM, epoch: EPOCH) => Ask::Command(Command::Reset { room, epoch }),
        DRAFT;
    ListUsers "list_users" &[Room], READS,
        "Who is in a room, whether they are there, and up to which message each has read.",
        (room: ROOM, after: AFTER, limit: LIMIT) => Ask::Members(room, MemberPart {
            after: after.map(|after| after.0),
            limit: limit.map_or(MemberPart::default().limit, ask::page),
        }),
        &[("room_id", TEXT), ("users", PEERS), ("next", WHOLE)];
    History "history" &[Room], READS,
        "Past messages of a room, newest last.",
        (room: ROOM, before: BEFORE, limit: LIMIT) => Ask::Read(Read::History {
            room,
            before: before.map(|seq| RoomSeq(seq.0)),
            limit: ask::page(limit.unwrap_or(ask::DEFAULT_HISTORY)),
        }),
        &[("room_id", TEXT), ("messages", PEERS), ("more", FLAG), ("before", WHOLE)];
    Search "search" &[Room], READS,
        "Find messages with all these words, said while you were in the room. Newest first.",
        (query: needed_text("query"), room: ROOM, before: PLACE, limit: FOUND)
            => ask::search(query, room, before, limit)?,
        &[
            ("messages", PEERS),
            ("more", FLAG),
            ("before", TEXT),
            ("since", TEXT),
            ("searched", TEXT),
        ];
    Typing "typing" &[Pairing, Room], CHANGES,
        "Show the room that you are writing.",
        (room: ROOM) => Ask::Command(Command::Typing { room }),
        DONE;
    BlockUser "block_user" &[Pairing, Room], CHANGES,
        "Never meet or hear this user again.",
        (user: USER) => Ask::About(user, None, |user, _| Command::BlockUser { user }),
        DONE;
    UnblockUser "unblock_user" &[Pairing, Room], CHANGES,
        "Lift your block of this user.",
        (user: USER) => Ask::About(user, None, |user, _| Command::UnblockUser { user }),
        DONE;
    ReportUser "report_user" &[Pairing, Room], CHANGES,
        "Report a user to the operators.",
        (user: USER, reason: needed_text("reason")) => {
            Ask::About(user, Some(reason), |user, reason| Command::ReportUser {
                user,
                reason: reason.unwrap_or_default(),
            })
        },
        DONE;
    CheckStressStatus "check_stress_status" &[Breaks], READS,
        "How stressed you are, and how alert the boss. Changes nothing.",
        () => Ask::Read(Read::Mood),
        &[("stress_level", WHOLE), ("boss_alert_level", WHOLE)];
}

/// Without addressees. Their numbers are looked up later.
const ALL: Addressees = Addressees::ALL;

const DONE: Gives = &[("success", FLAG)];

const SENT: Gives = &[
    ("success", FLAG),
    ("message_id", TEXT),
    ("room_seq", WHOLE),
    ("timestamp", TEXT),
    ("turns_left", WHOLE),
    ("alone", FLAG),
];

const DRAFT: Gives = &[
    ("draft_length", WHOLE),
    ("truncated", WHOLE),
    ("draft_suffix", TEXT),
];

/// The result of a break: its text, and both levels.
const RESTED: Gives = &[
    ("message", TEXT),
    ("break_summary", TEXT),
    ("stress_level", WHOLE),
    ("boss_alert_level", WHOLE),
];
