//! Operations of clients, generated from the table of verbs.

use std::sync::Arc;

use chat_types::{Addressees, Command, Epoch, Read, Seq, Span};

use super::{CHECK_MAX, Room, User};

/// An operation of a client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum Op {
    /// A command.
    Command(Command),
    /// A read, by this secret.
    Read { read: Read, by: ReadBy },
}

/// Generates the types from the table of verbs: all operations of clients, each declared once, in the
/// order of [`OpKind`].
///
/// A row of a command is its kind and its variant of [`Command`], a row of a read its kind and its variant
/// of [`Read`]. Both are followed in this order by:
/// - `verb "…"`: its name in scenarios and traces; or `plain "…"`, if a scenario writes it as a
///   single word, and the user has values for all fields.
/// - `tool "…"`: the name of the server's tool, if it differs.
/// - `in`, `under`, `about` and `for`: the fields that name the room, the grant of the stick, another
///   participant, and those that a message is addressed to. A plain verb has no others.
macro_rules! types {
    (
        commands { $(
            $kind:ident $command:ident
            $(verb $verb:literal)? $(plain $plain:literal)? $(tool $tool:literal)?
            $(in $room:ident)? $(under $epoch:ident)? $(about $user:ident)? $(for $to:ident)?;
        )* }
        reads { $(
            $read:ident $variant:ident $(verb $read_verb:literal)? $(plain $read_plain:literal)? $(in $read_room:ident)?;
        )* }
    ) => {
        /// An operation without its arguments.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "each is the operation of that name")]
        pub enum OpKind {
            $($kind,)*
            $($read,)*
        }

        /// A verb that scenarios write as a single word.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Plain {
            $($(#[doc = $plain] $kind = OpKind::$kind as isize,)?)*
            $($(#[doc = $read_plain] $read = OpKind::$read as isize,)?)*
        }

        impl OpKind {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)* $(Self::$read,)*];

            /// The kind of a command.
            #[must_use]
            pub const fn of(command: &Command) -> Self {
                match command {
                    $(Command::$command { .. } => Self::$kind,)*
                }
            }

            /// The kind of a read.
            #[must_use]
            pub const fn of_read(read: &Read) -> Self {
                match read {
                    $(Read::$variant { .. } => Self::$read,)*
                }
            }

            /// The verb in scenarios and traces.
            #[must_use]
            pub const fn verb(self) -> &'static str {
                match self {
                    $(Self::$kind => concat!($($verb)? $($plain)?),)*
                    $(Self::$read => concat!($($read_verb)? $($read_plain)?),)*
                }
            }

            /// The verb as a single word of scenarios, if it is one.
            #[must_use]
            pub const fn plain(self) -> Option<Plain> {
                match self {
                    $(Self::$kind => of_plain!([$($plain)?] Plain::$kind),)*
                    $(Self::$read => of_plain!([$($read_plain)?] Plain::$read),)*
                }
            }

            /// The name of the server's tool; for breaks, the common word.
            #[must_use]
            pub const fn tool(self) -> &'static str {
                match self {
                    $(Self::$kind => [$($tool,)? self.verb()][0],)*
                    $(Self::$read => self.verb(),)*
                }
            }

            /// Whether the operation takes place in a room, or concerns another participant.
            #[must_use]
            pub const fn is_among_others(self) -> bool {
                match self {
                    $(Self::$kind => !concat!($(stringify!($room))? $(stringify!($user))?).is_empty(),)*
                    $(Self::$read => !concat!($(stringify!($read_room))?).is_empty(),)*
                }
            }

            /// The operation without a room, an epoch and addressees; none for a verb that takes more, or that needs a
            /// participant while there is none.
            fn bare(self, about: Option<User>) -> Option<Op> {
                match self {
                    $(Self::$kind => of_plain!([$($plain)?] Op::Command(Command::$command {
                        $($room: None,)?
                        $($epoch: None,)?
                        $($user: about?,)?
                        $($to: Addressees::ALL,)?
                    })),)*
                    $(Self::$read => of_plain!([$($read_plain)?] Op::by_handle(Read::$variant {
                        $($read_room: None,)?
                    })),)*
                }
            }
        }

        impl Op {
            /// The kind of operation.
            #[must_use]
            pub const fn kind(&self) -> OpKind {
                match self {
                    Self::Command(command) => OpKind::of(command),
                    Self::Read { read, .. } => OpKind::of_read(read),
                }
            }

            /// The room of an operation in a room. The inner value is none if the room is left to
            /// the server.
            #[must_use]
            pub const fn room(&self) -> Option<Option<Room>> {
                match self {
                    $(Self::Command(Command::$command { $($room,)? .. }) => [$(Some(*$room),)? None][0],)*
                    $(Self::Read { read: Read::$variant { $($read_room,)? .. }, .. } => [$(Some(*$read_room),)? None][0],)*
                }
            }

            /// The fields that name the room and the epoch.
            pub fn place_mut(&mut self) -> (Option<&mut Option<Room>>, Option<&mut Option<Epoch>>) {
                match self {
                    $(Self::Command(Command::$command { $($room,)? $($epoch,)? .. }) =>
                        ([$($room)?].into_iter().next(), [$($epoch)?].into_iter().next()),)*
                    $(Self::Read { read: Read::$variant { $($read_room,)? .. }, .. } =>
                        ([$($read_room)?].into_iter().next(), None),)*
                }
            }

            /// The epoch that the operation names.
            #[must_use]
            pub const fn epoch(&self) -> Option<Epoch> {
                match self {
                    $(Self::Command(Command::$command { $($epoch,)? .. }) => [$(*$epoch,)? None][0],)*
                    Self::Read { .. } => None,
                }
            }

            /// The participant that the operation concerns.
            #[must_use]
            pub const fn about(&self) -> Option<User> {
                match self {
                    $(Self::Command(Command::$command { $($user,)? .. }) => [$(Some(*$user),)? None][0],)*
                    Self::Read { .. } => None,
                }
            }
        }
    };
}

