//! A script line as words: positional ones in order, and named ones such as `room=room_1`.

use std::collections::BTreeMap;
use std::str::FromStr;

/// The words of one line. Single quotes group words, `'x'*300` repeats, and `\u{e9}` is a character.
#[derive(Debug, Default)]
pub(crate) struct Words {
    plain: std::collections::VecDeque<String>,
    named: BTreeMap<String, String>,
    line: String,
}

impl Words {
    pub(crate) fn of(line: &str) -> Self {
        let mut words = Self {
            line: unescaped(line),
            ..Self::default()
        };
        let line = words.line.clone();
        let mut rest = line.trim_start();
        while !rest.is_empty() {
            let (word, quoted, after) = first_word(rest);
            match word.split_once('=') {
                Some((name, value)) if !quoted || !rest.starts_with('\'') => {
                    words.named.insert(name.to_owned(), value.to_owned());
                }
                _ => words.plain.push_back(word),
            }
            rest = after.trim_start();
        }
        words
    }

    /// The next positional word, if there is one.
    pub(crate) fn maybe(&mut self) -> Option<String> {
        self.plain.pop_front()
    }

    /// The next positional word.
    pub(crate) fn next(&mut self) -> String {
        let line = &self.line;
        self.plain
            .pop_front()
            .unwrap_or_else(|| panic!("`{line}` ends too early"))
    }

    /// Takes the next positional word if it is this one.
    pub(crate) fn take(&mut self, word: &str) -> Option<()> {
        (self.plain.front().map(String::as_str) == Some(word)).then(|| {
            self.plain.pop_front();
        })
    }

    pub(crate) fn peek(&self) -> &str {
        self.plain.front().map_or("", String::as_str)
    }

    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        self.named.remove(name)
    }

    /// A named number, including `room_1` and `user_1`.
    pub(crate) fn number<T: FromStr>(&mut self, name: &str) -> Option<T> {
        self.named.remove(name).map(|value| self.parse(&value))
    }

    /// A number after an optional prefix with an underscore.
    pub(crate) fn parse<T: FromStr>(&self, word: &str) -> T {
        let digits = word.rsplit('_').next().unwrap_or(word);
        digits
            .parse()
            .unwrap_or_else(|_| panic!("`{word}` in `{}` is no number", self.line))
    }

    /// The remaining named words.
    pub(crate) fn take_named(&mut self) -> BTreeMap<String, String> {
        std::mem::take(&mut self.named)
    }

    /// Fails if words are left over: a misspelt word is an error in a script.
    pub(crate) fn end(&self) {
        assert!(
            self.plain.is_empty() && self.named.is_empty(),
            "`{}` has words nobody reads: {:?} {:?}",
            self.line,
            self.plain,
            self.named
        );
    }
}

fn unescaped(line: &str) -> String {
    let mut parts = line.split("\\u{");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let (code, rest) = part.split_once('}').expect("a closed escape");
        let code = u32::from_str_radix(code, 16).expect("a code");
        text + char::from_u32(code)
            .expect("a character")
            .encode_utf8(&mut [0; 4])
            + rest
    })
}

/// The first word, whether it was quoted, and the rest.
fn first_word(text: &str) -> (String, bool, &str) {
    let (mut word, mut open, mut close) = (String::new(), None, None);
    for (at, c) in text.char_indices() {
        match c {
            '\'' if open.is_some() && close.is_none() => close = Some(word.len()),
            '\'' => open = Some(word.len()),
            ' ' if open.is_none() || close.is_some() => {
                return (repeated(word, open, close), open.is_some(), &text[at..]);
            }
            _ => word.push(c),
        }
    }
    assert_eq!(open.is_some(), close.is_some(), "an open quote in `{text}`");
    (repeated(word, open, close), open.is_some(), "")
}

/// `'ab'*3` is `ababab`.
fn repeated(word: String, open: Option<usize>, close: Option<usize>) -> String {
    let (Some(open), Some(close)) = (open, close) else {
        return word;
    };
    match word[close..].strip_prefix('*') {
        Some(times) => {
            let times = times.parse().expect("how often");
            format!("{}{}", &word[..open], word[open..close].repeat(times))
        }
        None => word,
    }
}
