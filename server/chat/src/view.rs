//! What can be read of the state between two turns.

use chat_core::{Hub, Load, Node, Reject, Seq, Size, Time, UserId};

/// The committed state, and the node that decides on it: none on a member of a cluster that is not
/// the owner.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The committed state.
    pub hub: &'a Hub,
    /// The node.
    pub node: Option<&'a Node>,
}

impl<'a> View<'a> {
    /// The state of this node.
    #[must_use]
    pub fn of(node: &'a Node) -> Self {
        Self {
            hub: node.hub(),
            node: Some(node),
        }
    }

    /// The place after which a bare `check` of the participant continues, and the number of events
    /// after it. None if it is not registered.
    #[must_use]
    pub fn unread(&self, user: UserId) -> Option<(Seq, u64)> {
        if let Some(node) = self.node {
            return node.unread(user);
        }
        let (_, cursor) = self.hub.inbox_cursors(user)?;
        Some((cursor, self.hub.unread(user, cursor)?))
    }

    /// Checks that the journal can be written, as far as is known.
    ///
    /// # Errors
    /// It cannot.
    pub fn check_storage(&self, now: Time) -> Result<(), Reject> {
        self.node.map_or(Ok(()), |node| node.check_storage(now))
    }

    /// The load, for monitoring.
    #[must_use]
    pub fn load(&self) -> Load {
        self.node.map(Node::load).unwrap_or_default()
    }

    /// The size of every collection, with its limit.
    #[must_use]
    pub fn sizes(&self) -> Vec<Size> {
        self.node.map_or_else(|| self.hub.sizes(), Node::sizes)
    }
}