/// A value for a row with `plain`; nothing for other rows.
macro_rules! of_plain {
    ([] $($value:tt)*) => { None };
    ([$plain:literal] $($value:tt)*) => { Some($($value)*) };
}

types! {
    commands {
        EnterQueue EnterQueue verb "enter_queue";
        LeaveQueue LeaveQueue plain "leave_queue";
        Login Login verb "login";
        Send SendMessage verb "send" tool "send_message" in room under epoch for to;
        Speak Speak verb "speak" in room for to;
        TalkingStick TalkingStick verb "talking_stick" in room under epoch;
        Append Append verb "append" in room under epoch;
        Undo Undo verb "undo" in room under epoch;
        Reset Reset verb "reset" in room under epoch;
        Push Push plain "push" in room under epoch for to;
        LeaveChat LeaveChat plain "leave_chat" in room;
        Typing Typing plain "typing" in room;
        Block BlockUser plain "block" tool "block_user" about user;
        Unblock UnblockUser plain "unblock" tool "unblock_user" about user;
        Report ReportUser verb "report" tool "report_user" about user;
        Break TakeBreak verb "break";
        Unregister Unregister plain "unregister";
    }
    reads {
        Check Check verb "check";
        History History verb "history" in room;
        ListUsers Members plain "list_users" in room;
        Mood Mood verb "check_stress_status";
    }
}

impl Plain {
    /// Its row of the table.
    #[must_use]
    pub const fn kind(self) -> OpKind {
        OpKind::ALL[self as usize]
    }

    /// The operation about this participant, without a room and an epoch; none if it needs a participant.
    #[must_use]
    pub fn op(self, about: Option<User>) -> Option<Op> {
        self.kind().bare(about)
    }
}

impl OpKind {
    /// Whether the operation registers a client without a handle.
    #[must_use]
    pub const fn registers(self) -> bool {
        matches!(self, Self::EnterQueue | Self::Login | Self::Break)
    }
}

impl Op {
    /// The read by the client's handle.
    #[must_use]
    pub const fn by_handle(read: Read) -> Self {
        let by = ReadBy::Handle;
        Self::Read { read, by }
    }

    /// A read of the inbox, which waits up to `wait` for events.
    #[must_use]
    pub fn check(after: Option<u64>, wait: Span, by: ReadBy) -> Self {
        let (after, max) = (after.map(Seq), CHECK_MAX);
        let read = Read::Check { after, wait, max };
        Self::Read { read, by }
    }

