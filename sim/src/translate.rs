//! The border between the words of virtual users and the core's own types. Each is translated
//! once, on its way across.

use std::sync::Arc;

use chat_core::{
    Body, Call, Caller, Command, EndReason as CoreReason, EnterQueue, Entry, Epoch, Event, Gap,
    Hub, Implied, Operate, Read, Reader, Reject, Reply, RequestKey, RoomId, SecretHash, Seq,
    Ticket, UserId, WasWaiting,
};
use sim_model::server::{self, Act, Ask, Handle};

use crate::protocol::{
    Answer, CHECK_MAX, Earlier, EndReason, LostRange, Membership, Moderated, Op, Outcome, Presence,
    Refusal, Room, Saw, StickChange, StickLoss, User,
};
use crate::user::Credential;

/// The number that a virtual user's handle was made from.
fn secret(hash: &SecretHash) -> Handle {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&hash.0[..8]);
    Handle(u64::from_le_bytes(bytes))
}

/// The node's name of a call, as the judges have it.
pub(crate) const fn judged(ticket: Ticket) -> server::Ticket {
    server::Ticket(ticket.0)
}

/// The participant that reads, if it is registered.
pub(crate) fn user_of(hub: &Hub, reader: Reader) -> Option<UserId> {
    match reader {
        Reader::Handle(handle) => hub.user_by_handle(&handle),
        Reader::ReaderId(id) => hub.user_by_reader(&id),
    }
}

/// The hash of the handle that a virtual user makes from its secret.
fn handle(secret: u64) -> SecretHash {
    hash(secret, 0)
}

/// The virtual users' stand-in for a cryptographic hash: it only has to be free of collisions.
fn hash(secret: u64, kind: u64) -> SecretHash {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&secret.to_le_bytes());
    bytes[8..].copy_from_slice(&kind.to_le_bytes());
    SecretHash(bytes)
}

fn reader(who: Credential) -> Reader {
    let (Credential::New { secret } | Credential::Handle { secret }) = who;
    Reader::Handle(handle(secret))
}

/// A request as the server's door sees it.
pub(crate) fn call(who: Credential, key: Option<u128>, op: &Op) -> Call {
    if let Op::Check { after, wait } = op {
        let read = Read::Check {
            after: after.map(Seq),
            wait: *wait,
            max: CHECK_MAX,
        };
        return Call::Read {
            reader: reader(who),
            read,
        };
    }
    if *op == Op::Mood {
        return Call::Read {
            reader: reader(who),
            read: Read::Mood,
        };
    }
    let caller = match who {
        Credential::New { secret } => Caller::New {
            handle: handle(secret),
            reader: hash(secret, 1),
        },
        Credential::Handle { secret } => Caller::Handle(handle(secret)),
    };
    Call::Command {
        caller,
        key: key.map(RequestKey),
        command: command(op),
    }
}

/// The opening of a stream as the server's door sees it.
pub(crate) fn open_stream(who: Credential, after: u64) -> Call {
    Call::OpenStream {
        reader: reader(who),
        after: Some(Seq(after)),
    }
}

fn command(op: &Op) -> Command {
    let id = |room: &Option<Room>| room.map(|room| RoomId(room.0));
    match op {
        Op::EnterQueue {
            display_name,
            interests,
        } => Command::EnterQueue(EnterQueue {
            user_id: None,
            display_name: Some(display_name.clone()),
            interests: interests.clone(),
        }),
        Op::LeaveQueue => Command::LeaveQueue,
        Op::Login { username, room } => Command::Login {
            username: username.clone(),
            room: room.clone(),
        },
        Op::Send { room, text, epoch } => Command::SendMessage {
            room: id(room),
            text: text.clone(),
            epoch: epoch.map(Epoch),
        },
        Op::LeaveChat { room } => Command::LeaveChat { room: id(room) },
        Op::TalkingStick { room } => Command::TalkingStick {
            room: id(room),
            epoch: None,
        },
        Op::Append { room, text, epoch } => Command::Append {
            room: id(room),
            text: text.clone(),
            epoch: epoch.map(Epoch),
        },
        Op::Undo { room } => Command::Undo {
            room: id(room),
            epoch: None,
        },
        Op::Reset { room } => Command::Reset {
            room: id(room),
            epoch: None,
        },
        Op::Push { room, epoch } => Command::Push {
            room: id(room),
            epoch: epoch.map(Epoch),
        },
        Op::Typing { room } => Command::Typing { room: id(room) },
        Op::Block { user } => Command::BlockUser {
            user: UserId(user.0),
        },
        Op::Report { user, reason } => Command::ReportUser {
            user: UserId(user.0),
            reason: reason.clone(),
        },
        Op::Break { kind, excuse } => Command::TakeBreak {
            kind: *kind,
            excuse: excuse.clone(),
        },
        Op::Check { .. } | Op::Mood => unreachable!("reads are no commands, and were above"),
    }
}

