//! Admission: what is refused before it costs the journal anything.

use std::sync::Arc;

use chat_types::Time;

use super::{Call, Disk, MAX_PAUSE, Node, OVERLOAD_RETRY, Origin, Phase, Reader, Ticket};
use crate::command::{Caller, Command, Entry};
use crate::id::{Address, Seq, UserId};
use crate::reject::Reject;

impl Node {
    /// A call comes to the door. Its answer comes as an output, now or later.
    pub fn submit(&mut self, now: Time, ticket: Ticket, from: Address, call: Call) {
        if let Err(reject) = self.admit(now, ticket, from, call) {
            self.reply(ticket, Err(reject));
        }
    }

    fn admit(
        &mut self,
        now: Time,
        ticket: Ticket,
        from: Address,
        call: Call,
    ) -> Result<(), Reject> {
        if self.phase == Phase::Stopping {
            return Err(Reject::ShuttingDown);
        }
        if self.hub.is_banned(from) && !matches!(call, Call::Operate { .. }) {
            return Err(Reject::Blocked);
        }
        let user = match &call {
            // Nobody floods the server with operators' calls; and they must pass when others do.
            Call::Operate { operator, act } => {
                let entry = Entry::Operate {
                    operator: Arc::clone(operator),
                    act: act.clone(),
                };
                return self.propose(now, Origin::Call(ticket), entry);
            }
            Call::Command {
                caller: Caller::Handle(handle),
                ..
            }
            | Call::Read {
                reader: Reader::Handle(handle),
                ..
            }
            | Call::OpenStream {
                reader: Reader::Handle(handle),
                ..
            } => Some(
                self.hub
                    .user_by_handle(handle)
                    .ok_or(Reject::UnknownHandle)?,
            ),
            Call::Read {
                reader: Reader::ReaderId(id),
                ..
            }
            | Call::OpenStream {
                reader: Reader::ReaderId(id),
                ..
            } => Some(self.hub.user_by_reader(id).ok_or(Reject::UnknownHandle)?),
            Call::Command {
                caller: Caller::New { handle, .. },
                ..
            } => self.hub.user_by_handle(handle),
        };
        self.gate.admit(now, from, user)?;
        match (call, user) {
            (Call::Read { read, .. }, Some(user)) => self.read(now, ticket, user, read),
            (Call::OpenStream { after, .. }, Some(user)) => {
                self.propose_stream(now, ticket, user, after)
            }
            (
                Call::Command {
                    caller,
                    key,
                    command,
                },
                _,
            ) => {
                let entry = Entry::Call {
                    caller,
                    key,
                    command,
                };
                self.propose_call(now, ticket, entry)
            }
            (Call::Read { .. } | Call::OpenStream { .. } | Call::Operate { .. }, _) => {
                Err(Reject::UnknownHandle)
            }
        }
    }

    pub(super) fn propose(
        &mut self,
        now: Time,
        origin: Origin,
        entry: Entry,
    ) -> Result<(), Reject> {
        match self.disk {
            Disk::Failing { retry_at, .. } if now < retry_at => {
                return Err(Reject::StorageUnavailable {
                    retry_after: retry_at.since(now),
                });
            }
            Disk::Failing { .. } | Disk::Healthy => {}
        }
        if self.phase == Phase::Halted {
            return Err(Reject::StorageUnavailable {
                retry_after: MAX_PAUSE,
            });
        }
        if self.proposed.len() >= self.hub.config().max_pending as usize {
            return Err(Reject::Overloaded {
                retry_after: OVERLOAD_RETRY,
            });
        }
        self.proposed.push_back((origin, entry));
        Ok(())
    }

    /// Proposes a participant's call. The answer to a break may have to be held back.
    fn propose_call(&mut self, now: Time, ticket: Ticket, entry: Entry) -> Result<(), Reject> {
        let takes_break = |command: &Command| matches!(command, Command::TakeBreak { .. });
        if !matches!(&entry, Entry::Call { command, .. } if takes_break(command)) {
            return self.propose(now, Origin::Call(ticket), entry);
        }
        self.check_held()?;
        self.propose(now, Origin::Break(ticket), entry)?;
        self.held.expect(ticket);
        Ok(())
    }

    fn propose_stream(
        &mut self,
        now: Time,
        ticket: Ticket,
        user: UserId,
        after: Option<Seq>,
    ) -> Result<(), Reject> {
        let (end, _) = self.hub.inbox_marks(user).ok_or(Reject::UnknownHandle)?;
        if after.is_some_and(|after| after > end) {
            return Err(Reject::InvalidCursor { end: end.0 });
        }
        let handle = self.hub.handle_of(user).ok_or(Reject::UnknownHandle)?;
        let entry = Entry::Call {
            caller: Caller::Handle(handle),
            key: None,
            command: Command::OpenStream,
        };
        self.propose(
            now,
            Origin::Open {
                ticket,
                user,
                after,
            },
            entry,
        )?;
        if let Some(after) = after {
            self.reads.acknowledge(now, user, after);
        }
        self.streams.opening(ticket);
        Ok(())
    }
}
