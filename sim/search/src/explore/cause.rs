//! The cause of a violation: its sentence without the numbers, names and texts of the run.

/// The sentence with `N` for every number and duration, `…` for every quoted text, and lists of
/// equal elements cut to one.
#[must_use]
pub fn cause(detail: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in without_quotes(detail).split_whitespace() {
        let word = without_numbers(word);
        let again = |last: &String| last.trim_end_matches(',') == word.trim_end_matches(',');
        if word.starts_with("user_") && words.last().is_some_and(again) {
            words.pop();
        }
        words.push(word);
    }
    words.join(" ")
}

fn without_quotes(detail: &str) -> String {
    let mut out = String::new();
    for (i, part) in detail.split('"').enumerate() {
        // Every other part is quoted.
        out.push_str(if i % 2 == 0 { part } else { "\"…\"" });
    }
    out
}

/// `12.001s` → `N`, `user_7's` → `user_N's`, `penpal#3` → `#N`.
fn without_numbers(word: &str) -> String {
    let mut out = String::new();
    let mut rest = word.rsplit_once('#').map_or(word, |(name, number)| {
        out.push('#');
        if name.starts_with(char::is_alphabetic) {
            number
        } else {
            word
        }
    });
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        out.push_str(&rest[..at]);
        out.push('N');
        rest = &rest[at..];
        let end = |c: char| !c.is_ascii_digit() && c != '.' && c != ',';
        let number = &rest[..rest.find(end).unwrap_or(rest.len())];
        let number = number.trim_end_matches(['.', ',']);
        rest = &rest[number.len()..];
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic());
        let unit = &rest[..letters.unwrap_or(rest.len())];
        if ["us", "ms", "s", "m", "h", "d"].contains(&unit) {
            rest = &rest[unit.len()..];
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_run_to_run_is_left_out() {
        let one =
            "user_7's push at 12.001s was accepted after user_9, user_11 had epoch 4, \"a b\"";
        let other = "user_31's push at 8ms was accepted after user_2 had epoch 19, \"hello\"";
        assert_eq!(cause(one), cause(other));
        assert_eq!(
            cause(one),
            "user_N's push at N was accepted after user_N had epoch N, \"…\""
        );
    }

    #[test]
    fn what_is_said_differently_is_another_cause() {
        assert_ne!(cause("user_1 got it twice"), cause("user_1 never got it"));
        assert_eq!(cause("seed 5 has 2 histories"), "seed N has N histories");
        assert_eq!(cause("penpal#3 waits, 1,204 times."), "#N waits, N times.");
        assert_eq!(cause("3 sent"), "N sent");
        assert_eq!(cause("3send"), "Nsend");
    }
}
