//! Between the driver and the reader of one stream: room for one page, and what was said in
//! passing. The driver never waits for a reader, and never holds more for one than this.

use std::sync::{Mutex, MutexGuard, PoisonError};

use chat_core::{Notice, Page, RoomId, UserId};
use tokio::sync::Notify;

/// How many notices wait for a reader; the oldest go first.
const MAX_NOTICES: usize = 16;

/// How many events a page of a stream has at most.
pub(super) const PAGE: usize = 64;

/// What the reader of a stream is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The next events of the participant's inbox.
    Page {
        /// Whose inbox it is.
        user: UserId,
        /// The events, and a gap wherever some are gone.
        page: Page,
    },
    /// Something was said in passing.
    Notice {
        /// Where.
        room: RoomId,
        /// What.
        notice: Notice,
    },
    /// There is nothing more.
    End(Ending),
}

/// Why a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The participant is no longer registered.
    Forgotten,
    /// The server stops.
    Closing,
}

/// The slot between the two.
#[derive(Debug, Default)]
pub(super) struct StreamSlot {
    contents: Mutex<Contents>,
    filled: Notify,
}

#[derive(Debug, Default)]
struct Contents {
    page: Option<(UserId, Page)>,
    notices: Vec<(RoomId, Notice)>,
    end: Option<Ending>,
}

impl StreamSlot {
    /// Nothing that holds the lock can panic half way: what is there is whole.
    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the next page in the slot, which is empty.
    pub(super) fn put_page(&self, user: UserId, page: Page) {
        self.contents().page = Some((user, page));
        self.filled.notify_one();
    }

    /// Of one sender in one room only the latest counts.
    pub(super) fn put_notice(&self, room: RoomId, notice: Notice) {
        {
            let notices = &mut self.contents().notices;
            notices.retain(|(other, old)| (*other, old.user.id) != (room, notice.user.id));
            if notices.len() >= MAX_NOTICES {
                notices.remove(0);
            }
            notices.push((room, notice));
        }
        self.filled.notify_one();
    }

    pub(super) fn end(&self, ending: Ending) {
        self.contents().end.get_or_insert(ending);
        self.filled.notify_one();
    }

    /// The next thing for the reader: events before notices, and the end last.
    pub(super) async fn take(&self) -> Delivery {
        loop {
            if let Some(delivery) = self.try_take() {
                return delivery;
            }
            self.filled.notified().await;
        }
    }

    fn try_take(&self) -> Option<Delivery> {
        let mut contents = self.contents();
        if let Some((user, page)) = contents.page.take() {
            return Some(Delivery::Page { user, page });
        }
        if !contents.notices.is_empty() {
            let (room, notice) = contents.notices.remove(0);
            return Some(Delivery::Notice { room, notice });
        }
        contents.end.map(Delivery::End)
    }
}
