//! Names of virtual users.

use std::sync::Arc;

use super::unicode_texts::{first, pick, word};
use sim_model::draw::Draw;
use sim_model::plan::Naming;
use sim_model::protocol::Agent;

/// The largest number of characters that a server allows for a name.
const MOST: usize = 64;

/// The names that users with look-alike names share. Some of them look alike as a whole: in one
/// script, or in one case.
const SHARED: &str = "Ann Lee/paypal/Oleg/Zoe X/Alice/AIice/ALlCE/bob/ВОВ/Алиса Lee";

/// Letters, each with others that look like it or fold to it.
const ALIKE: [(char, &str); 9] = [
    ('a', "аAａ"),
    ('e', "еEｅ"),
    ('o', "оO0ο"),
    ('p', "рPｐ"),
    ('y', "уY"),
    ('l', "1I|"),
    ('x', "хX×"),
    ('n', "Nｎ"),
    ('g', "Gｇ"),
];

/// Names that a server must refuse, and names close to them, between slashes.
const ODD: &str = "/ / Ann/Ann /Ann  Lee/A\u{a0}nn/a\nb/a\u{200b}b/\u{202e}nnA/Server/SYSTEM/\
    ѕerver/Ｓｙｓｔｅｍ/S e r v e r/SYSТEМ/SEᎡVEᎡ/Server\u{70f}/Server:/the ser-ver/\
    server-bot/Operator/ADMlN/you/Your Servant/Вob/Ηolly/Ꭱita/Ann-Анна/太郎 Ann カタ/🦀/\
    🦀 Ann/🅰nn/👩\u{200d}💻 Ann/?!/\u{301}Ann/Ann\u{301}\u{301}\u{301}\u{301}\u{301}/\
    user_7/UѕEr_12";

/// The name of a user with this given name.
pub(super) fn drawn(naming: Naming, given: &Arc<str>, draw: &mut Draw) -> Arc<str> {
    match naming {
        Naming::Given | Naming::Unnamed => given.clone(),
        Naming::Scripts => {
            let name = format!("{} {given}", word(draw.bits()));
            first(&name, MOST).trim_end().into()
        }
        Naming::Alike => disguised(pick(SHARED.split('/'), draw.bits()), draw),
        Naming::Odd => odd(given, draw),
    }
}

/// The name in another spelling: each letter may be replaced by a look-alike.
fn disguised(name: &str, draw: &mut Draw) -> Arc<str> {
    let mut letter = |plain: char| {
        let alike = ALIKE.iter().find(|(of, _)| *of == plain);
        match alike {
            Some((_, others)) if draw.below(2) == 0 => pick(others.chars(), draw.bits()),
            Some(_) | None => plain,
        }
    };
    name.chars().map(&mut letter).collect::<String>().into()
}

/// A name of the largest length, one that is too long, one of the odd ones, or the given one.
fn odd(given: &Arc<str>, draw: &mut Draw) -> Arc<str> {
    let padded = |length: usize| {
        let end = length.saturating_sub(given.chars().count());
        let name = format!("{}{given}", "é".repeat(end));
        first(&name, length).into()
    };
    match draw.below(6) {
        0 => given.clone(),
        1 => padded(MOST),
        2 => padded(MOST + 1),
        _ => pick(ODD.split('/'), draw.bits()).into(),
    }
}

/// A name that every server allows, for a user whose own was refused.
pub(super) fn plain(agent: Agent, tried: u32) -> Arc<str> {
    format!("visitor {}-{tried}", agent.0).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_model::draw::Actor;

    fn many(naming: Naming) -> Vec<Arc<str>> {
        let mut draw = Draw::new(1, Actor::User(0));
        let given: Arc<str> = "penpal-7".into();
        (0..200).map(|_| drawn(naming, &given, &mut draw)).collect()
    }

    #[test]
    fn a_given_name_draws_no_random_number() {
        let mut draw = Draw::new(1, Actor::User(0));
        let given: Arc<str> = "penpal-7".into();
        assert_eq!(drawn(Naming::Given, &given, &mut draw), given);
        assert_eq!(draw.bits(), Draw::new(1, Actor::User(0)).bits());
    }

    #[test]
    fn draws_choose_among_all_shared_and_odd_names() {
        let counts = [SHARED, ODD].map(|names| names.split('/').count());
        assert_eq!(counts, [10, 38]);
    }

    #[test]
    fn odd_names_have_lengths_around_the_limit() {
        let lengths: Vec<usize> = many(Naming::Odd)
            .iter()
            .map(|n| n.chars().count())
            .collect();
        for length in [0, 64, 65] {
            assert!(lengths.contains(&length), "{length}");
        }
    }

    #[test]
    fn look_alikes_are_few_names_in_many_spellings() {
        let mut names = many(Naming::Alike);
        names.sort();
        names.dedup();
        assert!(names.len() > 30, "{}", names.len());
        assert!(names.iter().any(|name| !name.is_ascii()));
        let scripts = many(Naming::Scripts);
        assert!(scripts.iter().all(|name| name.ends_with("penpal-7")));
    }
}
