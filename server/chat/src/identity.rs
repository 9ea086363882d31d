//! Secrets: handles, reader ids, and their hashes.
//!
//! A handle identifies its caller, and is shown to its owner alone. The reader id, which only
//! reads, and the hashes that the core knows are derived from it. So the server stores no secrets,
//! and no journal, log or event can reveal a handle.

use std::fmt;
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chat_core::{Address, RequestKey, SecretHash, UserId, Who};
use hmac::{Hmac, KeyInit as _, Mac as _};
use server_storage::random;
use sha2::Sha256;

/// The number of random bytes of a secret: 128 bits.
const SECRET_BYTES: usize = 16;

/// The least number of characters of a request key that may mint a handle: 128 bits in base64.
pub const MINTING_KEY_CHARS: usize = 22;

/// The least number of distinct characters among them: a random key practically never has fewer.
const MINTING_KEY_DISTINCT: usize = 8;

/// The largest number of characters of a request key.
pub const MAX_KEY_CHARS: usize = 128;

/// How many participants may register between the look at the state from which a scope's handle is
/// derived, and its registration, so that it can be derived again.
pub const REACH: u64 = 64;

/// Generates a secret of a participant.
macro_rules! secret {
    ($(#[$about:meta])* $secret:ident) => {
        $(#[$about])*
        #[derive(Clone, PartialEq, Eq, Hash)]
        pub struct $secret(Box<str>);

        impl $secret {
            /// The secret as passed by a caller. Any text is possible; most are unknown.
            #[must_use]
            pub fn given(text: &str) -> Self {
                Self(text.into())
            }

            /// The secret, for its owner.
            #[must_use]
            pub fn expose(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Debug for $secret {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($secret), "(…)"))
            }
        }
    };
}

secret! {
    /// A participant's secret. Its debug output is masked.
    Handle
}

secret! {
    /// A participant's second secret, which only reads its inbox. Its debug output is masked.
    ReaderId
}

impl ReaderId {
    /// The address of the inbox as a resource: `chat://inbox/{reader_id}`.
    #[must_use]
    pub fn inbox_uri(&self) -> String {
        format!("{INBOX_URI}{}", self.0)
    }

    /// The reader id in an inbox's address, and the cursor of `?after=`, if there is one.
    ///
    /// # Errors
    /// A sentence that describes a valid address.
    pub fn from_inbox_uri(uri: &str) -> Result<(Self, Option<u64>), String> {
        let wrong = || format!("an inbox is read at {INBOX_URI}{{reader_id}}?after=CURSOR");
        // A session stores the address of each subscription, and a cursor may have leading zeros.
        if uri.len() > MAX_INBOX_URI {
            return Err(wrong());
        }
        let rest = uri.strip_prefix(INBOX_URI).ok_or_else(wrong)?;
        let (reader, query) = rest.split_once('?').unwrap_or((rest, ""));
        let after = match query.strip_prefix("after=") {
            Some(cursor) => Some(cursor.parse().map_err(|_| wrong())?),
            None if query.is_empty() => None,
            None => return Err(wrong()),
        };
        Ok((Self(reader.into()), after))
    }
}

/// The prefix of inboxes' addresses.
pub const INBOX_URI: &str = "chat://inbox/";

/// The largest length of an inbox's address in bytes: twice that of a reader id with a cursor.
const MAX_INBOX_URI: usize = 128;

/// Whether a handle may be minted by this key, so that a repeated call gets the same. A third party
/// that guessed a weaker one would get the handle.
pub(crate) fn may_mint(key: &str) -> bool {
    let distinct: std::collections::BTreeSet<char> = key.chars().collect();
    key.chars().count() >= MINTING_KEY_CHARS && distinct.len() >= MINTING_KEY_DISTINCT
}

/// The server's own secret, from which all others are derived.
#[derive(Clone)]
pub struct Secrets {
    keyed: Hmac<Sha256>,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets(…)")
    }
}

impl Secrets {
    /// Derives all secrets from this one.
    ///
    /// # Panics
    /// Never: HMAC accepts keys of every length.
    #[must_use]
    pub fn new(secret: &[u8; 32]) -> Self {
        let keyed = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes any key");
        Self { keyed }
    }