/// A call at the server's door, as the judges read it.
pub(crate) fn ask(call: &Call) -> Ask {
    match call {
        Call::Command {
            caller,
            key,
            command,
        } => Ask::Call {
            caller: caller_of(caller),
            key: key.map(|key| key.0),
            op: op(command),
        },
        Call::Operate { act: done, .. } => Ask::Operate(act(done)),
        Call::Read { reader, read } => Ask::Call {
            caller: server::Caller::Known(reader_of(*reader)),
            key: None,
            op: match read {
                Read::Check { after, wait, .. } => Op::Check {
                    after: after.map(|after| after.0),
                    wait: *wait,
                },
                Read::Mood => Op::Mood,
                Read::Members { .. } | Read::History { .. } => unreachable!("no user asks for it"),
            },
        },
        Call::OpenStream { reader, after } => Ask::OpenStream {
            handle: reader_of(*reader),
            after: after.map(|after| after.0),
        },
    }
}

/// An entry of the journal, as the judges read it.
pub(crate) fn entry(entry: &Entry) -> server::Entry {
    match entry {
        Entry::Call {
            caller: Caller::Handle(handle),
            command: Command::OpenStream,
            ..
        } => server::Entry::OpenStream {
            handle: secret(handle),
        },
        Entry::Call {
            caller,
            key,
            command,
        } => server::Entry::Call {
            caller: caller_of(caller),
            key: key.map(|key| key.0),
            op: op(command),
        },
        Entry::Implied { user, implied } => {
            let user = User(user.0);
            match *implied {
                Implied::CloseStream => server::Entry::CloseStream { user },
                Implied::Seen { waiting } => server::Entry::Seen { user, waiting },
                Implied::Read {
                    acknowledged,
                    delivered,
                } => server::Entry::Read {
                    user,
                    acknowledged: acknowledged.0,
                    delivered: delivered.0,
                },
            }
        }
        Entry::Operate { act: done, .. } => server::Entry::Operate(act(done)),
        Entry::Tick => server::Entry::Tick,
        Entry::Started { config, .. } => server::Entry::Started {
            config: config.clone(),
        },
        Entry::Resumed { config, .. } => server::Entry::Resumed {
            config: config.clone(),
        },
    }
}

fn caller_of(caller: &Caller) -> server::Caller {
    match caller {
        Caller::Handle(handle) => server::Caller::Known(secret(handle)),
        Caller::New { handle, .. } => server::Caller::New(secret(handle)),
    }
}

fn reader_of(reader: Reader) -> Handle {
    let (Reader::Handle(hash) | Reader::ReaderId(hash)) = reader;
    secret(&hash)
}

fn act(act: &Operate) -> Act {
    let (user, room) = (|id: &UserId| User(id.0), |id: &RoomId| Room(id.0));
    match act {
        Operate::Mute { user: id, .. } => Act::Mute { user: user(id) },
        Operate::Unmute { user: id } => Act::Unmute { user: user(id) },
        Operate::Kick {
            user: id, room: of, ..
        } => Act::Kick {
            user: user(id),
            room: room(of),
        },
        Operate::Close { room: of, .. } => Act::Close { room: room(of) },
        Operate::BanUser { user: id, .. } => Act::BanUser { user: user(id) },
        Operate::Unban { name } => Act::Unban {
            name: Arc::clone(name),
        },
        Operate::BanAddress { address, .. } => Act::BanAddress { address: address.0 },
        Operate::UnbanAddress { address } => Act::UnbanAddress { address: address.0 },
    }
}

