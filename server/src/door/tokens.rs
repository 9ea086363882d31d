//! Bearer tokens: a file of names and hashes, and who is behind a token that somebody sends.
//!
//! The file has a line for each token, `name sha256-of-the-token-in-hex`; `#` begins a comment.
//! It holds no secret: `printf %s "$TOKEN" | sha256sum` makes the hash, and the token is known to
//! its owner alone. Tokens are to be drawn, not chosen: `openssl rand -hex 32`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::seat::Seat;

/// How many tokens a file has at most: each request is compared with all of them.
const MAX_TOKENS: usize = 1_024;

/// The most characters of a token.
const MAX_TOKEN: usize = 512;

/// The most characters of a name.
const MAX_NAME: usize = 64;

type Hash = [u8; 32];

/// The tokens of one file.
#[derive(Debug, Default)]
pub struct Tokens {
    all: Vec<Token>,
}

/// A token: whose it is, and where its owner's participants are minted.
#[derive(Debug)]
pub struct Token {
    name: Arc<str>,
    hash: Hash,
    seat: Arc<Seat>,
}

impl Token {
    /// Whose it is.
    #[must_use]
    pub fn name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    /// Where its owner's participants are minted.
    #[must_use]
    pub fn seat(&self) -> Arc<Seat> {
        Arc::clone(&self.seat)
    }
}

/// Why a file of tokens cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokensError {
    /// It cannot be read.
    #[error("{}: {error}", path.display())]
    Unread {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A line is wrong.
    #[error("{}:{line}: {what}", path.display())]
    Wrong {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// What is wrong.
        what: Wrong,
    },
    /// It has no token: nobody could come in.
    #[error("{}: there is no token in it; a line is a name and the token's SHA-256 in hex", path.display())]
    Empty {
        /// Which file.
        path: PathBuf,
    },
}

/// What is wrong with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// It is not two words.
    #[error("a line is a name and the token's SHA-256 in hex")]
    Shape,
    /// The name.
    #[error("a name has 1 to {MAX_NAME} letters, digits, dots, dashes and underscores")]
    Name,
    /// The hash.
    #[error("the second word is the token's SHA-256: 64 hexadecimal digits")]
    Hash,
    /// The name, or the token, was there before.
    #[error("that name or token is there twice")]
    Twice,
    /// There are too many.
    #[error("a file has at most {MAX_TOKENS} tokens")]
    TooMany,
}

impl Tokens {
    /// Reads a file of tokens.
    ///
    /// # Errors
    /// When it cannot be read, has no token, or a line is wrong: which, and what is accepted.
    pub fn read(path: &Path) -> Result<Self, TokensError> {
        let text = std::fs::read_to_string(path).map_err(|error| TokensError::Unread {
            path: path.to_owned(),
            error,
        })?;
        let tokens = Self::parse(&text).map_err(|(line, what)| TokensError::Wrong {
            path: path.to_owned(),
            line,
            what,
        })?;
        if tokens.all.is_empty() {
            return Err(TokensError::Empty {
                path: path.to_owned(),
            });
        }
        Ok(tokens)
    }

    fn parse(text: &str) -> Result<Self, (usize, Wrong)> {
        let mut tokens = Self::default();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty() {
                tokens.add(line).map_err(|what| (number, what))?;
            }
        }
        Ok(tokens)
    }

    fn add(&mut self, line: &str) -> Result<(), Wrong> {
        let words: Vec<_> = line.split_whitespace().collect();
        let [name, hash] = words[..] else {
            return Err(Wrong::Shape);
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if name.len() > MAX_NAME || !name.chars().all(plain) {
            return Err(Wrong::Name);
        }
        let hash = from_hex(hash).ok_or(Wrong::Hash)?;
        if self
            .all
            .iter()
            .any(|token| &*token.name == name || token.hash == hash)
        {
            return Err(Wrong::Twice);
        }
        if self.all.len() >= MAX_TOKENS {
            return Err(Wrong::TooMany);
        }
        self.all.push(Token {
            name: name.into(),
            hash,
            seat: Arc::default(),
        });
        Ok(())
    }

    /// Who sent this token. It takes as long whoever it is, and whether it is anybody.
    #[must_use]
    pub fn find(&self, sent: &str) -> Option<&Token> {
        if sent.len() > MAX_TOKEN {
            return None;
        }
        let hash: Hash = Sha256::digest(sent.as_bytes()).into();
        let mut found = None;
        for token in &self.all {
            if differences(&token.hash, &hash) == 0 {
                found = Some(token);
            }
        }
        found
    }
}

/// In which bits the two differ, all bytes taken together: looked at to the end, so that the time
/// does not tell how far they agree.
fn differences(a: &Hash, b: &Hash) -> u8 {
    let differ = a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b));
    std::hint::black_box(differ)
}

fn from_hex(text: &str) -> Option<Hash> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let mut hash = [0; 32];
    if text.len() != 2 * hash.len() {
        return None;
    }
    for (byte, pair) in hash.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let value = digit(pair[0])? * 16 + digit(pair[1])?;
        *byte = u8::try_from(value).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `printf %s open-sesame | sha256sum`
    const SESAME: &str = "d7ecdf25eaf3deba0f2628771dbdd22d4138ab6cf38f91ed02a2ca0dec7c8ab7";

    fn wrong(text: &str) -> (usize, Wrong) {
        Tokens::parse(text).unwrap_err()
    }

    #[test]
    fn a_token_is_known_by_its_hash() {
        let text = format!("# staff\n\nann {SESAME} # drawn in May\n");
        let tokens = Tokens::parse(&text).unwrap();
        assert_eq!(tokens.all.len(), 1);
        assert_eq!(&*tokens.find("open-sesame").unwrap().name(), "ann");
        assert!(tokens.find("open-sesame ").is_none());
        assert!(tokens.find(SESAME).is_none());
        assert!(tokens.find(&"x".repeat(10_000)).is_none());
    }

    #[test]
    fn a_wrong_line_is_named() {
        let of = |line: &str| wrong(&format!("# one\n{line}"));
        assert_eq!(of("ann"), (2, Wrong::Shape));
        assert_eq!(of(&format!("ann {SESAME} more")), (2, Wrong::Shape));
        assert_eq!(of(&format!("a/b {SESAME}")), (2, Wrong::Name));
        assert_eq!(of("ann 12ab"), (2, Wrong::Hash));
        assert_eq!(of(&format!("ann {}", "g".repeat(64))), (2, Wrong::Hash));
        assert_eq!(of(&format!("ann {}", "é".repeat(32))), (2, Wrong::Hash));
        let twice = format!("ann {SESAME}\nben {SESAME}");
        assert_eq!(wrong(&twice), (2, Wrong::Twice));
    }

    #[test]
    fn more_tokens_than_can_be_compared_are_refused() {
        let mut text = String::new();
        for n in 0..=MAX_TOKENS {
            text += &format!("t{n} {n:064x}\n");
        }
        assert_eq!(wrong(&text), (MAX_TOKENS + 1, Wrong::TooMany));
    }

    #[test]
    fn a_file_says_where_it_is_wrong() {
        let error = Tokens::read(Path::new("/nonexistent/tokens")).unwrap_err();
        assert!(error.to_string().starts_with("/nonexistent/tokens: "));
    }
}
