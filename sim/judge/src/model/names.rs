//! Rules for lines of text, look-alikes, the ownership of names, and registration: the calls of a new
//! caller that create a participant. // 5.1 to 5.4

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, LazyLock};

use chat_types::{Address, Caller, Command, EnterQueue, Measure, SecretHash, Span};
use rustc_hash::FxHashSet;
use sim_model::protocol::{Code, Decided, Refusal, Reply, User, Who};
use unicode_normalization::UnicodeNormalization as _;
use unicode_properties::{
    EmojiStatus, GeneralCategory as Category, GeneralCategoryGroup as Group, UnicodeEmoji as _,
    UnicodeGeneralCategory as _,
};
use unicode_security::confusable_detection::skeleton;
use unicode_security::{GeneralSecurityProfile as _, RestrictionLevel, RestrictionLevelDetection};

use super::breaks::StressState;
use super::deadline::Deadline;
use super::participant::{Keys, Participant};
use super::presence::{Presence, State};
use super::{Asker, Inbox, Model, refuse, refuse_at, refuse_if};

/// The most characters of names, room names and interests. // 1
pub(super) const MAX_NAME: usize = 64;

/// Whether a character is visible; U+0020 counts as visible. // 5.2
fn is_visible(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    let category = c.general_category();
    !matches!(category, Category::Control | Category::Format)
        && c.general_category_group() != Group::Separator
        && !matches!(u32::from(c),
            0x34f | 0x115f..=0x1160 | 0x17b4..=0x17b5 | 0x180b..=0x180f | 0x2065 | 0x2800 | 0x3164
            | 0xfe00..=0xfe0f | 0xffa0 | 0xfff0..=0xfff8 | 0xe0000..=0xe0fff)
}

/// Whether a text is a line of at most `most` characters. // 5.2
pub(super) fn is_line(text: &str, most: usize) -> bool {
    let mut count = 0;
    let mut before = ' ';
    for c in text.chars() {
        if !is_visible(c) || (c == ' ' && before == ' ') {
            return false;
        }
        before = c;
        count += 1;
    }
    count <= most && before != ' '
}

/// Whether a text has a visible character other than a space. // 5.2
pub(super) fn says_something(text: &str) -> bool {
    text.chars().any(|c| is_visible(c) && c != ' ')
}

/// The folded form, by which what is kept of names is compared. // 5.3, 11.3
pub(super) fn fold(name: &str) -> String {
    folded(name, Case::Lower).replace(' ', "")
}

/// The key of a room's name. // 5.3
pub(super) fn room_key(name: &str) -> String {
    name.to_lowercase().nfc().collect()
}

/// The cases in which a text is folded. // 5.3
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Case {
    Lower,
    Given,
    Upper,
}

/// The cases in which the text can have other folded forms: of ASCII, `i` alone looks like another
/// letter in another case.
fn cases(text: &str) -> &'static [Case] {
    match text.is_ascii() && !text.contains(['i', 'I']) {
        true => &[Case::Lower],
        false => &[Case::Lower, Case::Given, Case::Upper],
    }
}

fn folded(text: &str, case: Case) -> String {
    if text.is_ascii() {
        fold_ascii(text, case)
    } else {
        fold_other(text, case)
    }
}

pub(super) fn fold_ascii(text: &str, case: Case) -> String {
    let mut folded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'i' if case == Case::Upper => folded.push('l'),
            b'I' if case != Case::Lower => folded.push('l'),
            b'0' => folded.push('o'),
            b'1' | b'|' => folded.push('l'),
            b'm' | b'M' => folded.push_str("rn"),
            b'`' => folded.push('\''),
            b'"' => folded.push_str("''"),
            b'%' => folded.push_str("°/₀"),
            other => folded.push(char::from(other.to_ascii_lowercase())),
        }
    }
    folded
}

pub(super) fn fold_other(text: &str, case: Case) -> String {
    let cased = match case {
        Case::Lower => text.to_lowercase(),
        Case::Given => text.into(),
        Case::Upper => text.to_uppercase(),
    };
    let seen: String = skeleton(&cased).collect();
    skeleton(&seen.to_lowercase()).collect()
}

/// The folded forms of a text, each once. // 5.3
fn spellings(text: &str) -> Vec<String> {
    let mut spellings: Vec<_> = cases(text).iter().map(|case| folded(text, *case)).collect();
    spellings.dedup();
    spellings
}

/// The keys of a text: look-alikes have one in common. // 5.3
pub(super) fn keys(text: &str) -> Vec<String> {
    keys_in(spellings(text))
}

/// The keys of a text, unless it is or contains a reserved one. // 5.3
fn unreserved(text: &str) -> Option<Vec<String>> {
    let spellings = spellings(text);
    let is_reserved = spellings.iter().any(|folded| is_reserved(folded));
    (!is_reserved).then(|| keys_in(spellings))
}

