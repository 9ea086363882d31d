//! What clients ask for: what follows from the table of verbs.

use std::sync::Arc;

use chat_types::{BreakKind, Span};

use super::{Room, User};

/// Makes the types of the table.
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
        /// What a client asks for.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "the variant says what its fields are")]
        pub enum Op {
            $($(#[$doc])* $variant $({ $($(#[$said])* $field: $type),* })?,)*
        }

        /// What a client asks for, without its arguments.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum OpKind {
            $($(#[$doc])* $variant,)*
        }

        /// A verb that scenarios write as a word alone.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Plain {
            $($(#[doc = $plain] $variant = OpKind::$variant as isize,)?)*
        }

        impl OpKind {
            /// Every one there is.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The verb as scenarios and traces write it.
            #[must_use]
            pub const fn verb(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!($($verb)? $($plain)?),)*
                }
            }

            /// The verb as a scenario's word that takes nothing, if it is one.
            #[must_use]
            pub const fn plain(self) -> Option<Plain> {
                match self {
                    $(Self::$variant => of_plain!([$($plain)?] Plain::$variant),)*
                }
            }

            /// The name of the server's tool; of breaks, the word for all of them.
            #[must_use]
            pub const fn tool(self) -> &'static str {
                match self {
                    $(Self::$variant => [$($tool,)? self.verb()][0],)*
                }
            }

            /// The call with what its caller has at hand; none of a verb that takes more.
            fn filled(self, at_hand: &mut impl AtHand) -> Option<Op> {
                match self {
                    $(Self::$variant => of_plain!([$($plain)?] Op::$variant {
                        $($($field: at_hand.$field()?),*)?
                    }),)*
                }
            }
        }

        impl Op {
            /// What is asked for, without its arguments.
            #[must_use]
            pub const fn kind(&self) -> OpKind {
                match self {
                    $(Self::$variant { .. } => OpKind::$variant,)*
                }
            }

            /// The room that the call names, if it is one that is made in a room; inside, none
            /// where it leaves the room to the server.
            #[must_use]
            pub const fn room(&self) -> Option<Option<Room>> {
                match self {
                    $(Self::$variant { $($room,)? .. } => [$(Some(*$room),)? None][0],)*
                }
            }

            /// The grant of the stick that the call names.
            #[must_use]
            pub const fn epoch(&self) -> Option<u64> {
                match self {
                    $(Self::$variant { $($epoch,)? .. } => [$(*$epoch,)? None][0],)*
                }
            }

            /// The participant that the call is about.
            #[must_use]
            pub const fn about(&self) -> Option<User> {
                match self {
                    $(Self::$variant { $($user,)? .. } => [$(Some(*$user),)? None][0],)*
                }
            }
        }
    };
}

/// A value for a row with `plain`, and nothing for others.
macro_rules! of_plain {
    ([] $($value:tt)*) => { None };
    ([$plain:literal] $($value:tt)*) => { Some($($value)*) };
}

crate::verbs!(types);

/// What the user of a plain verb has at hand for its fields. Rows name the fields as here.
pub trait AtHand {
    /// The room that it would name, or none; asked for before the epoch.
    fn room(&mut self) -> Option<Option<Room>>;

    /// The grant of the stick that it would name in that room, or none.
    fn epoch(&mut self) -> Option<Option<u64>>;

    /// The participant that it would be about; none where it knows of nobody.
    fn user(&mut self) -> Option<User>;
}

impl Plain {
    /// Its row of the table.
    #[must_use]
    pub const fn kind(self) -> OpKind {
        OpKind::ALL[self as usize]
    }

    /// The call with what its user has at hand; none where it lacks something.
    pub fn op(self, at_hand: &mut impl AtHand) -> Option<Op> {
        self.kind().filled(at_hand)
    }
}

impl OpKind {
    /// Whether the call reads and changes nothing: such a call takes no request key.
    #[must_use]
    pub const fn is_read(self) -> bool {
        matches!(
            self,
            Self::Mood | Self::Check | Self::History | Self::ListUsers
        )
    }

    /// Whether the call gives a handle to a client without one.
    #[must_use]
    pub const fn registers(self) -> bool {
        matches!(
            self,
            Self::EnterQueue | Self::Login | Self::Break | Self::Mood
        )
    }
}

impl Op {
    /// The verb as scenarios and traces write it.
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

    /// Whether the call reads and changes nothing: such a call takes no request key.
    #[must_use]
    pub const fn is_read(&self) -> bool {
        self.kind().is_read()
    }

    /// What is said, or added to a draft.
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
    /// Its reader id, which reads the inbox and does nothing else.
    ReaderId,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// In room 3 with an old grant, and alone.
    struct Alone;

    impl AtHand for Alone {
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
    fn a_plain_verb_takes_what_its_user_has_at_hand() {
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
    fn a_call_says_where_it_is_made_and_whom_it_is_about() {
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
