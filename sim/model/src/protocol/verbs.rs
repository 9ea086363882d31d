//! The table of verbs: what clients ask for, each declared once.

/// Hands the table to the macro `$then`, which makes of it what its crate needs: `Op` in this one,
/// translations in others.
///
/// A row is a variant of `Op` with its fields, and then, in this order:
/// - `verb "…"`: the word for it in scenarios and traces; or `plain "…"`, where a scenario writes
///   that word alone, and the user has all fields at hand (`AtHand`).
/// - `tool "…"`: the name of the server's tool, where that is another word.
/// - `in`, `under` and `about`: the fields that name the room, the grant of the stick and another
///   participant.
/// - `=> …`: the variant of the core's `Command`, with fields of the same names. Reads have none.
#[macro_export]
macro_rules! verbs {
    ($then:ident) => {
        $then! {
            commands {
                /// Stand in the line; registers when the agent has no handle yet.
                EnterQueue {
                    /// The public id to be known by; only a registration may carry one.
                    user_id: Option<Arc<str>>,
                    display_name: Option<Arc<str>>,
                    interests: Arc<[Arc<str>]>,
                } verb "enter_queue" => EnterQueue(EnterQueue);
                /// Leave the line.
                LeaveQueue plain "leave_queue" => LeaveQueue;
                /// Register under a name, or with a handle just join a room.
                Login { username: Arc<str>, room: Arc<str> } verb "login" => Login;
                /// Say something.
                Send { room: Option<Room>, text: Arc<str>, epoch: Option<u64> }
                    verb "send" tool "send_message" in room under epoch => SendMessage;
                /// Claim the stick, or ask for one's place.
                TalkingStick { room: Option<Room>, epoch: Option<u64> }
                    verb "talking_stick" in room under epoch => TalkingStick;
                /// Add to the draft.
                Append { room: Option<Room>, text: Arc<str>, epoch: Option<u64> }
                    verb "append" in room under epoch => Append;
                /// Take the last append back.
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
                /// Tell the room that one is typing.
                Typing { room: Option<Room> } plain "typing" in room => Typing;
                /// Never meet or hear a participant again.
                Block { user: User } plain "block" tool "block_user" about user => BlockUser;
                /// Meet and hear a participant again.
                Unblock { user: User }
                    plain "unblock" tool "unblock_user" about user => UnblockUser;
                /// Report a participant to the operators.
                Report { user: User, reason: Arc<str> }
                    verb "report" tool "report_user" about user => ReportUser;
                /// Take a break; registers when the agent has no handle yet. Its kind is its tool.
                Break { kind: BreakKind, excuse: Option<Arc<str>> } verb "break" => TakeBreak;
                /// Look at one's stress, and at how alert the boss is. A read, but for a client
                /// without a handle, which registers.
                Mood verb "check_stress_status" => Arrive;
                /// Leave everything, and be forgotten.
                Unregister plain "unregister" => Unregister;
            }
            reads {
                /// Read the inbox, waiting up to `wait` for something to come.
                Check { after: Option<u64>, wait: Span, by: ReadBy } verb "check";
                /// Read a room's past messages: the newest `limit` of those before the place
                /// `before`.
                History { room: Option<Room>, before: Option<u64>, limit: u32 }
                    verb "history" in room;
                /// Read who is in a room.
                ListUsers { room: Option<Room> } plain "list_users" in room;
            }
        }
    };
}