fn keys_in(mut spellings: Vec<String>) -> Vec<String> {
    for folded in &mut spellings {
        folded.retain(|c| c != ' ');
    }
    spellings
}

/// Whether a key is this prefix with a number: `user_`, as in the names that the server gives, or
/// `roorn_`, which is the id of a room. // 5.3
fn is_numbered(key: &str, prefix: &str) -> bool {
    key.strip_prefix(prefix)
        .is_some_and(|n| !n.is_empty() && n.chars().all(|c| "ol23456789".contains(c)))
}

/// The words that no name may contain. // 5.3
const SERVERS_WORDS: &str = "server system operator operators admin admins administrator \
    administrators moderator moderators you everyone";

/// The words that no name may be. // 5.3
const WORDS_ALONE: &str = "talkingstick root support host boss assistant next note me all";

/// The keys of the two kinds of words. // 5.3
static SERVERS_KEYS: LazyLock<FxHashSet<String>> = LazyLock::new(|| keys_of(SERVERS_WORDS));
static KEYS_ALONE: LazyLock<FxHashSet<String>> = LazyLock::new(|| keys_of(WORDS_ALONE));

fn keys_of(words: &str) -> FxHashSet<String> {
    words.split(' ').flat_map(keys).collect()
}

/// Whether a character is a letter, a mark or a number. // 5.3
fn is_spelt(c: char) -> bool {
    matches!(group(c), Group::Letter | Group::Mark | Group::Number)
}

/// The group of a character. In ASCII it matters only whether one is a letter or a digit.
fn group(c: char) -> Group {
    match c.is_ascii() {
        true if c.is_ascii_alphanumeric() => Group::Letter,
        true => Group::Symbol,
        false => c.general_category_group(),
    }
}

/// Whether a text with this folded form, or a part of it, is reserved. // 5.3
fn is_reserved(folded: &str) -> bool {
    let spelt = |piece: &str| {
        let mut spelt = String::with_capacity(piece.len());
        spelt.extend(
            piece
                .chars()
                .filter(|c| is_spelt(*c) && group(*c) != Group::Mark),
        );
        spelt
    };
    let is_word = |piece: &str| match piece.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        true => SERVERS_KEYS.contains(piece),
        false => SERVERS_KEYS.contains(&spelt(piece)),
    };
    let whole = spelt(folded);
    SERVERS_KEYS.contains(&whole)
        || KEYS_ALONE.contains(&whole)
        || is_numbered(folded, "roorn_")
        || (whole.len() < folded.len()
            && (folded.split(' ').any(is_word) || folded.split(|c| !is_spelt(c)).any(is_word)))
}

/// Whether a line is well formed as a name. // 5.3
fn is_well_made(name: &str) -> bool {
    let mut has_base = false;
    let mut marks_left = 0_u32;
    for c in name.chars() {
        if !may_stand_in_names(c) {
            return false; // (a)
        }
        match group(c) {
            Group::Letter | Group::Number => {
                has_base = true; // (b)
                marks_left = 4;
            }
            Group::Mark if marks_left == 0 => return false, // (c)
            Group::Mark => marks_left -= 1,
            Group::Punctuation | Group::Symbol | Group::Separator | Group::Other => marks_left = 0,
        }
    }
    has_base
        // A word of ASCII has only one script.
        && name.split(' ').filter(|word| !word.is_ascii()).all(|word| {
            let told: String = word.chars().filter(|c| c.identifier_allowed()).collect();
            told.check_restriction_level(RestrictionLevel::HighlyRestrictive) // (d)
        })
}

/// Whether a name may have this character. // 5.3 (a)
fn may_stand_in_names(c: char) -> bool {
    (' '..='~').contains(&c)
        || c.identifier_allowed()
        || (shows_as_emoji(c) && !('\u{1f100}'..='\u{1f2ff}').contains(&c))
}

/// Whether a character is shown as an emoji by itself. // 5.3 (a)
fn shows_as_emoji(c: char) -> bool {
    use EmojiStatus as E;
    matches!(
        c.emoji_status(),
        E::EmojiPresentation
            | E::EmojiPresentationAndEmojiComponent
            | E::EmojiPresentationAndModifierBase
            | E::EmojiPresentationAndModifierAndEmojiComponent
    )
}

/// The effect of an accepted display name: the participant takes it with these keys,
/// for which these others give way; or it has the name already.
pub(super) type Naming = Option<(Vec<String>, BTreeSet<User>)>;

/// The display name that a registering call asks for.
fn asked_name(command: &Command) -> Option<&Arc<str>> {
    if let Command::Login { username, .. } = command {
        return Some(username);
    }
    let Command::EnterQueue(entry) = command else {
        return None;
    };
    entry.display_name.as_ref()
}

