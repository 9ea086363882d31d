//! No file, however damaged, makes the reader panic or hang.

use proptest::prelude::*;
use sim_scenario::{ErrorStyle, parse_bytes};

use crate::{shipped, yaml_files};

fn good() -> Vec<Vec<u8>> {
    let files = [shipped(), yaml_files("tests/good_scenarios")].concat();
    let texts = files
        .iter()
        .map(|path| std::fs::read(path).expect("a file"));
    texts.collect()
}

/// A way to damage a file. Places are fractions of its length, out of 65,536.
#[derive(Clone, Debug)]
enum Damage {
    Set { at: u16, byte: u8 },
    Truncate { at: u16 },
    RepeatLine { at: u16, times: u8 },
    SwapLines { a: u16, b: u16 },
    Indent { at: u16, by: u8 },
    Insert { at: u16, what: &'static str },
    Remove { at: u16, count: u8 },
}

fn damage() -> impl Strategy<Value = Damage> {
    let pieces = [
        "-", ":", "{", "}", "[", "]", "\"", "'", "|", ">", "&a ", "*a ", "!!str ", "? ", "#", "\n",
        "\t", "\0", "0", "-1", "1/0", "5/4", ".nan", "1e999", "~", "é", "\u{202e}", "---\n",
        "...\n", "<<: ", "null", "true", ",", "\r", "%", "@", "\u{85}", "\\",
    ];
    let pieces = [&pieces[..], &["99999999999999999999"]].concat();
    let pieces = prop::sample::select(pieces);
    prop_oneof![
        (any::<u16>(), any::<u8>()).prop_map(|(at, byte)| Damage::Set { at, byte }),
        any::<u16>().prop_map(|at| Damage::Truncate { at }),
        (any::<u16>(), any::<u8>()).prop_map(|(at, times)| Damage::RepeatLine { at, times }),
        (any::<u16>(), any::<u16>()).prop_map(|(a, b)| Damage::SwapLines { a, b }),
        (any::<u16>(), 0_u8..9).prop_map(|(at, by)| Damage::Indent { at, by }),
        (any::<u16>(), pieces).prop_map(|(at, what)| Damage::Insert { at, what }),
        (any::<u16>(), any::<u8>()).prop_map(|(at, count)| Damage::Remove { at, count }),
    ]
}

fn scaled(at: u16, length: usize) -> usize {
    usize::from(at) * length / 65_536
}

fn on_lines(bytes: &[u8], change: impl FnOnce(&mut Vec<Vec<u8>>)) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = bytes.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
    change(&mut lines);
    lines.join(&b'\n')
}

fn apply(damage: &Damage, mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.is_empty() {
        return bytes;
    }
    let length = bytes.len();
    match *damage {
        Damage::Set { at, byte } => bytes[scaled(at, length)] = byte,
        Damage::Truncate { at } => bytes.truncate(scaled(at, length)),
        Damage::Insert { at, what } => {
            let at = scaled(at, length);
            bytes.splice(at..at, what.bytes());
        }
        Damage::Remove { at, count } => {
            let at = scaled(at, length);
            bytes.drain(at..(at + usize::from(count)).min(length));
        }
        Damage::RepeatLine { at, times } => {
            return on_lines(&bytes, |lines| {
                let at = scaled(at, lines.len());
                let again = vec![lines[at].clone(); usize::from(times)];
                lines.splice(at..at, again);
            });
        }
        Damage::SwapLines { a, b } => {
            return on_lines(&bytes, |lines| {
                let count = lines.len();
                lines.swap(scaled(a, count), scaled(b, count));
            });
        }
        Damage::Indent { at, by } => {
            return on_lines(&bytes, |lines| {
                let at = scaled(at, lines.len());
                lines[at].splice(0..0, vec![b' '; usize::from(by)]);
            });
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_scenarios_are_read_or_refused(
        file in prop::sample::select(good()),
        damages in prop::collection::vec(damage(), 1..6),
    ) {
        let bytes = damages.iter().fold(file, |bytes, damage| apply(damage, bytes));
        if let Err(error) = parse_bytes("damaged.yaml", &bytes) {
            for mistake in &error.mistakes {
                prop_assert!(!mistake.message.is_empty());
                prop_assert!(mistake.at.is_some());
            }
            let drawn = error.render(ErrorStyle::Plain, 80);
            prop_assert!(!drawn.chars().any(|c| c.is_control() && c != '\n'), "{drawn:?}");
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(parse_bytes("noise.yaml", &bytes).is_err());
    }

    #[test]
    fn any_text_of_yaml_signs_is_read_or_refused(text in r"[-:{}\[\],&*!|>'\x22%@`#? \nab01~/.]{0,200}") {
        if let Err(error) = parse_bytes("noise.yaml", text.as_bytes()) {
            prop_assert!(!error.render(ErrorStyle::Plain, 80).is_empty());
        }
    }
}