/// What a command asks for, in the words of the users.
fn op(command: &Command) -> Op {
    let id = |room: &Option<RoomId>| room.map(|room| Room(room.0));
    match command {
        Command::EnterQueue(enter) => Op::EnterQueue {
            display_name: enter.display_name.clone().unwrap_or_default(),
            interests: enter.interests.clone(),
        },
        Command::LeaveQueue => Op::LeaveQueue,
        Command::Login { username, room } => Op::Login {
            username: username.clone(),
            room: room.clone(),
        },
        Command::SendMessage { room, text, epoch } => Op::Send {
            room: id(room),
            text: text.clone(),
            epoch: epoch.map(|epoch| epoch.0),
        },
        Command::LeaveChat { room } => Op::LeaveChat { room: id(room) },
        Command::TalkingStick { room, .. } => Op::TalkingStick { room: id(room) },
        Command::Append { room, text, epoch } => Op::Append {
            room: id(room),
            text: text.clone(),
            epoch: epoch.map(|epoch| epoch.0),
        },
        Command::Push { room, epoch } => Op::Push {
            room: id(room),
            epoch: epoch.map(|epoch| epoch.0),
        },
        Command::Undo { room, .. } => Op::Undo { room: id(room) },
        Command::Reset { room, .. } => Op::Reset { room: id(room) },
        Command::Typing { room } => Op::Typing { room: id(room) },
        Command::BlockUser { user } => Op::Block { user: User(user.0) },
        Command::ReportUser { user, reason } => Op::Report {
            user: User(user.0),
            reason: reason.clone(),
        },
        Command::TakeBreak { kind, excuse } => Op::Break {
            kind: *kind,
            excuse: excuse.clone(),
        },
        Command::Arrive | Command::Unregister | Command::OpenStream => {
            unreachable!("no user asks for it by a call")
        }
    }
}

/// What the server decided, as the caller reads it.
pub(crate) fn outcome(outcome: &Result<Reply, Reject>) -> Outcome {
    outcome.as_ref().map(answer).map_err(refusal)
}

/// What leaves the server for the caller of a ticket.
pub(crate) fn response(outcome: &Result<chat_core::Response, Reject>) -> Outcome {
    match outcome {
        Ok(chat_core::Response::Done(reply)) => Ok(answer(reply)),
        Ok(chat_core::Response::Read(chat_core::Answer::Page { page, .. })) => Ok(Answer::Read {
            cursor: page.cursor.0,
            more: page.unread > 0,
        }),
        Ok(chat_core::Response::Read(answer)) => Ok(read(answer)),
        Ok(chat_core::Response::Streaming) => Ok(Answer::Done),
        Err(reject) => Err(refusal(reject)),
    }
}

/// A page of an inbox as its reader sees it.
pub(crate) fn page(page: &chat_core::Page, reader: UserId) -> server::Page<'_> {
    let Seq(first) = page.first;
    let places = (first..).zip(&page.events);
    server::Page {
        gap: page.gap.as_ref().map(|gap| server::Gap {
            from: gap.from.0,
            to: gap.to.0,
            rooms: lost_ranges(gap),
            rooms_omitted: gap.rooms_omitted,
        }),
        events: places
            .map(|(seq, sent)| (seq, sent.at, event(sent, reader)))
            .collect(),
        cursor: page.cursor.0,
        more: page.unread > 0,
    }
}

/// An accepted command's answer as its client reads it.
pub(crate) fn answer(reply: &Reply) -> Answer {
    let (user, room) = (|u: UserId| User(u.0), |r: RoomId| Room(r.0));
    match reply {
        Reply::Waiting {
            user: me, position, ..
        } => Answer::Waiting {
            user: user(*me),
            position: *position,
        },
        Reply::Matched {
            user: me,
            room: r,
            partner,
        } => Answer::Matched {
            user: user(*me),
            room: room(*r),
            partner: user(partner.id),
        },
        Reply::LeftQueue { left } => Answer::LeftQueue {
            left: *left == WasWaiting::Yes,
        },
        Reply::LoggedIn { user: me, room: r } => Answer::LoggedIn {
            user: user(*me),
            room: room(*r),
        },
        Reply::Sent {
            room: r,
            room_seq,
            at,
            turns_left,
        } => Answer::Sent {
            room: room(*r),
            room_seq: room_seq.0,
            at: *at,
            turns_left: *turns_left,
        },
        Reply::LeftChat => Answer::LeftChat,
        Reply::Stick {
            room: r,
            place,
            epoch,
            ..
        } => Answer::Stick {
            room: room(*r),
            place: *place,
            epoch: epoch.0,
        },
        Reply::Draft { length, cut, .. } => Answer::Draft {
            length: *length,
            truncated: *cut,
        },
        Reply::OnBreak {
            user: me,
            kind: _,
            stress,
            boss_alert,
            flavour,
            answer_at: _,
        } => Answer::OnBreak {
            user: user(*me),
            stress: *stress,
            boss_alert: *boss_alert,
            flavour: *flavour,
        },
        // No user just arrives.
        Reply::Arrived { .. } | Reply::Done => Answer::Done,
    }
}

