//! Scripts for breaks, and for entries implied by reads.

use super::*;
use crate::model::breaks::Draws;

#[test]
fn breaks_relieve_alarm_and_are_held() {
    let mut s = Script::new(|c| {
        c.boss_alertness = 100;
        c.boss_alertness_cooldown = Span::secs(6);
    });
    s.call(0, 'a', rest()).unwrap();
    let user = User(1);
    // Fifty minutes of work; the boss has calmed down.
    assert_eq!(s.model.mood(user, secs(3_059)), Some((50, 0)));
    let told = |owed: &Owed| match owed.outcome {
        Ok(Reply::OnBreak {
            boss_alert,
            answer_at,
            ..
        }) => (boss_alert, answer_at),
        ref other => panic!("{other:?}"),
    };
    for level in 1..=4 {
        assert_eq!(told(&s.owed(3_059, 'a', rest())).0, level);
    }
    // The fifth is delayed by 20 s, in which the boss calms down by 3 levels.
    let owed = s.keyed(3_060, 1, 'a', rest());
    assert_eq!(told(&owed), (2, secs(3_080)));
    assert_eq!(told(&s.keyed(3_061, 1, 'a', rest())).1, secs(3_080));
    // A later break during the delay of the first changes the levels that the first will show.
    let owed = s.owed(3_062, 'a', rest());
    assert_eq!(told(&owed), (2, secs(3_082)));
    s.owed(3_069, 'a', rest());
    let again = s.keyed(3_090, 1, 'a', rest());
    assert_eq!(told(&again), (4, secs(3_080)));
    // A restart with another cooldown does not discard a partly elapsed level.
    let mut config = s.model.config.clone();
    config.boss_alertness_cooldown = Span::secs(60);
    let level = |s: &Script, at| s.model.mood(user, secs(at)).map(|(_, level)| level);
    assert_eq!(level(&s, 3_095), Some(1));
    s.entry(3_095, &resumed(Box::new(config)));
    assert_eq!(level(&s, 3_152), Some(1));
    assert_eq!(level(&s, 3_153), Some(0));
}

#[test]
fn the_draws_of_an_entry_decide_relief_notice_and_flavour() {
    let mut s = Script::new(|c| {
        c.boss_alertness = 50;
        c.boss_alertness_cooldown = Span::secs(1);
    });
    let user = User(1);
    s.call(0, 'a', rest()).unwrap();
    let mut noticed = 0;
    for nth in 1..=60 {
        // An hour later the stress is 60 at least, and the boss is calm.
        let at = nth * 3_600;
        let (stress, level) = s.model.mood(user, secs(at)).unwrap();
        assert!(stress >= 60 && level == 0);
        let mut draws = Draws::of(SEED, s.position + 1);
        let relief = u8::try_from(1 + draws.below(100)).unwrap();
        let boss_alert = u8::from(draws.below(100) < 50);
        let owed = Reply::OnBreak {
            user,
            stress: stress.saturating_sub(relief),
            boss_alert,
            flavour: u32::try_from(draws.below(1 << 32)).unwrap(),
            kind: BreakKind::ALL[0],
            answer_at: secs(at),
        };
        assert_eq!(s.call(at, 'a', rest()), Ok(owed));
        noticed += boss_alert;
    }
    assert!((15..45).contains(&noticed), "{noticed}");
}

#[test]
fn a_shorter_cooldown_lets_one_level_fall_at_the_restart() {
    let mut s = Script::new(|c| {
        c.boss_alertness = 100;
        c.boss_alertness_cooldown = Span::secs(300);
    });
    s.call(0, 'a', rest()).unwrap();
    s.call(0, 'a', rest()).unwrap();
    s.call(0, 'a', rest()).unwrap();
    let user = User(1);
    assert_eq!(s.model.mood(user, secs(299)), Some((4, 3)));
    let mut config = s.model.config.clone();
    config.boss_alertness_cooldown = Span::secs(10);
    s.entry(299, &resumed(Box::new(config)));
    let level = |at| s.model.mood(user, secs(at)).map(|(_, level)| level);
    let at = [299, 308, 309, 318, 319];
    assert_eq!(at.map(level), [2, 2, 1, 1, 0].map(Some));
}

#[test]
fn a_read_is_followed_by_a_seen_in_the_last_three_quarters() {
    let mut s = Script::new(|c| c.idle_timeout = Span::secs(100));
    s.call(0, 'a', rest()).unwrap();
    s.call(0, 'a', rest()).unwrap();
    assert!(!s.model.wants_seen(User(1), secs(25)));
    assert!(s.model.wants_seen(User(1), secs(26)));
    s.entry(30, &implied(1, Implied::OpenStream));
    assert!(!s.model.wants_seen(User(1), secs(500)));
    s.entry(600, &implied(1, Implied::CloseStream));
    assert!(s.model.wants_seen(User(1), secs(600)));
    assert_eq!(
        s.model.next_deadline(),
        Some((secs(660), Deadline::Presence(User(1))))
    );
    // Away at 660, forgotten a day later; the handle is unknown then.
    s.entry(660 + 86_400, &Entry::Tick);
    assert_eq!(s.model.user_of(hash('a')), None);
    assert_eq!(std::mem::take(&mut s.model.forgotten), [User(1)]);
}