    /// The handle of a registration with this key, equal for equal key and source: the scope, which is a
    /// bearer token, a session, or the process on stdio, by its id; without one the address. Another
    /// source with the same key gets another handle.
    #[must_use]
    pub fn handle_for_key(&self, key: &str, scope: Option<&str>, address: Address) -> Handle {
        let address = address.0.to_le_bytes();
        let (kind, source) = match scope {
            Some(id) => ("scope", id.as_bytes()),
            None => ("address", &address[..]),
        };
        let key: [u8; SECRET_BYTES] = self.code(kind, key.as_bytes());
        let of = [&key[..], source].concat();
        Handle(Self::written("h_", &self.code("handle", &of)))
    }

    /// The handle of a new participant of this scope, which asks for this name, in its lower case
    /// (none for any name). `newest` is the participant registered last anywhere: a name that
    /// registers again after it was forgotten gets another handle, because numbers only grow.
    pub(crate) fn handle_in_scope(&self, scope: &str, name: &str, newest: UserId) -> Handle {
        self.handle_of(self.code("handle-scope", scope.as_bytes()), name, newest.0)
    }

    fn handle_of(&self, scope: [u8; SECRET_BYTES], name: &str, newest: u64) -> Handle {
        let of = [&scope[..], &newest.to_le_bytes(), name.as_bytes()].concat();
        Handle(Self::written("h_", &self.code("scope-handle", &of)))
    }

    /// The handle with this hash of a participant, if it registered in this scope. Its number is a
    /// little above the one from which the handle was derived.
    pub(crate) fn handle_again(&self, scope: &str, who: &Who, hash: SecretHash) -> Option<Handle> {
        let scope = self.code("handle-scope", scope.as_bytes());
        let name = who.name.to_lowercase();
        let newest = (who.id.0.saturating_sub(REACH)..who.id.0).rev();
        newest
            .flat_map(|newest| [(name.as_str(), newest), ("", newest)])
            .map(|(name, newest)| self.handle_of(scope, name, newest))
            .find(|handle| self.handle_hash(handle) == hash)
    }

    /// A new handle for a registration without a key.
    ///
    /// # Errors
    /// The machine has no randomness.
    pub(crate) fn random_handle() -> Result<Handle, getrandom::Error> {
        Ok(Handle(Self::written("h_", &random()?)))
    }

    /// A random text of 128 bits: 22 characters.
    ///
    /// # Errors
    /// The machine has no randomness.
    pub fn random_text() -> Result<Box<str>, getrandom::Error> {
        Ok(Self::written("", &random()?))
    }

    /// The signature of a session's id, of the token's owner who opened it; empty without a token.
    #[must_use]
    pub fn session_signature(&self, id: &str, owner: &str) -> Box<str> {
        let of = [id.as_bytes(), &[0], owner.as_bytes()].concat();
        Self::written("", &self.code("session", &of))
    }

    /// The reader id of a handle.
    #[must_use]
    pub fn reader_of(&self, handle: &Handle) -> ReaderId {
        ReaderId(Self::written(
            "r_",
            &self.code("reader", handle.0.as_bytes()),
        ))
    }

    /// The core's hash of a handle.
    #[must_use]
    pub fn handle_hash(&self, handle: &Handle) -> SecretHash {
        SecretHash(self.code("handle-hash", handle.0.as_bytes()))
    }

    /// The core's hash of a reader id.
    #[must_use]
    pub fn reader_hash(&self, reader: &ReaderId) -> SecretHash {
        SecretHash(self.code("reader-hash", reader.0.as_bytes()))
    }

    /// The core's hash of a request key.
    pub(crate) fn request_key(&self, key: &str) -> RequestKey {
        RequestKey(u128::from_le_bytes(self.code("key", key.as_bytes())))
    }

    /// The core's hash of an IP address. All hosts of an IPv6 network (/64) count as one: a single
    /// host may have all of its addresses.
    #[must_use]
    pub fn address(&self, ip: IpAddr) -> Address {
        let code = match ip.to_canonical() {
            IpAddr::V4(ip) => self.code("address", &ip.octets()),
            IpAddr::V6(ip) => self.code("address", &ip.octets()[..8]),
        };
        Address(u64::from_le_bytes(code))
    }