    /// The verb in scenarios and traces.
    #[must_use]
    pub const fn verb(&self) -> &'static str {
        self.kind().verb()
    }

    /// The name of the server's tool.
    #[must_use]
    pub const fn tool(&self) -> &'static str {
        match self {
            Self::Command(command) => command.tool(),
            Self::Read { .. } => self.verb(),
        }
    }

    /// Whether the operation only reads. Reads take no request key.
    #[must_use]
    pub const fn is_read(&self) -> bool {
        matches!(self, Self::Read { .. })
    }

    /// How long the server may hold the call: the wait of a check, or the longest delay of the
    /// answer to a break.
    #[must_use]
    pub const fn hold(&self) -> Span {
        if let Self::Read { read, .. } = self
            && let Read::Check { wait, .. } = read
        {
            return *wait;
        }
        if let Self::Command(Command::TakeBreak { .. }) = self {
            return Span::secs(20);
        }
        Span::ZERO
    }

    /// Those that a message is addressed to.
    pub fn to(&self) -> impl Iterator<Item = User> {
        let to = match self {
            Self::Command(command) => command.to(),
            Self::Read { .. } => None,
        };
        to.into_iter().flat_map(Addressees::iter)
    }

    /// The text that is sent, spoken, or appended to a draft.
    #[must_use]
    pub const fn text(&self) -> Option<&Arc<str>> {
        if let Self::Command(
            Command::SendMessage { text, .. }
            | Command::Speak { text, .. }
            | Command::Append { text, .. },
        ) = self
        {
            return Some(text);
        }
        None
    }
}

/// The secret by which a client reads its inbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReadBy {
    /// Its handle.
    #[default]
    Handle,
    /// Its reader id, which gives access to the inbox alone.
    ReaderId,
}

impl ReadBy {
    /// The other secret.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Handle => Self::ReaderId,
            Self::ReaderId => Self::Handle,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_plain_verb_takes_its_arguments_from_the_user() {
        let mut push = Plain::Push.op(None).unwrap();
        let (Some(room), Some(epoch)) = push.place_mut() else {
            panic!("a push names both");
        };
        (*room, *epoch) = (Some(Room(3)), Some(Epoch(7)));
        if let Op::Command(push) = &mut push {
            *push.to_mut().unwrap() = [User(4)].into_iter().collect();
        }
        let expected = Op::Command(Command::Push {
            room: Some(Room(3)),
            epoch: Some(Epoch(7)),
            to: [User(4)].into_iter().collect(),
        });
        assert_eq!(push, expected);
        assert_eq!(push.to().collect::<Vec<_>>(), [User(4)]);
        assert_eq!(Plain::Block.op(None), None);
        for plain in OpKind::ALL.iter().filter_map(|kind| kind.plain()) {
            let op = plain.op(Some(User(4))).unwrap();
            assert_eq!(op.kind().plain(), Some(plain));
        }
    }

    #[test]
    fn a_call_returns_its_room_and_its_user() {
        let report = Op::Command(Command::ReportUser {
            user: User(4),
            reason: "spam".into(),
        });
        assert_eq!((report.room(), report.about()), (None, Some(User(4))));
        let push = Op::Command(Command::Push {
            room: None,
            epoch: Some(Epoch(7)),
            to: Addressees::ALL,
        });
        assert_eq!((push.room(), push.epoch()), (Some(None), Some(Epoch(7))));
        let history = Op::by_handle(Read::History {
            room: Some(Room(3)),
            before: None,
            limit: 1,
        });
        assert_eq!(history.room(), Some(Some(Room(3))));
        assert_eq!((history.epoch(), history.about()), (None, None));
    }

    #[test]
    fn no_two_verbs_share_a_word_or_a_tool() {
        let verbs: BTreeSet<_> = OpKind::ALL.iter().map(|kind| kind.verb()).collect();
        let tools: BTreeSet<_> = OpKind::ALL.iter().map(|kind| kind.tool()).collect();
        assert_eq!(verbs.len(), OpKind::ALL.len());
        assert_eq!(tools.len(), OpKind::ALL.len());
    }
}
