//! Every key of the configuration accepts its documented range, and no more.

use chat_core::config::{ConfigError, Limit, RateLimit};
use chat_core::{Config, Span};
use serde_json::{Value, json};

/// The error of the default configuration with this value of `key`.
fn fault(key: &str, value: Value) -> Option<ConfigError> {
    let mut config = serde_json::to_value(Config::default()).expect("a configuration serialises");
    config[key] = value;
    let config: Config = serde_json::from_value(config).expect("it reads, be it right or wrong");
    let fault = config.check().err();
    if let Some(fault) = &fault {
        assert_eq!(fault.key, key);
    }
    fault
}

/// The keys whose default is of this kind.
fn keys(kind: fn(&Value) -> bool) -> Vec<String> {
    let config = serde_json::to_value(Config::default()).expect("a configuration serialises");
    let fields = config.as_object().expect("it has fields");
    fields
        .iter()
        .filter(|(_, value)| kind(value))
        .map(|(key, _)| key.clone())
        .collect()
}

#[test]
fn counts_are_taken_between_the_ends_that_errors_name() {
    let counts: Vec<String> = keys(Value::is_number)
        .into_iter()
        .filter(|key| key != "turn_limit")
        .collect();
    assert_eq!(counts.len(), 27, "{counts:?}");
    for key in counts {
        let told = fault(&key, json!(u32::MAX)).expect(&key).accepted;
        let (least, most) = told.split_once(" to ").expect("two ends");
        let [least, most] = [least, most].map(|end| end.parse::<u32>().expect("a number"));
        let is_right = |value: u32| fault(&key, json!(value)).is_none();
        assert!(is_right(least) && is_right(most), "{key}");
        let less = least.checked_sub(1);
        assert!(less.is_none_or(|less| !is_right(less)), "{key}");
        assert!(!is_right(most + 1), "{key}");
    }
}

#[test]
fn spans_are_taken_from_the_least_to_a_year() {
    let spans = keys(|value| value.as_str().is_some_and(|text| Span::parse(text).is_ok()));
    assert_eq!(spans.len(), 9, "{spans:?}");
    for key in spans {
        let told = fault(&key, json!("366d")).expect(&key).accepted;
        assert!(told.ends_with(" to 365d"), "{told}");
        assert_eq!(fault(&key, json!("365d")), None, "{key}");
        assert_eq!(fault(&key, json!("1ms")), None, "{key}");
        assert_eq!(
            fault(&key, json!("0s")).is_none(),
            told.starts_with("0s "),
            "{key}"
        );
    }
}

#[test]
fn rates_are_taken_from_one_to_a_million() {
    for key in [
        "rate_limit",
        "address_rate_limit",
        "registration_rate_limit",
    ] {
        let is_right = |per_second: u32, burst: u32| {
            fault(key, json!({ "per_second": per_second, "burst": burst })).is_none()
        };
        assert!(is_right(1, 1) && is_right(1_000_000, 1_000_000), "{key}");
        assert!(!is_right(0, 1) && !is_right(1, 0), "{key}");
        assert!(!is_right(1_000_001, 1) && !is_right(1, 1_000_001), "{key}");
        assert_eq!(fault(key, json!("none")), None);
    }
}

#[test]
fn a_chat_has_one_turn_at_least_or_no_limit() {
    assert_eq!(fault("turn_limit", json!(1)), None);
    assert_eq!(fault("turn_limit", json!("none")), None);
    assert_eq!(
        fault("turn_limit", json!(0)).expect("none at all").found,
        "0"
    );
}

#[test]
fn limits_read_as_they_are_written() {
    assert_eq!(Limit::At(7).to_string(), "7");
    assert_eq!(RateLimit::None.to_string(), "none");
    let told = fault("rate_limit", json!({ "per_second": 0, "burst": 9 }));
    let found = told.expect("nobody could call").found;
    assert_eq!(found, "{ per_second: 0, burst: 9 }");
}
