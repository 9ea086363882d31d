//! The configuration is that of section 1 of the protocol. A judge shares its types with the server,
//! so no simulation sees a wrong default.

use std::fs;
use std::path::Path;

use chat_types::Span;
use chat_types::config::{Config, MOST_RATE, Takes};
use serde_json::{Value, json};

/// The key, the default and the accepted values of each row of the protocol's table.
fn rows() -> Vec<[String; 3]> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/protocol.md");
    let text = fs::read_to_string(path).expect("the protocol is in the repository");
    let (_, section) = text.split_once("## 1. Configuration").expect("section 1");
    let (section, _) = section.split_once("\n## ").expect("section 2");
    let table = section.lines().filter(|line| line.starts_with("| `"));
    let cells = |line: &str| {
        let mut cells = line.split('|').skip(1).map(|cell| cell.trim().to_owned());
        [(); 3].map(|()| cells.next().expect("three columns"))
    };
    table.map(cells).collect()
}

fn whole(text: &str) -> u32 {
    text.parse().expect("a whole number")
}

/// `65536`, `10^8` or `2·10^8`.
fn number(text: &str) -> u32 {
    let (factor, power) = text.split_once('·').unwrap_or(("1", text));
    let power = match power.split_once('^') {
        Some((base, exponent)) => whole(base).pow(whole(exponent)),
        None => whole(power),
    };
    whole(factor) * power
}

fn usual(text: &str, takes: Takes) -> Value {
    let word = text.trim_matches('`');
    match (takes, word) {
        (Takes::Limit | Takes::Rate, "none") | (Takes::Word(_), _) => json!(word),
        (Takes::Count(..) | Takes::Limit, number) => json!(whole(number)),
        (Takes::Time(_), span) => json!(Span::parse(span).expect("a span")),
        (Takes::Rate, rate) => {
            let (rate, burst) = rate.split_once("/s, burst ").expect("a rate");
            let [per_second, burst] = [rate, burst].map(whole);
            json!({ "per_second": per_second, "burst": burst })
        }
    }
}

#[test]
fn keys_defaults_and_ranges_are_those_of_the_protocol() {
    let rows = rows();
    let names: Vec<&str> = rows.iter().map(|row| row[0].trim_matches('`')).collect();
    let keys: Vec<&str> = Config::KEYS.iter().map(|key| key.name).collect();
    assert_eq!(names, keys);
    let defaults = serde_json::to_value(Config::default()).unwrap();
    for ([_, default, accepted], key) in rows.iter().zip(Config::KEYS) {
        assert_eq!(
            defaults[key.name],
            usual(default, key.takes),
            "{}",
            key.name
        );
        let expected = match key.takes {
            Takes::Word(words) => {
                let words: Vec<_> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
                assert_eq!(*accepted, words.join(" "), "{}", key.name);
                continue;
            }
            Takes::Count(least, most) => (least, most),
            Takes::Time(least) => (u32::try_from(least.as_millis()).unwrap(), u32::MAX),
            Takes::Limit => (1, u32::MAX),
            Takes::Rate => (1, MOST_RATE),
        };
        let stated = match accepted.strip_prefix("from ") {
            Some("1, or `none`") => (1, u32::MAX),
            Some(least) => (number(least.trim_end_matches(" ms")), u32::MAX),
            None if accepted == "`{per_second, burst}`, `none`" => (1, MOST_RATE),
            None => {
                let (least, most) = accepted.split_once(" to ").unwrap();
                (number(least), number(most))
            }
        };
        assert_eq!(stated, expected, "{}", key.name);
    }
}