    /// The core's hash of a bearer token's owner, as the source of calls.
    #[must_use]
    pub fn address_of_scope(&self, id: &str) -> Address {
        Address(u64::from_le_bytes(
            self.code("scope-address", id.as_bytes()),
        ))
    }

    /// A place in the archive, for one participant to hand back: a position of the journal, which
    /// would show how much is done in all rooms. Encrypted with its own code as the nonce, as SIV (RFC
    /// 5297) does, so that none can be made up.
    pub(crate) fn seal_place(&self, user: UserId, position: u64) -> String {
        let tag = self.place_tag(user, position);
        let sealed = (position ^ self.place_mask(tag)).to_le_bytes();
        URL_SAFE_NO_PAD.encode([tag, sealed].concat())
    }

    /// The position of a place that was sealed for this participant.
    pub(crate) fn open_place(&self, user: UserId, sealed: &str) -> Option<u64> {
        let bytes = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (tag, position) = bytes.split_first_chunk::<8>()?;
        let position = u64::from_le_bytes(position.try_into().ok()?);
        let position = position ^ self.place_mask(*tag);
        (self.place_tag(user, position) == *tag).then_some(position)
    }

    fn place_tag(&self, user: UserId, position: u64) -> [u8; 8] {
        let of = [&user.0.to_le_bytes()[..], &position.to_le_bytes()].concat();
        self.code("place-tag", &of)
    }

    fn place_mask(&self, tag: [u8; 8]) -> u64 {
        u64::from_le_bytes(self.code("place-mask", &tag))
    }

    fn code<const N: usize>(&self, purpose: &str, of: &[u8]) -> [u8; N] {
        let mut keyed = self.keyed.clone();
        keyed.update(purpose.as_bytes());
        keyed.update(&[0]);
        keyed.update(of);
        let whole = keyed.finalize().into_bytes();
        let mut code = [0; N];
        code.copy_from_slice(&whole[..N]);
        code
    }

