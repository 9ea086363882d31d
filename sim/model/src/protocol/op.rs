//! Operations of clients, generated from the table of verbs.

use std::sync::Arc;

use chat_types::{BreakKind, Span};

use super::{Room, User};

/// Generates the types from the table.
macro_rules! types {
    (commands { $($commands:tt)* } reads { $($reads:tt)* }) => {
        types! { $($commands)* $($reads)* }
    };
    ($(
        $(#[$doc:meta])*
        $variant:ident $({ $($(#[$said:meta])* $field:ident: $type:ty),* $(,)? })?
        $(verb $verb:literal)? $(plain $plain:literal)? $(tool $tool:literal)?
        $(in $room:ident)? $(under $epoch:ident)? $(about $user:ident)?
        $(=> $command:ident $(($inner:ident))?)?;
    )*) => {
        /// An operation of a client.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "the variant says what its fields are")]
        pub enum Op {
            $($(#[$doc])* $variant $({ $($(#[$said])* $field: $type),* })?,)*
        }

        /// An operation without its arguments.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum OpKind {
            $($(#[$doc])* $variant,)*
        }

        /// A verb that scenarios write as a single word.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Plain {
            $($(#[doc = $plain] $variant = OpKind::$variant as isize,)?)*
        }

        impl OpKind {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The verb in scenarios and traces.
            #[must_use]
            pub const fn verb(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!($($verb)? $($plain)?),)*
                }
            }

            /// The verb as a single word of scenarios, if it is one.
            #[must_use]
            pub const fn plain(self) -> Option<Plain> {
                match self {
                    $(Self::$variant => of_plain!([$($plain)?] Plain::$variant),)*
                }
            }

            /// The name of the server's tool; for breaks, the common word.
            #[must_use]
            pub const fn tool(self) -> &'static str {
                match self {
                    $(Self::$variant => [$($tool,)? self.verb()][0],)*
                }
            }

            /// The operation with the caller's values; none for a verb that takes more.
            fn filled(self, at_hand: &mut impl ArgumentSource) -> Option<Op> {
                match self {
                    $(Self::$variant => of_plain!([$($plain)?] Op::$variant {
                        $($($field: at_hand.$field()?),*)?
                    }),)*
                }
            }
        }

        impl Op {
            /// The kind of operation.
            #[must_use]
            pub const fn kind(&self) -> OpKind {
                match self {
                    $(Self::$variant { .. } => OpKind::$variant,)*
                }
            }

            /// The room of an operation in a room. The inner value is none if the room is left to
            /// the server.
            #[must_use]
            pub const fn room(&self) -> Option<Option<Room>> {
                match self {
                    $(Self::$variant { $($room,)? .. } => [$(Some(*$room),)? None][0],)*
                }
            }

            /// The epoch that the operation names.
            #[must_use]
            pub const fn epoch(&self) -> Option<u64> {
                match self {
                    $(Self::$variant { $($epoch,)? .. } => [$(*$epoch,)? None][0],)*
                }
            }

            /// The participant that the operation concerns.
            #[must_use]
            pub const fn about(&self) -> Option<User> {
                match self {
                    $(Self::$variant { $($user,)? .. } => [$(Some(*$user),)? None][0],)*
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

crate::verbs!(types);

/// A user's values for the fields of a plain verb. Rows use these names of fields.
pub trait ArgumentSource {
    /// The room to name, or none; requested before the epoch.
    fn room(&mut self) -> Option<Option<Room>>;

    /// The epoch to name in that room, or none.
    fn epoch(&mut self) -> Option<Option<u64>>;

    /// The participant to name; none if the user knows none.
    fn user(&mut self) -> Option<User>;
}

impl Plain {
    /// Its row of the table.
    #[must_use]
    pub const fn kind(self) -> OpKind {
        OpKind::ALL[self as usize]
    }

    /// The operation with its user's values; none if one is missing.
    pub fn op(self, at_hand: &mut impl ArgumentSource) -> Option<Op> {
        self.kind().filled(at_hand)
    }
}

impl OpKind {
    /// Whether the operation only reads. Reads take no request key.
    #[must_use]
    pub const fn is_read(self) -> bool {
        matches!(
            self,
            Self::Mood | Self::Check | Self::History | Self::ListUsers
        )
    }

    /// Whether the operation registers a client without a handle.
    #[must_use]
    pub const fn registers(self) -> bool {
        matches!(self, Self::EnterQueue | Self::Login | Self::Break)
    }
}

impl Op {
    /// The verb in scenarios and traces.
    #[must_use]
    pub const fn verb(&self) -> &'static str {
        self.kind().verb()
    }

    /// The name of the server's tool.
    #[must_use]
    pub const fn tool(&self) -> &'static str {
        if let Self::Break { kind, .. } = self {
            return kind.name();
        }
        self.kind().tool()
    }

    /// Whether the operation only reads. Reads take no request key.
    #[must_use]
    pub const fn is_read(&self) -> bool {
        self.kind().is_read()
    }

    /// How long the server may hold the call: the wait of a check, or the longest delay of the
    /// answer to a break.
    #[must_use]
    pub const fn hold(&self) -> Span {
        if let Self::Check { wait, .. } = self {
            return *wait;
        }
        if let Self::Break { .. } = self {
            return Span::secs(20);
        }
        Span::ZERO
    }

    /// The text that is sent, or appended to a draft.
    #[must_use]
    pub const fn text(&self) -> Option<&Arc<str>> {
        if let Self::Send { text, .. } | Self::Append { text, .. } = self {
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

    /// A user in room 3 with an old grant, which knows no other participant.
    struct Alone;

    impl ArgumentSource for Alone {
        fn room(&mut self) -> Option<Option<Room>> {
            Some(Some(Room(3)))
        }

        fn epoch(&mut self) -> Option<Option<u64>> {
            Some(Some(7))
        }

        fn user(&mut self) -> Option<User> {
            None
        }
    }

    #[test]
    fn a_plain_verb_takes_its_arguments_from_the_user() {
        let push = Plain::Push.op(&mut Alone).unwrap();
        let expected = Op::Push {
            room: Some(Room(3)),
            epoch: Some(7),
        };
        assert_eq!(push, expected);
        assert_eq!(Plain::Block.op(&mut Alone), None);
        for plain in OpKind::ALL.iter().filter_map(|kind| kind.plain()) {
            if let Some(op) = plain.op(&mut Alone) {
                assert_eq!(op.kind().plain(), Some(plain));
            }
        }
    }

    #[test]
    fn a_call_returns_its_room_and_its_user() {
        let report = Op::Report {
            user: User(4),
            reason: "spam".into(),
        };
        assert_eq!((report.room(), report.about()), (None, Some(User(4))));
        let push = Op::Push {
            room: None,
            epoch: Some(7),
        };
        assert_eq!((push.room(), push.epoch()), (Some(None), Some(7)));
        let history = Op::History {
            room: Some(Room(3)),
            before: Some(9),
            limit: 1,
        };
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
