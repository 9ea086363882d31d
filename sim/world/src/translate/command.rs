//! Commands in both directions, generated from the table of verbs.

use std::sync::Arc;

use chat_core::{BreakKind, Command, EnterQueue, Epoch, RoomId, UserId};
use sim_model::protocol::Op;

/// An argument of a command, whose types may differ in the simulator and the core.
pub(super) trait Counterpart {
    /// The argument's type on the other side.
    type There;

    /// Converts the argument to that type.
    fn counterpart(&self) -> Self::There;
}

/// The pairs of corresponding types.
macro_rules! crosses {
    ($($here:ty => $there:ty, $counterpart:expr;)*) => {
        $(impl Counterpart for $here {
            type There = $there;

            fn counterpart(&self) -> $there {
                $counterpart(self)
            }
        })*
    };
}

crosses! {
    Option<RoomId> => Self, |it: &Self| *it;
    Option<u64> => Option<Epoch>, |it: &Self| it.map(Epoch);
    Option<Epoch> => Option<u64>, |it: &Self| it.map(|epoch| epoch.0);
    UserId => Self, |it: &Self| *it;
    BreakKind => Self, |it: &Self| *it;
    Arc<str> => Self, Self::clone;
    Option<Arc<str>> => Self, Self::clone;
    Arc<[Arc<str>]> => Self, Self::clone;
}

/// Generates both translations from the table. Fields have the same names on both sides.
macro_rules! translations {
    (
        commands { $(
            $(#[$doc:meta])*
            $variant:ident $({ $($(#[$said:meta])* $field:ident: $type:ty),* $(,)? })?
            $(verb $verb:literal)? $(plain $plain:literal)? $(tool $tool:literal)?
            $(in $room:ident)? $(under $epoch:ident)? $(about $user:ident)?
            => $command:ident $(($inner:ident))?;
        )* }
        reads { $($reads:tt)* }
    ) => {
        /// The command of an operation that is no read.
        pub(super) fn command(op: &Op) -> Command {
            match op {
                $(Op::$variant $({ $($field),* })? => there!($command $(($inner))? {
                    $($($field: $field.counterpart()),*)?
                }),)*
                Op::Check { .. } | Op::History { .. } | Op::ListUsers { .. } | Op::Mood => {
                    unreachable!("reads are no commands, and are translated as such")
                }
            }
        }

        /// The operation of a command.
        pub(super) fn op(command: &Command) -> Op {
            match command {
                $(there!($command $(($inner))? { $($($field),*)? }) => Op::$variant {
                    $($($field: $field.counterpart()),*)?
                },)*
            }
        }
    };
}

/// A command with these fields, as a value or as a pattern.
macro_rules! there {
    ($command:ident { $($fields:tt)* }) => { Command::$command { $($fields)* } };
    ($command:ident ($inner:ident) { $($fields:tt)* }) => {
        Command::$command($inner { $($fields)* })
    };
}

sim_model::verbs!(translations);
