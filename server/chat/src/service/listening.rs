//! Listening after a command: one call says something, and returns with what concerns its caller.

use std::time::Duration;

use chat_core::{Address, Answer, Caller, News, Page, Read, Response, Span};
use tokio::time::Instant;

use super::{Service, read_call};
use crate::driver::{AnswerFacts, Answered};

/// The most reads of one call. Each brings what came since the one before.
const MAX_READS: usize = 16;

/// With so many bytes of messages, no further read is made.
const ENOUGH_BYTES: usize = 16_384;

impl Service {
    /// Reads the caller's inbox as this check says, until something in it is news to the caller, by the rule
    /// of wakers: its own turn is none, nor is a change of the stick among others. A caller that is alone in
    /// the room does not wait.
    ///
    /// Only the first read acknowledges. What the later ones return is read again if the answer is lost.
    pub(super) async fn listen(
        &self,
        address: Address,
        caller: &Caller,
        check: Read,
        said: &mut Answered,
    ) -> Option<Answer> {
        let Read::Check {
            mut after,
            wait,
            max,
        } = check
        else {
            return None;
        };
        let is_alone = said.context.more == AnswerFacts::Alone;
        let wait = if is_alone { Span::ZERO } else { wait };
        let end = Instant::now() + Duration::from_micros(wait.0);
        let (mut all, mut last_notices) = (Page::default(), None);
        let mut news = News::default();
        for _ in 0..MAX_READS {
            let left = end.saturating_duration_since(Instant::now()).as_micros();
            let wait = Span(u64::try_from(left).unwrap_or(u64::MAX));
            let call = read_call(caller, Read::Check { after, wait, max });
            let Answered { outcome, context } = self.call(address, call).await;
            // What was said is said, even if a check is refused.
            let Ok(Response::Read(Answer::Page { page, notices })) = outcome else {
                break;
            };
            let reader = context.me.as_ref().map(|me| me.who.id).unwrap_or_default();
            page.items().for_each(|item| news.read(item, reader));
            said.context.me = context.me;
            last_notices = Some(notices);
            // An empty one is over: its time, or another check of the caller ended it.
            let is_last = page.is_empty() || page.unread > 0;
            append(&mut all, page);
            if is_last || news.count() > 0 || wait == Span::ZERO || bytes(&all) >= ENOUGH_BYTES {
                break;
            }
            after = None;
        }
        last_notices.map(|notices| Answer::Page { page: all, notices })
    }
}

/// Adds the page that follows.
fn append(all: &mut Page, next: Page) {
    all.gaps.extend(next.gaps);
    all.events.extend(next.events);
    all.cursor = next.cursor;
    all.unread = next.unread;
}

/// The bytes of the messages.
fn bytes(page: &Page) -> usize {
    let texts = page
        .events
        .iter()
        .filter_map(|(_, event)| event.body.message());
    texts.map(|(_, text)| text.len()).sum()
}
