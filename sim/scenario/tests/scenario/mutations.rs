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

/// A damage: one of seven ways, a place as a fraction of the file's length out of 65,536, a number, and
/// a text.
type Damage = (u8, u16, u16, &'static str);

fn damage() -> impl Strategy<Value = Damage> {
    let pieces = [
        "-", ":", "{", "}", "[", "]", "\"", "'", "|", ">", "&a ", "*a ", "!!str ", "? ", "#", "\n",
        "\t", "\0", "0", "-1", "1/0", "5/4", ".nan", "1e999", "~", "é", "\u{202e}", "---\n",
        "...\n", "<<: ", "null", "true", ",", "\r", "%", "@", "\u{85}", "\\",
    ];
    let pieces = [&pieces[..], &["99999999999999999999"]].concat();
    let pieces = prop::sample::select(pieces);
    (0_u8..7, any::<u16>(), any::<u16>(), pieces)
}

fn apply((way, at, number, piece): Damage, mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.is_empty() {
        return bytes;
    }
    let scaled = |at: u16, length: usize| usize::from(at) * length / 65_536;
    let (start, [byte, _]) = (scaled(at, bytes.len()), number.to_le_bytes());
    match way {
        0 => bytes[start] = byte,
        1 => bytes.truncate(start),
        2 => drop(bytes.splice(start..start, piece.bytes())),
        3 => drop(bytes.drain(start..(start + usize::from(byte)).min(bytes.len()))),
        _ => {
            let mut lines: Vec<_> = bytes.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
            let (start, other) = (scaled(at, lines.len()), scaled(number, lines.len()));
            match way {
                4 => {
                    let again = vec![lines[start].clone(); usize::from(byte)];
                    drop(lines.splice(start..start, again));
                }
                5 => lines.swap(start, other),
                _ => drop(lines[start].splice(0..0, vec![b' '; usize::from(byte % 9)])),
            }
            return lines.join(&b'\n');
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
        let bytes = damages.into_iter().fold(file, |bytes, damage| apply(damage, bytes));
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
