//! Scripts for breaks, and for entries implied by reads.

use super::*;

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
    let shown = |stress, boss_alert| {
        Ok(Answer::OnBreak {
            user,
            stress,
            boss_alert,
            flavour: 7,
        })
    };
    // No relief is 0: 50 is not permitted, 49 is the nearest.
    let owed = s.owed(3_059, 'a', rest(), shown(50, 1));
    assert_eq!(owed.outcome, shown(49, 1));
    for level in 2..=4 {
        assert_eq!(
            s.owed(3_059, 'a', rest(), shown(0, level)).outcome,
            shown(0, level)
        );
    }
    // The fifth is delayed by 20 s, in which the boss calms down by 3 levels.
    s.key = Some(1);
    let owed = s.owed(3_060, 'a', rest(), shown(0, 2));
    assert_eq!((owed.outcome, owed.answer_at), (shown(0, 2), secs(3_080)));
    assert_eq!(s.keyed(3_061, 1, 'a', rest()).answer_at, secs(3_080));
    // A later break during the delay of the first changes the levels that the first will show.
    let owed = s.owed(3_062, 'a', rest(), shown(0, 2));
    assert_eq!((owed.outcome, owed.answer_at), (shown(0, 2), secs(3_082)));
    s.owed(3_069, 'a', rest(), shown(0, 2));
    let again = s.keyed(3_090, 1, 'a', rest());
    assert_eq!((again.outcome, again.answer_at), (shown(0, 4), secs(3_090)));
    // A restart with another cooldown does not discard a partly elapsed level.
    let mut config = s.model.config().clone();
    config.boss_alertness_cooldown = Span::secs(60);
    assert_eq!(s.model.mood(user, secs(3_095)), Some((0, 1)));
    let config = Box::new(config);
    s.entry(3_095, &Entry::Resumed { config });
    assert_eq!(s.model.mood(user, secs(3_152)), Some((1, 1)));
    assert_eq!(s.model.mood(user, secs(3_153)), Some((1, 0)));
}

#[test]
fn a_delayed_answer_shows_that_the_boss_noticed() {
    let mut s = Script::new(|c| {
        c.boss_alertness = 50;
        c.boss_alertness_cooldown = Span::secs(15);
    });
    let user = User(1);
    let shown = |boss_alert| {
        Ok(Answer::OnBreak {
            user,
            stress: 0,
            boss_alert,
            flavour: 7,
        })
    };
    for level in 1..=4 {
        s.owed(0, 'a', rest(), shown(level));
    }
    // Level 4 at once, or 5 now and 4 when the delayed answer leaves: both answers show 4.
    let late = Decided {
        outcome: shown(4),
        answer_at: secs(21),
    };
    let (mut calm, mut alert) = (s.model.clone(), s.model);
    for (model, answer_at, level) in [(&mut calm, secs(1), 4), (&mut alert, secs(21), 5)] {
        let entry = Entry::Call {
            caller: Caller::Known(Handle('a' as u64)),
            key: None,
            op: rest(),
        };
        let said = Decided {
            answer_at,
            ..late.clone()
        };
        let owed = model.commit(secs(1), &entry, &said);
        assert_eq!((owed.outcome, owed.answer_at), (shown(4), answer_at));
        assert_eq!(model.mood(user, secs(1)), Some((0, level)));
    }
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
    let mut config = s.model.config().clone();
    config.boss_alertness_cooldown = Span::secs(10);
    let config = Box::new(config);
    s.entry(299, &Entry::Resumed { config });
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
    s.entry(30, &Entry::OpenStream { user: User(1) });
    assert!(!s.model.wants_seen(User(1), secs(500)));
    s.entry(600, &Entry::CloseStream { user: User(1) });
    assert!(s.model.wants_seen(User(1), secs(600)));
    assert_eq!(
        s.model.next_deadline(),
        Some((secs(660), Deadline::Presence(User(1))))
    );
    // Away at 660, forgotten a day later; the handle is unknown then.
    s.entry(660 + 86_400, &Entry::Tick);
    assert_eq!(s.model.user_of(Handle('a' as u64)), None);
    assert_eq!(s.model.take_forgotten(), [User(1)]);
}
