//! The slot between the driver and one stream's reader, with space for one page and some notices.
//! The driver never waits for a reader, and holds no more than this for it.

use std::sync::Mutex;

use chat_core::{Notice, Page, RoomId, UserId};
use serde::{Deserialize, Serialize};
use server_storage::lock;
use tokio::sync::Notify;

/// The largest number of waiting notices; the oldest are dropped first.
const MAX_NOTICES: usize = 16;

/// The largest number of events of a page.
pub(super) const PAGE: usize = 64;

/// A delivery to the reader of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Delivery {
    /// The next events of the participant's inbox.
    Page {
        /// The owner of the inbox.
        user: UserId,
        /// The events and gaps.
        page: Page,
    },
    /// A notice.
    Notice {
        /// The room.
        room: RoomId,
        /// The notice.
        notice: Notice,
    },
    /// The end of the stream.
    End(Ending),
}

/// Why a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// The registration ended.
    Forgotten,
    /// The server is shutting down, or the node is another member's from here on.
    Closing,
}

/// The slot.
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
    /// Puts the next page into the slot, which must be empty.
    pub(super) fn put_page(&self, user: UserId, page: Page) {
        lock(&self.contents).page = Some((user, page));
        self.filled.notify_one();
    }

    /// Puts a notice into the slot, in place of an earlier one of its sender in its room.
    pub(super) fn put_notice(&self, room: RoomId, notice: Notice) {
        {
            let notices = &mut lock(&self.contents).notices;
            notices.retain(|(other, old)| (*other, old.user.id) != (room, notice.user.id));
            if notices.len() >= MAX_NOTICES {
                notices.remove(0);
            }
            notices.push((room, notice));
        }
        self.filled.notify_one();
    }

    pub(super) fn end(&self, ending: Ending) {
        lock(&self.contents).end.get_or_insert(ending);
        self.filled.notify_one();
    }

    /// The next delivery: events before notices, and the end last.
    pub(super) async fn take(&self) -> Delivery {
        loop {
            if let Some(delivery) = self.try_take() {
                return delivery;
            }
            self.filled.notified().await;
        }
    }

    fn try_take(&self) -> Option<Delivery> {
        let mut contents = lock(&self.contents);
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