impl Model {
    /// Whether a participant, or one that registers, may have this name. // 5.3
    pub(super) fn check_name(&self, asker: Asker, name: &str) -> Result<Naming, Refusal> {
        let participant = asker.0.map(|user| self.participant(user));
        if participant.is_some_and(|participant| *participant.who.name == *name) {
            return Ok(None); // 5.3 (2), and it passed (1) before
        }
        let is_made = is_line(name, MAX_NAME) && is_well_made(name);
        let keys = if is_made { unreserved(name) } else { None };
        let keys = keys.ok_or(refuse(Code::NameNotAllowed))?; // 5.3 (1)
        let has_chosen = participant.is_some_and(|participant| participant.chosen);
        refuse_if(has_chosen, refuse(Code::NameNotAllowed))?; // 5.3 (3)
        let is_banned = self.measures.of_name(&keys) == Some(Measure::Ban);
        refuse_if(is_banned, refuse(Code::NameNotAllowed))?; // 5.3 (4)
        let yielding = self.giving_way(&keys, asker)?; // 5.3 (5)
        Ok(Some((keys, yielding)))
    }

    /// The other participants whose names or ids have one of these keys, if all give way to a caller
    /// from this address; else the name is taken, with the silence after which they would, unless a
    /// key is of the server's form. // 5.3 (5), 5.4, 16.3
    fn giving_way(&self, keys: &[String], (who, from): Asker) -> Result<BTreeSet<User>, Refusal> {
        let taken = |silence: Span| Err(Refusal::with(Code::NameTaken, silence.0));
        let owner = |key: &String| self.names.get(key).copied();
        let others = || keys.iter().filter(|key| who.is_none() || owner(key) != who);
        if others().any(|key| is_numbered(key, "user_")) {
            return Err(refuse(Code::NameTaken));
        }
        let holders: BTreeSet<User> = others().filter_map(owner).collect();
        let is_of_another = |user: &User| self.participant(*user).address != from;
        if holders.iter().any(is_of_another) {
            return taken(self.config.forget_after);
        }
        let staying = holders.iter().filter(|user| !self.gives_way(**user, from));
        let silences = staying.map(|user| match self.participant(*user).presence.deadline() {
            Some(deadline) => deadline.since(self.now),
            None => self.config.reconnect_grace,
        });
        let silences = silences.map(|silence| Span::secs(silence.0.div_ceil(1_000_000)));
        match silences.max() {
            Some(silence) => taken(silence),
            None => Ok(holders),
        }
    }

