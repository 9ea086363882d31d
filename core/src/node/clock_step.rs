//! A step of the clock while the node serves, as after a sleep of the machine.

use chat_types::Continuity;

use super::{Node, Origin, VERSION};
use crate::command::{Entry, Implied};
use crate::id::Position;

impl Node {
    /// The clock goes forward by a step that nobody lived through, as after a sleep of the machine. As
    /// after downtime, deadlines move by it; open streams stay open. The next batch has the new time.
    pub fn clock_stepped(&mut self) {
        let is_begin =
            |entry: &Entry| matches!(entry, Entry::Started { .. } | Entry::Resumed { .. });
        let is_begun = self.hub.position() > Position(0);
        if !is_begun
            || self
                .proposed
                .front()
                .is_some_and(|(_, entry)| is_begin(entry))
        {
            return;
        }
        // What resumes closes all streams, these among them.
        self.proposed.retain(|(_, entry)| {
            !matches!(
                entry,
                Entry::Implied {
                    implied: Implied::CloseStream,
                    ..
                }
            )
        });
        let implied = Implied::OpenStream;
        for user in self.streams.owners().into_iter().rev() {
            let open = Entry::Implied { user, implied };
            self.proposed.push_front((Origin::Node, open));
        }
        let resumed = Entry::Resumed {
            config: Box::new(self.hub.config().clone()),
            version: VERSION.into(),
            continuity: Continuity::Whole,
        };
        self.proposed.push_front((Origin::Node, resumed));
    }
}
