//! A place in the log: what the next record must continue.

use std::sync::Arc;

use chat_core::Position;
use chat_journal::{Chain, Link, Origin, Record};
use serde::{Deserialize, Serialize};

use crate::envelope::{self, Body, Head, MemberId, Unfit};

/// The owner of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Its epoch: the number of its claim, from 1 on.
    pub epoch: u64,
    /// The member.
    pub member: MemberId,
    /// Its address for other members.
    pub address: Arc<str>,
    /// Whether it has resigned, so that the log is free.
    pub resigned: bool,
}

/// The end of the log as far as a member has applied it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    realm: u128,
    /// The sequence of the last applied record; 0 before the first.
    pub(crate) sequence: u64,
    tip: Link,
    /// The latest owner.
    pub(crate) owner: Option<Owner>,
    /// The end of the journal that the log's batches form.
    pub(crate) chain: Chain,
}

/// The next record, parsed. All but its effect on the state is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Next {
    /// The place after it.
    pub(crate) after: Place,
    pub(crate) news: News,
}

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum News {
    Claimed,
    /// A batch, and its record of the journal.
    Batch {
        batch: Record,
        record: Arc<[u8]>,
    },
    Heartbeat {
        position: Position,
        digest: u64,
    },
    Resigned,
    Noop,
}

impl Place {
    /// The beginning of the log.
    pub(crate) fn new(origin: &Origin) -> Self {
        Self {
            realm: origin.realm,
            sequence: 0,
            tip: origin.link,
            owner: None,
            chain: Chain::new(origin),
        }
    }

    /// The number of the latest owner's time in ownership; 0 before the first.
    pub(crate) fn epoch(&self) -> u64 {
        self.owner.as_ref().map_or(0, |owner| owner.epoch)
    }

    /// Whether this member wrote the latest claim, and has not resigned.
    pub(crate) fn is_owner(&self, member: MemberId) -> bool {
        let owner = self.owner.as_ref();
        owner.is_some_and(|owner| owner.member == member && !owner.resigned)
    }

    /// Makes the next record. Returns the place after it, too; for a batch, its chain is the
    /// caller's to set.
    pub(crate) fn seal(&self, author: MemberId, body: Body<'_>) -> (Vec<u8>, Self) {
        let epoch = match body {
            Body::Claim { .. } => self.epoch() + 1,
            Body::Batch { .. } | Body::Heartbeat { .. } | Body::Resigned | Body::Noop => {
                self.epoch()
            }
        };
        let head = Head {
            realm: self.realm,
            sequence: self.sequence + 1,
            epoch,
            author,
        };
        let (bytes, tip) = envelope::seal(self.tip, head, body);
        let mut after = self.behind(tip);
        if !matches!(body, Body::Batch { .. }) {
            after
                .take_in(head, body)
                .expect("only a batch may be unfit");
        }
        (bytes, after)
    }

    fn behind(&self, tip: Link) -> Self {
        Self {
            sequence: self.sequence + 1,
            tip,
            ..self.clone()
        }
    }

    /// Reads the next record.
    pub(crate) fn open(&self, bytes: &[u8]) -> Result<Next, Unfit> {
        let (head, body, tip) = envelope::open(self.tip, bytes)?;
        let is_by_owner = self.is_owner(head.author);
        let epoch = match body {
            Body::Claim { .. } => self.epoch() + 1,
            Body::Batch { .. } | Body::Heartbeat { .. } | Body::Resigned | Body::Noop
                if is_by_owner =>
            {
                self.epoch()
            }
            Body::Batch { .. } | Body::Heartbeat { .. } | Body::Resigned | Body::Noop => {
                return Err(Unfit::Content("its author is not the owner".into()));
            }
        };
        let (realm, sequence) = (self.realm, self.sequence + 1);
        if (head.realm, head.sequence, head.epoch) != (realm, sequence, epoch) {
            return Err(Unfit::Content(format!("its head is {head:?}")));
        }
        let mut after = self.behind(tip);
        let news = after.take_in(head, body)?;
        Ok(Next { after, news })
    }

    fn take_in(&mut self, head: Head, body: Body<'_>) -> Result<News, Unfit> {
        Ok(match body {
            Body::Claim { address } => {
                self.owner = Some(Owner {
                    epoch: head.epoch,
                    member: head.author,
                    address: address.into(),
                    resigned: false,
                });
                self.chain = self.chain.owned_by(head.epoch);
                News::Claimed
            }
            Body::Batch { record } => {
                let batch = self.chain.follow(record).map_err(Unfit::Batch)?;
                if self.chain.owner() != head.epoch {
                    return Err(Unfit::Content("its batch is of another owner".into()));
                }
                News::Batch {
                    batch,
                    record: record.into(),
                }
            }
            Body::Heartbeat { position, digest } => News::Heartbeat { position, digest },
            Body::Resigned => {
                if let Some(owner) = &mut self.owner {
                    owner.resigned = true;
                }
                News::Resigned
            }
            Body::Noop => News::Noop,
        })
    }
}