/// What was read other than the inbox, as its client reads it.
pub(crate) fn read(answer: &chat_core::Answer) -> Answer {
    if let chat_core::Answer::Mood { stress, boss_alert } = answer {
        return Answer::Mood {
            stress: *stress,
            boss_alert: *boss_alert,
        };
    }
    // No user asks for members or for history.
    Answer::Done
}

/// A refusal as its client reads it.
pub(crate) fn refusal(reject: &Reject) -> Refusal {
    Refusal {
        code: reject.code(),
        retry_after: reject.retry_after(),
        earlier: match reject.earlier() {
            chat_core::Earlier::Unasked => Earlier::Unsaid,
            chat_core::Earlier::None => Earlier::None,
            chat_core::Earlier::Unknown => Earlier::Unknown,
        },
    }
}

/// An event as the reader of an inbox sees it.
pub(crate) fn event(event: &Event, reader: UserId) -> Saw<'_> {
    let (room, room_seq) = (Room(event.room.0), event.room_seq.0);
    let member = |who: &chat_core::Who, change| Saw::Member {
        room,
        room_seq,
        user: User(who.id.0),
        change,
    };
    let stick = |who: &chat_core::Who, change| Saw::Stick {
        room,
        room_seq,
        user: User(who.id.0),
        change,
    };
    let act = |who: Option<&chat_core::Who>, act| Saw::Moderation {
        room,
        room_seq,
        user: who.map(|who| User(who.id.0)),
        act,
    };
    match &event.body {
        Body::Found([a, b]) => {
            let partner = if a.id == reader { b } else { a };
            Saw::Found {
                room,
                room_seq,
                partner: User(partner.id.0),
            }
        }
        Body::Message {
            sender,
            text,
            epoch,
        } => Saw::Message {
            room,
            room_seq,
            sender: User(sender.id.0),
            text,
            epoch: epoch.map(|epoch| epoch.0),
        },
        Body::PartnerDisconnected(why) => Saw::Ended {
            room,
            room_seq,
            reason: reason(*why),
        },
        Body::PartnerAway(_) => Saw::PartnerAway { room, room_seq },
        Body::PartnerReconnected(_) => Saw::PartnerBack { room, room_seq },
        Body::Joined(who) => member(who, Presence::Joined),
        Body::Left(who) => member(who, Presence::Left),
        Body::Away(who) => member(who, Presence::Away),
        Body::Back(who) => member(who, Presence::Back),
        Body::StickClaimed { user, place } => stick(user, StickChange::Claimed { place: *place }),
        Body::StickGranted { user, epoch, lease } => stick(
            user,
            StickChange::Granted {
                epoch: epoch.0,
                lease: *lease,
            },
        ),
        Body::StickReleased { user, epoch } => {
            stick(user, StickChange::Released { epoch: epoch.0 })
        }
        Body::StickExpired { user, epoch } => stick(user, StickChange::Expired { epoch: epoch.0 }),
        Body::Muted { user, .. } => act(Some(user), Moderated::Muted),
        Body::Kicked { user, .. } => act(Some(user), Moderated::Kicked),
        Body::Closed { .. } => act(None, Moderated::Closed),
    }
}

fn reason(reason: CoreReason) -> EndReason {
    match reason {
        CoreReason::Left => EndReason::Left,
        CoreReason::Timeout => EndReason::Timeout,
        CoreReason::Blocked => EndReason::Blocked,
        CoreReason::TurnLimit => EndReason::TurnLimit,
        CoreReason::Closed => EndReason::Closed,
    }
}

/// A gap's rooms as the reader sees them.
pub(crate) fn lost_ranges(gap: &Gap) -> Vec<LostRange> {
    gap.rooms.iter().map(lost_range).collect()
}

fn lost_range(lost: &chat_core::LostRange) -> LostRange {
    let you = |change| match change {
        chat_core::Membership::Joined => Membership::Joined,
        chat_core::Membership::Left => Membership::Left,
        chat_core::Membership::Kicked => Membership::Kicked,
    };
    let stick = |loss| match loss {
        chat_core::StickLoss::Granted(epoch) => StickLoss::Granted(epoch.0),
        chat_core::StickLoss::Released(epoch) => StickLoss::Released(epoch.0),
        chat_core::StickLoss::Expired(epoch) => StickLoss::Expired(epoch.0),
    };
    LostRange {
        room: Room(lost.room.0),
        from: lost.from.0,
        to: lost.to.0,
        messages: lost.messages,
        you: lost.you.map(you),
        members_changed: lost.members_changed,
        stick: lost.stick.map(stick),
        stick_changed: lost.stick_changed,
        ended: lost.ended.map(reason),
    }
}
