//! Reads change no state, nor does asking for the next deadline.

use chat_core::{Hub, RoomId, RoomSeq, Seq, Span};
use proptest::prelude::*;

use crate::journal::{journal, step, users};

/// Everything that can be read.
fn read_everything(hub: &Hub) -> usize {
    let mut answers = 0;
    for user in users() {
        for room in [None, Some(RoomId(1)), Some(RoomId(2))] {
            if let Ok(room) = hub.resolve_for(user, room) {
                let (messages, _) = hub.read_history(user, room, Some(RoomSeq(5)), 3);
                answers += hub.read_members(room).len() + messages.len();
            }
        }
        answers += usize::from(hub.read_inbox(user, Seq(2), 3).is_ok());
        for later in [Span::ZERO, Span::secs(100)] {
            answers += hub.read_notices(user, hub.now() + later).len();
            answers += usize::from(hub.mood(user, hub.now() + later).is_some());
            answers += usize::from(hub.wants_seen(user, hub.now() + later));
        }
        answers += usize::from(hub.presence_of(user).is_some());
        answers += usize::from(hub.inbox_cursors(user).is_some());
        answers += hub.rooms_of(user).len();
        answers += usize::from(hub.user_by_public_id(&user.to_string()).is_some());
    }
    answers + hub.sizes().len() + hub.reports().count() + hub.kept(None).count()
}

proptest! {
    #[test]
    fn reads_and_asking_for_the_next_deadline_move_nothing(journal in journal()) {
        let (mut read, mut unread) = (journal.hub(), journal.hub());
        for (at, entry) in &journal.entries {
            let before = read.digest();
            prop_assert!(read_everything(&read) > 0);
            prop_assert_eq!(read.poll_timeout(), read.clone().poll_timeout());
            prop_assert_eq!(read.digest(), before);
            prop_assert_eq!(step(&mut read, *at, entry), step(&mut unread, *at, entry));
        }
        prop_assert_eq!(read.digest(), unread.digest());
        prop_assert_eq!(read.poll_timeout(), unread.poll_timeout());
    }
}
