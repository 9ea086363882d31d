//! "Did you mean": the accepted word closest to a wrong one.

/// The candidate with the smallest edit distance to `word`, if that is at most one in three
/// letters.
pub(super) fn closest<'c>(word: &str, candidates: &[&'c str]) -> Option<&'c str> {
    let letters: Vec<char> = word.chars().take(65).collect();
    if letters.len() > 64 {
        return None;
    }
    candidates
        .iter()
        .map(|candidate| (slips(&letters, candidate), *candidate))
        .filter(|(slips, candidate)| *slips <= (candidate.len().max(letters.len()) / 3).max(1))
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

/// `; did you mean …?`, or an empty text.
pub(super) fn did_you_mean(word: &str, candidates: &[&str]) -> String {
    closest(word, candidates).map_or_else(String::new, |c| format!("; did you mean `{c}`?"))
}

/// The number of letters to add, remove, replace, or swap with their neighbour (the optimal string
/// alignment distance).
fn slips(a: &[char], b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_find_the_word_that_was_meant() {
        let keys = ["name", "duration", "arrival_rate", "ramp_to"];
        assert_eq!(closest("arrivalRate", &keys), Some("arrival_rate"));
        assert_eq!(closest("nmae", &keys), Some("name"));
        assert_eq!(closest("durations", &keys), Some("duration"));
        assert_eq!(closest("stages", &keys), None);
        assert_eq!(closest(&"x".repeat(100_000), &keys), None);
        assert_eq!(closest("", &keys), None);
    }
}
