//! Checks that the defaults in the tables of the documentation are those of the server.

use std::collections::BTreeSet;

use chat_core::Config;
use serde_json::{Value, json};

use crate::{none_of, settings, text};

/// The cells of each row of a page's tables whose first cell is code.
fn rows(path: &str) -> Vec<Vec<String>> {
    let page = text(path);
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let cells = |row: &str| {
        row.split('|')
            .skip(1)
            .map(|cell| cell.trim().to_owned())
            .collect()
    };
    rows.map(cells).collect()
}

/// The name in a cell of code.
fn name(cell: &str) -> Option<&str> {
    cell.strip_prefix('`')?.strip_suffix('`')
}

/// A default as the settings' file has it.
fn value(cell: &str) -> Value {
    let text = name(cell).unwrap_or(cell);
    match text.split_once("/s, burst ") {
        Some((rate, burst)) => {
            let whole = |text: &str| text.parse::<u64>().expect("a whole number");
            json!({ "per_second": whole(rate), "burst": whole(burst) })
        }
        None => serde_saphyr::from_str(text).expect("a value"),
    }
}

#[test]
fn the_tables_of_limits_have_the_defaults_of_the_configuration() {
    let usual = Config::default();
    let mut wrong = Vec::new();
    for (path, least) in [
        ("docs/protocol.md", Config::KEYS.len()),
        ("docs/operators.md", 11),
    ] {
        let mut found = BTreeSet::new();
        for row in rows(path) {
            let key = name(&row[0]).unwrap_or_default();
            let is_key = Config::KEYS.iter().any(|known| known.name == key);
            // Later tables have words of the same names.
            if !is_key || !found.insert(key.to_owned()) {
                continue;
            }
            let given = json!({ key: value(&row[1]) });
            let config: Config = serde_json::from_value(given).expect(key);
            if config != usual {
                wrong.push(format!("{path}: `{key}` is not {} by default", row[1]));
            }
        }
        assert!(found.len() >= least, "{path}: only {found:?} were found");
    }
    none_of(&wrong);
}

#[test]
fn the_table_of_settings_has_the_defaults_of_the_server() {
    let gathered = |text: &str| format!("{:?}", settings(text).expect(text));
    let usual = gathered("");
    let mut found = 0;
    for row in rows("docs/operators.md") {
        let (Some(flag), key, default) = (name(&row[0]), &row[1], &row[2]) else {
            continue;
        };
        let has_value = name(default).is_some() || default.parse::<u64>().is_ok();
        if !flag.starts_with("--") || !has_value {
            continue;
        }
        found += 1;
        let default = name(default).unwrap_or(default);
        let text = match (name(key), flag.trim_start_matches("--").replace('-', "_")) {
            (Some(key), _) => format!("{key}: {default}"),
            // Seconds are a time in the file.
            (None, key) if key.ends_with("cooldown") => format!("limits: {{ {key}: {default}s }}"),
            (None, key) => format!("limits: {{ {key}: {default} }}"),
        };
        assert_eq!(gathered(&text), usual, "{text}");
    }
    assert!(found >= 10, "only {found} defaults were found");
}