    /// Whether a registering participant may have this public id, and those that give way for
    /// it. // 5.4
    pub(super) fn check_public_id(&self, id: &str, from: u64) -> Result<BTreeSet<User>, Refusal> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        let is_plain = (1..=MAX_NAME).contains(&id.chars().count()) && id.chars().all(plain);
        refuse_if(!is_plain, refuse(Code::InvalidArguments))?;
        let keys = unreserved(id).ok_or(refuse(Code::UserIdTaken))?;
        let is_banned = self.measures.of_name(&keys) == Some(Measure::Ban);
        refuse_if(is_banned, refuse(Code::UserIdTaken))?;
        self.giving_way(&keys, (None, from))
            .map_err(|_| refuse(Code::UserIdTaken))
    }

    /// Adds keys of the participant's name or id. // 5.3, 5.4
    pub(super) fn add_keys(&mut self, user: User, keys: Vec<String>) {
        self.names.extend(keys.into_iter().map(|key| (key, user)));
    }

    /// Gives the participant a name that passed its check. // 5.3
    pub(super) fn name(&mut self, user: User, name: &Arc<str>, naming: Naming) {
        let Some((taken, yielding)) = naming else {
            return;
        };
        for other in yielding {
            self.forget(other);
        }
        let participant = self.participant_mut(user);
        participant.chosen = true;
        let before = std::mem::replace(
            &mut Arc::make_mut(&mut participant.who).name,
            (&**name).into(),
        );
        self.drop_keys(&before);
        self.add_keys(user, taken);
        self.took_name(user);
    }

    /// Frees a name or an id. // 5.3, 5.4
    pub(super) fn drop_keys(&mut self, text: &str) {
        for key in keys(text) {
            self.names.remove(&key);
        }
    }

    /// A call by a new caller: returns the participant if one was created, and the outcome.
    pub(super) fn register(
        &mut self,
        caller: Caller,
        command: &Command,
    ) -> Result<(User, Decided), Refusal> {
        let Caller::New {
            handle,
            reader,
            from: Address(from),
        } = caller
        else {
            return Err(refuse(Code::UnknownHandle)); // 2.2 (2)
        };
        let kept = self.measures.of_handle(handle);
        refuse_if(kept == Some(Measure::Ban), refuse(Code::Blocked))?; // 11.4
        let (naming, mut yielding) = self.check_registration((handle, from), command)?;
        yielding.extend(self.check_space_for_participant(from, &yielding)?);
        for other in yielding {
            self.forget(other);
        }
        let number = User(self.participants.last + 1); // 4.1
        *self.by_address.entry(from).or_default() += 1;
        let mut participant = Participant {
            handle,
            reader,
            address: from,
            who: Arc::new(Who {
                id: number,
                chosen_id: None,
                name: number.to_string().into(),
            }),
            chosen: false,
            presence: Presence {
                state: State::Unused,
                until: self.now + self.config.unused_timeout, // 2.4
                streams: 0,
            },
            live: Vec::new(),
            pair: None,
            ended: VecDeque::new(),
            last_partner: None,
            blocked: BTreeSet::new(),
            muted: kept == Some(Measure::Mute), // 11.4
            inbox: Inbox::default(),
            keys: Keys::default(),
            stress_state: StressState::calm(self.now),
            ticket: None,
        };
        if let Command::EnterQueue(EnterQueue {
            user_id: Some(id), ..
        }) = command
        {
            Arc::make_mut(&mut participant.who).chosen_id = Some((&**id).into());
            let keys = keys(id);
            participant.muted |= self.measures.of_name(&keys) == Some(Measure::Mute); // 11.4
            self.add_keys(number, keys);
        }
        let at = participant.presence.deadline();
        self.deadlines.set(Deadline::Presence(number), None, at);
        self.add_keys(number, keys(&participant.who.name));
        self.handles.insert(handle, number);
        self.readers.insert(reader, number);
        self.participants.add(participant);
        if let Some(name) = asked_name(command) {
            self.name(number, name, naming);
        }
        if let Command::Login { room, .. } = command {
            // 5.1: this decision cannot be refused, also if the member that is longest away in the
            // room was forgotten.
            let room = self.join(number, room);
            let user = number;
            return Ok((number, Ok(Reply::LoggedIn { user, room })));
        }
        Ok((number, self.decide(number, command)))
    }

    /// Whether there is space for one more participant, and the participant that is forgotten for
    /// it. // 5.1
    fn check_space_for_participant(
        &self,
        from: u64,
        yielding: &BTreeSet<User>,
    ) -> Result<Option<User>, Refusal> {
        let of_address = self.by_address.get(&from).copied().unwrap_or_default();
        let others = || {
            let all = self.participants.numbers().into_iter().map(User);
            all.filter(move |user| !yielding.contains(user))
        };
        // Those that give way are all of this address.
        if of_address as usize - yielding.len() >= self.config.max_per_address as usize {
            let first = self.first_to_give_way(others(), from);
            let limit = self.config.max_per_address;
            return first.map(Some).ok_or(refuse_at(Code::AddressFull, limit));
        }
        if self.participants.len() - yielding.len() >= self.config.max_participants as usize {
            let first = self.longest_away(others());
            return first.map(Some).ok_or(refuse(Code::ServerFull));
        }
        Ok(None)
    }

    /// The checks before a participant is created; returns the effect of its name, and those that give
    /// way for the name and for the public id. // 5.1
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "calls register nobody unless the specification says so"
    )]
    fn check_registration(
        &self,
        (handle, from): (SecretHash, u64),
        command: &Command,
    ) -> Result<(Naming, BTreeSet<User>), Refusal> {
        let (mut naming, mut yielding) = (None, BTreeSet::new());
        match command {
            Command::EnterQueue(EnterQueue {
                user_id,
                display_name,
                interests,
            }) => {
                if let Some(name) = display_name {
                    naming = self.check_name((None, from), name)?;
                }
                let interests = self.read_interests(interests)?;
                self.check_space_in_line(None, &interests)?;
                self.check_space_for_room()?;
                if let Some(id) = user_id {
                    yielding = self.check_public_id(id, from)?;
                }
            }
            Command::Login { username, room } => {
                naming = self.check_name((None, from), username)?;
                self.check_join((None, from), room)?;
                let is_muted = self.measures.of_handle(handle) == Some(Measure::Mute)
                    || self.measures.of_address(from) == Some(Measure::Mute)
                    || self.measures.is_muted(username);
                if is_muted {
                    self.check_exists(room)?; // 8.1 (6)
                }
            }
            Command::TakeBreak { excuse, .. } => self.check_excuse(excuse.as_ref())?,
            _ => return Err(refuse(Code::HandleRequired)),
        }
        if let Some((_, others)) = &mut naming {
            yielding.append(others);
        }
        Ok((naming, yielding))
    }
}
