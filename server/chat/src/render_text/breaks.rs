//! The texts of breaks and of the status. Their format is fixed exactly, because clients parse them
//! by patterns.

/// The text of a break, exactly as the patterns expect it.
#[must_use]
pub(super) fn of_break(message: &str, summary: &str, stress: u8, boss_alert: u8) -> String {
    format!(
        "{message}\n\nBreak Summary: {summary}\nStress Level: {stress}\nBoss Alert Level: {boss_alert}"
    )
}

/// The text of the status: no summary, and each level with its maximum.
#[must_use]
pub(super) fn of_status(stress: u8, boss_alert: u8) -> String {
    let (face, feels) = match stress {
        0..=20 => ("😌", "As calm as a mill pond."),
        21..=50 => ("🙂", "A coffee would not hurt."),
        51..=80 => ("😰", "That eye was not twitching this morning."),
        81.. => ("🤯", "Somebody take this one to the sea, now."),
    };
    let (eyes, boss) = match boss_alert {
        0 => ("😴", "The boss is nowhere near."),
        1 | 2 => ("👀", "The boss has looked over once or twice."),
        3 | 4 => ("🧐", "The boss walks past rather often."),
        5.. => ("🚨", "The boss stands behind you."),
    };
    format!(
        "{feels} {boss}\n\n{face} Stress Level: {stress}/100\n{eyes} Boss Alert Level: {boss_alert}/5"
    )
}

#[cfg(test)]
mod tests {
    use chat_core::BreakKind;

    use super::*;
    use crate::break_words::spoken;

    #[test]
    fn the_text_has_the_form_that_is_read_by_pattern() {
        let said = spoken(BreakKind::CoffeeMission, 0, Some("out of beans"));
        let text = of_break(&said.message, said.summary, 7, 5);
        assert_eq!(
            text,
            "☕ out of beans\n\nBreak Summary: Coffee fetched, by the scenic route\n\
             Stress Level: 7\nBoss Alert Level: 5"
        );
    }

    #[test]
    fn the_status_ends_with_its_two_lines() {
        for (stress, boss) in [(0, 0), (21, 1), (51, 3), (100, 5)] {
            let text = of_status(stress, boss);
            let lines: Vec<_> = text.lines().rev().take(2).collect();
            let (face, told) = lines[1].split_once(' ').unwrap();
            assert!(!face.is_ascii());
            assert_eq!(told, format!("Stress Level: {stress}/100"));
            let (eyes, told) = lines[0].split_once(' ').unwrap();
            assert!(!eyes.is_ascii());
            assert_eq!(told, format!("Boss Alert Level: {boss}/5"));
            assert!(!text.contains("Break Summary"));
        }
    }
}
