//! Drafts: append, undo, reset, push. // 7.7

use std::sync::Arc;

use sim_model::protocol::{Code, Decided, Epoch, Reply, Room, User};

use super::speech::count;
use super::{Model, refuse, refuse_at, refuse_if};

/// The number of characters of a draft's end in the answer to a cut append. // 7.7
const SUFFIX: usize = 50;

/// A member's draft: a sequence of appends.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    appends: Vec<Arc<str>>,
    /// The characters of all appends.
    length: u32,
}

impl Draft {
    pub(super) const fn length(&self) -> u32 {
        self.length
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.appends.is_empty()
    }

    /// The last characters. // 7.7
    fn suffix(&self) -> Arc<str> {
        let text = self.text();
        let before = text.chars().count().saturating_sub(SUFFIX);
        text.chars().skip(before).collect::<String>().into()
    }

    fn text(&self) -> Arc<str> {
        match self.appends.as_slice() {
            [only] => Arc::clone(only),
            appends => appends.concat().into(),
        }
    }
}

impl Model {
    fn draft_mut(&mut self, room: Room, user: User) -> &mut Draft {
        let member = self.place_mut(room).members.get_mut(&user);
        &mut member.expect("the room was resolved for a member").draft
    }

    /// `append`.
    pub(super) fn append(
        &mut self,
        user: User,
        room: Option<Room>,
        text: &Arc<str>,
        epoch: Option<Epoch>,
    ) -> Decided {
        let room = self.resolve(user, room)?;
        self.check_floor(room, user, epoch)?;
        refuse_if(text.is_empty(), refuse(Code::MessageEmpty))?;
        let (max_append, max_draft) = (self.config.max_append, self.config.max_draft);
        let given = count(text);
        let added = given.min(max_append);
        let draft = self.draft_mut(room, user);
        refuse_if(
            draft.length + added > max_draft,
            refuse_at(Code::DraftFull, max_draft),
        )?;
        draft.appends.push(if added < given {
            let kept: String = text.chars().take(added as usize).collect();
            kept.into()
        } else {
            Arc::clone(text)
        });
        draft.length += added;
        Ok(Reply::Draft {
            length: draft.length,
            cut: given - added,
            suffix: (added < given).then(|| (*draft.suffix()).into()),
        })
    }

    /// `undo`.
    pub(super) fn undo(&mut self, user: User, room: Option<Room>, epoch: Option<Epoch>) -> Decided {
        let room = self.resolve(user, room)?;
        self.check_epoch(room, user, epoch)?;
        let draft = self.draft_mut(room, user);
        if let Some(last) = draft.appends.pop() {
            draft.length -= count(&last);
        }
        Ok(Reply::Draft {
            length: draft.length,
            cut: 0,
            suffix: None,
        })
    }

    /// `reset`.
    pub(super) fn reset(
        &mut self,
        user: User,
        room: Option<Room>,
        epoch: Option<Epoch>,
    ) -> Decided {
        let room = self.resolve(user, room)?;
        self.check_epoch(room, user, epoch)?;
        *self.draft_mut(room, user) = Draft::default();
        self.give_up_stick(room, user);
        Ok(Reply::Draft {
            length: 0,
            cut: 0,
            suffix: None,
        })
    }

    /// `push`.
    pub(super) fn push(&mut self, user: User, room: Option<Room>, epoch: Option<Epoch>) -> Decided {
        let room = self.resolve(user, room)?;
        self.check_floor(room, user, epoch)?;
        let draft = self.draft_mut(room, user);
        refuse_if(draft.appends.is_empty(), refuse(Code::DraftEmpty))?;
        let text = draft.text();
        self.check_message(&text)?;
        *self.draft_mut(room, user) = Draft::default();
        let answer = self.say(room, user, text);
        // A caller that does not hold the stick keeps its claim. // 7.7
        if self.grant_of(room, user).is_some() {
            self.give_up_stick(room, user);
        }
        Ok(answer)
    }
}
