//! The values of the verbs that call the server.

use std::sync::Arc;

use chat_types::{BreakKind, Span};

use crate::context::Context;
use crate::error::Read;
use crate::fields::Fields;
use crate::form::{ByKeys, form};
use crate::forms::{Count, Name, Whole, Word, narrowed, words};
use crate::lists::List;
use crate::tables::{Drawn, Length};
use sim_model::plan::{self, Alphabet, Grant, Verb};
use sim_model::protocol::ReadBy;

form! {
    EnterQueue("`enter_queue`", "{ interests: [rust] }") => Verb = Verb::EnterQueue {
        /// The user's interests.
        interests: Interests = Arc::default(),
        /// The display name; by default the user's own.
        name: Option<Arc<str>>,
        /// The public id; by default one like `user_7`. Only a registration may have one.
        user_id: Option<Arc<str>>,
    }
}

type Interests = List<Name<Arc<str>>, 0, Arc<[Arc<str>]>>;

form! {
    Login("`login`", "{ room: lobby }") => Verb = Verb::Login {
        /// The room.
        room: Arc<str> = Arc::from("lobby"),
        /// More than 1: the user draws one of so many rooms, from `<room>-0` on.
        rooms: Count<1, 1_000_000> = 1,
        /// The display name; by default the user's own.
        name: Option<Arc<str>>,
    }
}

words! {
    AlphabetOf("an alphabet") => Option<Alphabet> = [
        "ascii": None,
        "words": Some(Alphabet::Words),
        "unicode": Some(Alphabet::Unicode),
    ]
}

form! {
    struct TextKeys("a text", "{ text: \"hello\" }") {
        /// The text.
        #[one_of("kind")]
        text: Option<Arc<str>>,
        /// The number of characters.
        #[one_of("kind")]
        length: Option<Drawn<Length>>,
        /// The alphabet of random texts.
        #[with("length")]
        alphabet: Word<AlphabetOf> = None,
    }
}

impl ByKeys for plan::Text {
    type Keys = TextKeys;

    fn from_text(text: &str) -> Option<Self> {
        Some(Self::Words(text.into()))
    }

    fn from_keys(keys: TextKeys, _: &Fields<'_>, _: &mut Context) -> Read<Self> {
        Ok(match (keys.text, keys.length, keys.alphabet) {
            (_, Some(length), None) => Self::Length(length),
            (_, Some(length), Some(alphabet)) => Self::Letters(alphabet, length),
            (words, None, _) => Self::Words(words.unwrap_or_default()),
        })
    }

    fn to_keys(&self) -> TextKeys {
        let (text, length, alphabet) = match self {
            Self::Words(words) => (Some(words), None, None),
            Self::Length(length) => (None, Some(length), None),
            Self::Letters(alphabet, length) => (None, Some(length), Some(*alphabet)),
        };
        TextKeys {
            text: text.cloned(),
            length: length.cloned(),
            alphabet,
        }
    }
}

narrowed! {
    /// The wait of a check, up to the server's limit.
    Wait, Span, Span::WHAT, |wait, node, context| {
        let Some(most) = context.server.as_ref().map(|server| server.max_wait) else {
            return Ok(());
        };
        if *wait <= most {
            return Ok(());
        }
        node.place.refuse(
            format!("a wait of {wait} is more than the server allows"),
            format!("at most server.max_wait, which is {most}"),
        )
    }
}

words! {
    Secret("a secret to read by") => ReadBy = [
        "handle": ReadBy::Handle,
        "reader": ReadBy::ReaderId,
    ]
}

form! {
    Check("`check`", "{ wait: 5s }") => Verb = Verb::Check {
        /// How long to wait for an event, at most server.max_wait.
        wait: Wait = Span::ZERO,
        /// The secret: the handle, or the reader id, which can only read.
        #[key("as")]
        by: Word<Secret> = ReadBy::Handle,
    }
}

form! {
    History("`history`", "{ limit: 20 }") => Verb = Verb::History {
        /// Only messages before this position of the room; the newest by default.
        before: Option<Whole<1, 1_000_000_000>>,
        /// The most messages.
        limit: Count<1, 500> = 50,
    }
}

words! {
    GrantOf("a grant of the stick") => Grant = [
        "none": Grant::Unnamed,
        "latest": Grant::Latest,
    ]
}

form! {
    struct UnderGrant("a call under a grant", "{ epoch: latest }") {
        /// The grant of the stick that the call names: none, or the latest that the user knows of,
        /// which may be over.
        epoch: Word<GrantOf> = Grant::Unnamed,
    }
}

form! {
    Report("`report`", "{ reason: spam }") => Verb = Verb::Report {
        /// The reason.
        reason: Arc<str> = Arc::from("spam"),
    }
}

/// The only tool of the break tools that is no break.
const STATUS: &str = "check_stress_status";

words! {
    BreakOf("a break") => Option<BreakKind> = all {
        let breaks = BreakKind::ALL.iter().map(|kind| (kind.name(), Some(*kind)));
        breaks.chain([(STATUS, None)]).collect()
    }
}

form! {
    struct BreakKeys("`break`", "{ kind: chimaek }") {
        /// The kind; any by default. `check_stress_status` is no break, and only shows the stress.
        kind: Option<Word<BreakOf>>,
        /// The text of the answer; the server's own by default.
        excuse: Option<Arc<str>>,
    }
}

/// A break, or `check_stress_status`.
impl ByKeys for Verb {
    type Keys = BreakKeys;

    fn from_keys(keys: BreakKeys, fields: &Fields<'_>, _: &mut Context) -> Read<Self> {
        let BreakKeys { kind, excuse } = keys;
        if kind != Some(None) {
            let kind = kind.flatten();
            return Ok(Self::Break { kind, excuse });
        }
        if excuse.is_none() {
            return Ok(Self::Mood);
        }
        fields.place_of("kind").refuse(
            format!("`{STATUS}` is no break, and needs no excuse"),
            "a break, or no `excuse`",
        )
    }

    fn to_keys(&self) -> BreakKeys {
        if let Self::Break { kind, excuse } = self {
            let excuse = excuse.clone();
            return BreakKeys {
                kind: kind.map(Some),
                excuse,
            };
        }
        BreakKeys {
            kind: Some(None),
            excuse: None,
        }
    }
}
