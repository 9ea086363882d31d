//! Texts whose size alone exceeds their limit are refused before they cost the journal anything.

use chat_types::config::Config;

use super::Node;
use crate::hub::{MAX_INTEREST, MAX_PUBLIC_ID, MAX_REASON};
use crate::name::MAX_NAME;
use crate::reject::{Accepted, Argument, LineFault, NameFault, Reject};
use chat_types::{Command, EnterQueue};

/// The largest number of bytes of one character.
const BYTES: usize = 4;

impl Node {
    /// Checks the size of each text in bytes against the longest that the Hub could accept. The Hub
    /// counts the characters later.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "most commands have no text of their caller's"
    )]
    pub(super) fn check_sizes(&self, command: &Command) -> Result<(), Reject> {
        let config = self.hub.config();
        match command {
            Command::SendMessage { text, .. } => {
                let limit = config.max_message;
                check(text, limit as usize, || Reject::MessageTooLong { limit })
            }
            Command::Append { text, .. } => {
                let limit = config.max_draft;
                check(text, limit as usize, || Reject::DraftFull { limit })
            }
            Command::Login { username, room } => {
                check_name(username)?;
                let accepted = Accepted::Line(64, LineFault::Long);
                check(room, MAX_NAME, || Reject::invalid(Argument::Room, accepted))
            }
            Command::EnterQueue(enter) => check_enter(enter, config),
            Command::ReportUser { reason, .. } => {
                let accepted = Accepted::Line(MAX_REASON, LineFault::Long);
                check(reason, MAX_REASON as usize, || {
                    Reject::invalid(Argument::Reason, accepted)
                })
            }
            Command::TakeBreak {
                excuse: Some(excuse),
                ..
            } => {
                let limit = config.max_excuse;
                check(excuse, limit as usize, || {
                    Reject::invalid(Argument::Excuse, Accepted::Characters(limit))
                })
            }
            _ => Ok(()),
        }
    }
}

fn check_enter(enter: &EnterQueue, config: &Config) -> Result<(), Reject> {
    if let Some(name) = &enter.display_name {
        check_name(name)?;
    }
    let too_many = || Reject::invalid(Argument::Interests, Accepted::List(config.max_interests));
    if enter.interests.len() > config.max_interests as usize {
        return Err(too_many());
    }
    for interest in &*enter.interests {
        check(interest, MAX_INTEREST, too_many)?;
    }
    let id = enter.user_id.as_deref().unwrap_or_default();
    check(id, MAX_PUBLIC_ID, || {
        Reject::invalid(Argument::UserId, Accepted::PublicId)
    })
}

fn check_name(name: &str) -> Result<(), Reject> {
    check(name, MAX_NAME, || Reject::NameNotAllowed {
        why: NameFault::Length,
    })
}

fn check(text: &str, characters: usize, refuse: impl FnOnce() -> Reject) -> Result<(), Reject> {
    if text.len() > characters.saturating_mul(BYTES) {
        return Err(refuse());
    }
    Ok(())
}
