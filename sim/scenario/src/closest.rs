//! "Did you mean": the accepted word closest to a wrong one.

/// The candidate with the smallest edit distance to `word`, if that is at most one in three
/// letters.
#[must_use]
pub fn closest<'c>(word: &str, candidates: &[&'c str]) -> Option<&'c str> {
    let letters = word.chars().count();
    if letters > 64 {
        return None;
    }
    let most = |candidate: &str| (candidate.len().max(letters) / 3).max(1);
    candidates
        .iter()
        // The distance is at least the difference of the lengths, and costs more.
        .filter(|candidate| candidate.chars().count().abs_diff(letters) <= most(candidate))
        .map(|candidate| (strsim::osa_distance(word, candidate), *candidate))
        .filter(|(slips, candidate)| *slips <= most(candidate))
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

/// `; did you mean …?`, or an empty text.
#[must_use]
pub fn did_you_mean(word: &str, candidates: &[&str]) -> String {
    closest(word, candidates).map_or_else(String::new, |c| format!("; did you mean `{c}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_word_finds_the_closest_one() {
        let keys = ["name", "duration", "arrival_rate", "ramp_to"];
        assert_eq!(closest("arrivalRate", &keys), Some("arrival_rate"));
        assert_eq!(closest("nmae", &keys), Some("name"));
        assert_eq!(closest("durations", &keys), Some("duration"));
        assert_eq!(closest("stages", &keys), None);
        assert_eq!(closest(&"x".repeat(100_000), &keys), None);
        assert_eq!(closest("", &keys), None);
    }
}
