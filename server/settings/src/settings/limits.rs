//! The limits of the core, from the file and from flags, each checked by itself.

use chat_types::Config;
use chat_types::config::{ConfigKey, MOST_RATE, Takes};
use serde_json::Value;

use crate::accepted::{closest, either};

/// A limit that was given, and that its key takes: the key and the value.
pub(super) type GivenLimit = (String, Value);

/// Checks a limit.
///
/// # Errors
/// There is no such key, or it takes other values; `found` is the value as it was written.
pub(super) fn checked(key: &str, value: Value, found: &str) -> Result<GivenLimit, String> {
    let known = Config::KEYS.iter().find(|known| known.name == key);
    let Some(ConfigKey { name, takes, .. }) = known else {
        let names = Config::KEYS.iter().map(|known| known.name);
        return Err(format!("there is no limit `{key}`{}", closest(key, names)));
    };
    let limit = (key.to_owned(), value);
    let fits = together([limit.clone()]).is_some_and(|config| config.check().is_ok());
    match fits {
        true => Ok(limit),
        false => Err(format!(
            "{name} must be {}, not {found}",
            accepted_by(*takes)
        )),
    }
}

/// Checks a limit of a flag, as in `stick_lease=60s`.
///
/// # Errors
/// It has not this form, there is no such key, or it takes other values.
pub(super) fn of_flag(text: &str) -> Result<GivenLimit, String> {
    let (key, value) = text
        .split_once('=')
        .ok_or("write a key, `=` and a value, as in stick_lease=60s")?;
    let found = format!("`{}`", value.trim());
    let value = serde_saphyr::from_str(value).unwrap_or_else(|_| Value::String(value.into()));
    checked(key.trim(), value, &found)
}

/// The limits together; of a key that was given twice, the last value. Nothing if one of them was
/// not checked.
pub(super) fn together(limits: impl IntoIterator<Item = GivenLimit>) -> Option<Config> {
    serde_json::from_value(Value::Object(limits.into_iter().collect())).ok()
}

/// The parts of a flag, as in `a=1,b=2`. A comma within brackets belongs to the value, as in
/// `rate_limit={per_second: 1, burst: 2}`.
pub(super) fn parts(flag: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    flag.split(move |c: char| {
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
}

fn accepted_by(takes: Takes) -> String {
    match takes {
        Takes::Word(words) => {
            let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            either(&words)
        }
        Takes::Count(least, most) => format!("a whole number from {least} to {most}"),
        // Its text is a range.
        Takes::Time(_) => format!("a time from {takes}, as in 60s"),
        Takes::Limit => "a whole number from 1 on, or none".into(),
        Takes::Rate => format!(
            "none, or {{ per_second: 20, burst: 60 }} with whole numbers from 1 to {MOST_RATE}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_key_takes_is_said_in_the_same_words_for_every_mistake() {
        let members = "max_members must be a whole number from 2 to 65536, not ";
        let lease = "stick_lease must be a time from 1ms to 365d, as in 60s, not ";
        let turns = "turn_limit must be a whole number from 1 on, or none, not ";
        let rate = "rate_limit must be none, or { per_second: 20, burst: 60 } with whole numbers \
                    from 1 to 1000000, not ";
        for (text, wanted, found) in [
            ("max_members=many", members, "`many`"),
            ("max_members=1", members, "`1`"),
            ("max_members=-1", members, "`-1`"),
            ("max_members=2.5", members, "`2.5`"),
            ("max_members=", members, "``"),
            ("max_members=[1", members, "`[1`"),
            (
                "max_members=99999999999999999999",
                members,
                "`99999999999999999999`",
            ),
            ("stick_lease=60", lease, "`60`"),
            ("stick_lease={a: 1}", lease, "`{a: 1}`"),
            ("turn_limit=0", turns, "`0`"),
            ("turn_limit=x", turns, "`x`"),
            ("rate_limit=5", rate, "`5`"),
            (
                "rate_limit={per_second: 0, burst: 1}",
                rate,
                "`{per_second: 0, burst: 1}`",
            ),
            (
                "matching=foo",
                "matching must be fifo, random or interests, not ",
                "`foo`",
            ),
        ] {
            let why = of_flag(text).expect_err(text);
            assert_eq!(why, format!("{wanted}{found}"));
        }
        let why = of_flag("stick_leese=1s").expect_err("no such key");
        assert_eq!(
            why,
            "there is no limit `stick_leese`; did you mean `stick_lease`?"
        );
        let why = of_flag("zzz=1").expect_err("no such key");
        assert!(why.contains("matching, interest_patience, "), "{why}");
    }
}
