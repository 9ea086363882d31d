//! A place in the log: what the next record must continue.

use std::sync::Arc;

use chat_core::{Continuity, Position};
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

/// The end of the log as far as a member has applied it. It is stored beside a copy of the log, which
/// can be followed from there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    realm: u128,
    /// The sequence of the last applied record; 0 before the first.
    pub sequence: u64,
    tip: Link,
    /// The latest owner.
    pub(crate) owner: Option<Owner>,
    /// The end of the journal that the log's batches form.
    pub chain: Chain,
    /// Broken up to the first batch of a log that a life was lost before.
    pub continuity: Continuity,
}

/// The next record, parsed. All but its effect on the state is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next {
    /// The place after it.
    pub after: Place,
    /// The entries of a batch, and its record of the journal.
    pub batch: Option<(Record, Arc<[u8]>)>,
    /// The position of the last entry, and the digest of the state there, as a heartbeat has them.
    pub heartbeat: Option<(Position, u64)>,
}

impl Place {
    /// The beginning of the log.
    #[must_use]
    pub fn new(origin: &Origin) -> Self {
        Self {
            realm: origin.realm,
            sequence: 0,
            tip: origin.link,
            owner: None,
            chain: Chain::new(origin),
            continuity: Continuity::Whole,
        }
    }

    /// The beginning of a log that continues this journal. Records of an earlier log of the realm do
    /// not continue it, and its first claim has a later epoch than theirs.
    #[must_use]
    pub fn after_journal(origin: &Origin, chain: &Chain) -> Self {
        Self {
            tip: origin.link.over(&chain.tip().to_bytes()),
            owner: Some(Owner {
                epoch: chain.owner(),
                member: MemberId {
                    number: 0,
                    incarnation: 0,
                },
                address: "".into(),
                resigned: true,
            }),
            chain: *chain,
            ..Self::new(origin)
        }
    }

    /// Whether these bytes are the last record.
    #[must_use]
    pub fn ends_with(&self, record: &[u8]) -> bool {
        record.ends_with(&self.tip.to_bytes())
    }

    /// The place as bytes.
    ///
    /// # Panics
    /// Never: a place serialises.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("a place serialises")
    }

    /// The place that these bytes are. `None` if they are none.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok()
    }

    /// The number of the latest claim; 0 before the first.
    #[must_use]
    pub fn epoch(&self) -> u64 {
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
        let head = self.next_head(author, &body);
        let (bytes, tip) = envelope::seal(self.tip, head, body);
        let after = match body {
            Body::Batch { .. } => Self {
                continuity: Continuity::Whole,
                ..self.behind(tip)
            },
            Body::Claim { .. } | Body::Heartbeat { .. } | Body::Resigned | Body::Noop => {
                let next = self.next(tip, head, body);
                next.expect("only a batch may be unfit").after
            }
        };
        (bytes, after)
    }

    /// The head of the next record.
    fn next_head(&self, author: MemberId, body: &Body<'_>) -> Head {
        let is_claim = matches!(body, Body::Claim { .. });
        Head {
            realm: self.realm,
            sequence: self.sequence + 1,
            epoch: self.epoch() + u64::from(is_claim),
            author,
        }
    }

    fn behind(&self, tip: Link) -> Self {
        Self {
            sequence: self.sequence + 1,
            tip,
            ..self.clone()
        }
    }

    /// Reads the next record.
    ///
    /// # Errors
    /// The bytes are not the next record.
    pub fn open(&self, bytes: &[u8]) -> Result<Next, Unfit> {
        let (head, body, tip) = envelope::open(self.tip, bytes)?;
        if !matches!(body, Body::Claim { .. }) && !self.is_owner(head.author) {
            return Err(Unfit::Content("its author is not the owner".into()));
        }
        if head != self.next_head(head.author, &body) {
            return Err(Unfit::Content(format!("its head is {head:?}")));
        }
        self.next(tip, head, body)
    }

    fn next(&self, tip: Link, head: Head, body: Body<'_>) -> Result<Next, Unfit> {
        let mut next = Next {
            after: self.behind(tip),
            batch: None,
            heartbeat: None,
        };
        let after = &mut next.after;
        match body {
            Body::Claim { address } => {
                after.owner = Some(Owner {
                    epoch: head.epoch,
                    member: head.author,
                    address: address.into(),
                    resigned: false,
                });
                after.chain = self.chain.owned_by(head.epoch);
            }
            Body::Batch { record } => {
                let batch = after.chain.follow(record).map_err(Unfit::Batch)?;
                if after.chain.owner() != head.epoch {
                    return Err(Unfit::Content("its batch is of another owner".into()));
                }
                after.continuity = Continuity::Whole;
                next.batch = Some((batch, record.into()));
            }
            Body::Heartbeat { position, digest } => next.heartbeat = Some((position, digest)),
            Body::Resigned => {
                if let Some(owner) = &mut after.owner {
                    owner.resigned = true;
                }
            }
            Body::Noop => {}
        }
        Ok(next)
    }
}

#[cfg(test)]
mod tests {
    use chat_core::{Entry, Time};
    use chat_journal::Identity;

    use super::*;

    const ONE: MemberId = MemberId {
        number: 1,
        incarnation: 1,
    };

    fn origin() -> Origin {
        let identity = Identity {
            realm: 7,
            seed: 11,
            secret: [3; 32],
        };
        identity.origin()
    }

    fn claim(place: &Place) -> (Vec<u8>, Place) {
        place.seal(ONE, Body::Claim { address: "one" })
    }

    #[test]
    fn a_log_that_continues_a_journal_has_later_epochs_and_no_record_of_an_earlier_log() {
        let origin = origin();
        let (old, after) = claim(&Place::new(&origin));
        let chain = after.chain.seal(Time(5), &[Entry::Tick]).after;
        let place = Place {
            continuity: Continuity::Broken,
            ..Place::after_journal(&origin, &chain)
        };
        assert_eq!((place.sequence, place.chain), (0, chain));
        assert_eq!(place.open(&old), Err(Unfit::Link));
        let (record, after) = claim(&place);
        let next = place.open(&record).expect("the first record");
        assert_eq!((&next.after, next.batch), (&after, None));
        assert_eq!(after.epoch(), chain.owner() + 1);
        // Whichever member forms the first batch, it passes the numbers of the lost life.
        assert_eq!(after.continuity, Continuity::Broken);
        let batch = after.chain.seal(Time(6), &[Entry::Tick]);
        let record = &batch.bytes;
        let (bytes, sealed) = after.seal(ONE, Body::Batch { record });
        let next = after.open(&bytes).expect("the next record");
        let follows = [sealed.continuity, next.after.continuity];
        assert_eq!(follows, [Continuity::Whole; 2]);
        let mut journal = chain;
        let kept = journal.follow(&batch.bytes).expect("the next record");
        assert_eq!(kept.first, chain.last().next());
    }

    #[test]
    fn a_place_is_the_same_after_it_was_stored() {
        let (record, place) = claim(&Place::new(&origin()));
        assert_eq!(Place::from_bytes(&place.to_bytes()), Some(place.clone()));
        assert!(place.ends_with(&record));
        let (later, _) = place.seal(ONE, Body::Noop);
        assert!(!place.ends_with(&later));
        assert_eq!(Place::from_bytes(b""), None);
    }
}