    fn written(prefix: &str, secret: &[u8; SECRET_BYTES]) -> Box<str> {
        format!("{prefix}{}", URL_SAFE_NO_PAD.encode(secret)).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets() -> Secrets {
        Secrets::new(&[7; 32])
    }

    #[test]
    fn one_key_mints_one_handle_and_another_server_another() {
        let key = "kJ3v9QmX2hTz7pLw8RbYcA";
        let of = |secrets: Secrets| secrets.handle_for_key(key, None, Address(7));
        let handle = of(secrets());
        assert_eq!(handle, of(secrets()));
        assert_ne!(handle, of(Secrets::new(&[8; 32])));
        assert_eq!(handle.expose().len(), 24);
        assert_ne!(
            Secrets::random_handle().unwrap(),
            Secrets::random_handle().unwrap()
        );
    }

    #[test]
    fn a_key_from_another_source_mints_another_handle() {
        let handle = |scope: Option<&str>, address| {
            secrets().handle_for_key("kJ3v9QmX2hTz7pLw8RbYcA", scope, Address(address))
        };
        assert_ne!(handle(None, 7), handle(None, 8));
        assert_ne!(handle(Some("a"), 7), handle(Some("b"), 7));
        assert_eq!(handle(Some("a"), 7), handle(Some("a"), 8));
        let same_bytes = u64::from_le_bytes(*b"abcdefgh");
        assert_ne!(handle(Some("abcdefgh"), 7), handle(None, same_bytes));
    }

    #[test]
    fn a_handle_of_a_scope_is_found_again_for_its_participant_alone() {
        let secrets = secrets();
        let handle = secrets.handle_in_scope("token ann", "claude", UserId(7));
        let hash = secrets.handle_hash(&handle);
        let who = |id, name: &str| Who {
            id: UserId(id),
            chosen_id: None,
            name: name.into(),
        };
        let again = |scope: &str, who: &Who| secrets.handle_again(scope, who, hash);
        for id in [8, 7 + REACH] {
            let found = again("token ann", &who(id, "Claude"));
            assert_eq!(found.as_ref(), Some(&handle), "{id}");
        }
        assert_eq!(
            again("token ann", &who(7, "Claude")),
            None,
            "it came earlier"
        );
        assert_eq!(again("token ann", &who(8 + REACH, "Claude")), None);
        assert_eq!(again("token ben", &who(8, "Claude")), None);
        assert_eq!(again("token ann", &who(8, "Codex")), None);
        let later = secrets.handle_in_scope("token ann", "claude", UserId(8));
        assert_ne!(handle, later);
        let unnamed = secrets.handle_in_scope("token ann", "", UserId(7));
        let hash = secrets.handle_hash(&unnamed);
        let named_since = secrets.handle_again("token ann", &who(8, "Claude"), hash);
        assert_eq!(named_since, Some(unnamed));
    }

    #[test]
    fn keys_that_could_be_guessed_mint_nothing() {
        for weak in ["", "1", "retry-7", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"] {
            assert!(!may_mint(weak), "{weak}");
        }
        for strong in [
            "kJ3v9QmX2hTz7pLw8RbYcA",
            "3f2b8c1e-9d47-4a06-b5e3-7c1f0a9d2e84",
        ] {
            assert!(may_mint(strong), "{strong}");
        }
    }

    #[test]
    fn a_place_is_read_by_the_one_it_was_given_alone_and_cannot_be_made_up() {
        let (secrets, ann) = (secrets(), UserId(1));
        let sealed = secrets.seal_place(ann, 7_000);
        assert_eq!(secrets.open_place(ann, &sealed), Some(7_000));
        assert_eq!(secrets.open_place(UserId(2), &sealed), None);
        let next = secrets.seal_place(ann, 7_001);
        assert_ne!(sealed[..10], next[..10]);
        let mixed = format!("{}{}", &sealed[..11], &next[11..]);
        for other in [mixed.as_str(), "", "7000", "not base64!", &sealed[..20]] {
            assert_eq!(secrets.open_place(ann, other), None, "{other}");
        }
    }

    #[test]
    fn secrets_do_not_print() {
        let handle = secrets().handle_for_key("x", None, Address(7));
        let reader = secrets().reader_of(&handle);
        let shown = format!("{handle:?} {reader:?} {:?}", secrets());
        assert_eq!(shown, "Handle(…) ReaderId(…) Secrets(…)");
    }

    #[test]
    fn the_hashes_of_one_text_differ_by_what_it_is() {
        let secrets = secrets();
        let (handle, reader) = (Handle::given("x"), ReaderId::given("x"));
        assert_ne!(secrets.handle_hash(&handle), secrets.reader_hash(&reader));
    }

    #[test]
    fn inbox_addresses_are_read_back() {
        let reader = secrets().reader_of(&Handle::given("x"));
        let uri = reader.inbox_uri();
        assert_eq!(ReaderId::from_inbox_uri(&uri), Ok((reader.clone(), None)));
        let after = format!("{uri}?after=12");
        assert_eq!(ReaderId::from_inbox_uri(&after), Ok((reader, Some(12))));
        for wrong in [
            "chat://room/1",
            "chat://inbox/r?after=x",
            "chat://inbox/r?from=1",
        ] {
            assert!(ReaderId::from_inbox_uri(wrong).is_err(), "{wrong}");
        }
        let longest = format!("{uri}?after={}", u64::MAX);
        assert!(ReaderId::from_inbox_uri(&longest).is_ok());
        let zeros = format!("{uri}?after={}", "0".repeat(MAX_INBOX_URI));
        assert!(ReaderId::from_inbox_uri(&zeros).is_err());
    }

    #[test]
    fn one_ipv6_network_is_one_place() {
        let place = |text: &str| secrets().address(text.parse().unwrap());
        assert_eq!(place("2001:db8::1"), place("2001:db8::2:3"));
        assert_ne!(place("2001:db8::1"), place("2001:db8:0:1::1"));
        assert_eq!(place("::ffff:10.0.0.1"), place("10.0.0.1"));
        assert_ne!(place("10.0.0.1"), place("10.0.0.2"));
    }
}
