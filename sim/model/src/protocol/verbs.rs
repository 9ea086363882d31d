//! The table of verbs: all operations of clients, each declared once.

/// Passes the table to the macro `$then`, which generates what its crate needs: `Op` in this one,
/// translations in others.
///
/// A row is a variant of `Op` with its fields, followed in this order by:
/// - `verb "…"`: its name in scenarios and traces; or `plain "…"`, if a scenario writes it as a
///   single word, and the user has values for all fields (`ArgumentSource`).
/// - `tool "…"`: the name of the server's tool, if it differs.
/// - `in`, `under` and `about`: the fields that name the room, the grant of the stick and another
///   participant.
/// - `=> …`: the variant of the core's `Command`, with fields of the same names. Reads have none.
#[macro_export]
macro_rules! verbs {
    ($then:ident) => {
        $then! {
            commands {
                /// Enter the queue; registers an agent without a handle.
                EnterQueue {
                    /// The public id; allowed only in a registration.
                    user_id: Option<Arc<str>>,
                    display_name: Option<Arc<str>>,
                    interests: Arc<[Arc<str>]>,
                } verb "enter_queue" => EnterQueue(EnterQueue);
                /// Leave the queue.
                LeaveQueue plain "leave_queue" => LeaveQueue;
                /// Without a handle: register under a name and join a room. With one: join the
                /// room.
                Login { username: Arc<str>, room: Arc<str> } verb "login" => Login;
                /// Send a message.
                Send { room: Option<Room>, text: Arc<str>, epoch: Option<u64> }
                    verb "send" tool "send_message" in room under epoch => SendMessage;
                /// Claim the stick, or read the place in its line.
                TalkingStick { room: Option<Room>, epoch: Option<u64> }
                    verb "talking_stick" in room under epoch => TalkingStick;
                /// Add to the draft.
                Append { room: Option<Room>, text: Arc<str>, epoch: Option<u64> }
                    verb "append" in room under epoch => Append;
                /// Undo the last append.
                Undo { room: Option<Room>, epoch: Option<u64> }
                    verb "undo" in room under epoch => Undo;
                /// Clear the draft and release the stick, or withdraw the claim.
                Reset { room: Option<Room>, epoch: Option<u64> }
                    verb "reset" in room under epoch => Reset;
                /// Send the draft and release the stick.
                Push { room: Option<Room>, epoch: Option<u64> }
                    plain "push" in room under epoch => Push;
                /// Leave a room.
                LeaveChat { room: Option<Room> } plain "leave_chat" in room => LeaveChat;
                /// Notify the room that the user is typing.
                Typing { room: Option<Room> } plain "typing" in room => Typing;
                /// Block a participant.
                Block { user: User } plain "block" tool "block_user" about user => BlockUser;
                /// Remove a block.
                Unblock { user: User }
                    plain "unblock" tool "unblock_user" about user => UnblockUser;
                /// Report a participant to the operators.
                Report { user: User, reason: Arc<str> }
                    verb "report" tool "report_user" about user => ReportUser;
                /// Take a break; registers an agent without a handle. Each kind has its own tool.
                Break { kind: BreakKind, excuse: Option<Arc<str>> } verb "break" => TakeBreak;
                /// Leave everything, and end the registration.
                Unregister plain "unregister" => Unregister;
            }
            reads {
                /// Read the inbox, waiting up to `wait` for events.
                Check { after: Option<u64>, wait: Span, by: ReadBy } verb "check";
                /// Read a room's past messages: the newest `limit` of those before the place
                /// `before`.
                History { room: Option<Room>, before: Option<u64>, limit: u32 }
                    verb "history" in room;
                /// Read a room's members.
                ListUsers { room: Option<Room> } plain "list_users" in room;
                /// Read the stress level and the boss's alert level.
                Mood verb "check_stress_status";
            }
        }
    };
}
