//! Histories that break the rules of breaks, and histories that come close.

use crate::story::*;
use chat_core::{BreakKind, Span};
use sim::draw::Ratio;
use sim::history::What;
use sim::plan::Plan;
use sim::protocol::{Answer, Op};

const RULE: &str = "breaks_rules";
const MINUTE: Span = Span::secs(60);
const HELD: Span = Span::secs(20);

fn rest() -> Op {
    Op::Break {
        kind: BreakKind::Chimaek,
        excuse: None,
    }
}

fn rested(stress: u8, boss_alert: u8) -> Answer {
    Answer::OnBreak {
        user: user(ANN),
        stress,
        boss_alert,
        flavour: 7,
    }
}

impl Story {
    /// Ann comes, with her first break.
    fn ann(change: impl FnOnce(&mut Plan)) -> Self {
        let mut story = Self::with(change);
        let call = story.calls_as_stranger(ANN, rest());
        story.answers(call, rested(0, 0));
        story
    }

    fn unnoticed() -> Self {
        Self::ann(|_| {})
    }

    /// Ann under a boss who sees everything.
    fn watched() -> Self {
        let mut story = Self::with(|plan| plan.server.boss_alertness = 100);
        let call = story.calls_as_stranger(ANN, rest());
        story.answers(call, rested(0, 1));
        story
    }

    /// A break that is answered so.
    fn rests(&mut self, stress: u8, boss_alert: u8) {
        self.rests_for(Span::ZERO, stress, boss_alert);
    }

    /// A break whose answer takes so long.
    fn rests_for(&mut self, took: Span, stress: u8, boss_alert: u8) {
        let call = self.calls(ANN, rest());
        self.later(took);
        self.answers(call, rested(stress, boss_alert));
    }

    /// A look at her stress that is answered so.
    fn looks(&mut self, stress: u8, boss_alert: u8) {
        let call = self.calls(ANN, Op::Mood);
        self.answers(call, Answer::Mood { stress, boss_alert });
    }

    /// Breaks in a row, until the boss is of this level.
    fn provokes(&mut self, level: u8) {
        for level in 2..=level {
            let took = if level == 5 { HELD } else { Span::ZERO };
            self.rests_for(took, 0, level);
        }
    }
}

/// An hour of rest, told by these two looks, ten minutes apart.
fn looked(first: u8, second: u8) -> Story {
    let mut story = Story::unnoticed();
    story.later(MINUTE.times(10));
    story.looks(first, 0);
    story.looks(second, 0);
    story
}

#[test]
fn ten_idle_minutes_read_ten_and_ten_again() {
    looked(10, 10).holds(RULE);
    looked(10, 11).breaks(&[RULE]);
    looked(9, 9).breaks(&[RULE]);
    looked(11, 11).breaks(&[RULE]);
    looked(0, 10).breaks(&[RULE]);
}

#[test]
fn stress_ends_at_a_hundred() {
    let after = |minutes: u64, stress: u8| {
        let mut story = Story::unnoticed();
        story.later(MINUTE.times(minutes));
        story.looks(stress, 0);
        story
    };
    after(100, 100).holds(RULE);
    after(500, 100).holds(RULE);
    after(500, 99).breaks(&[RULE]);
    after(102, 101).breaks(&[RULE]);
}

#[test]
fn looks_narrow_down_when_the_minute_is_full() {
    // The call and its answer are a second apart on both sides of the full minute.
    let looks = |first: u8, second: u8| {
        let mut story = Story::ann(|_| {});
        story.later(Span::millis(59_990));
        let call = story.calls(ANN, Op::Mood);
        story.later(Span::millis(500));
        let stress = first;
        story.answers(
            call,
            Answer::Mood {
                stress,
                boss_alert: 0,
            },
        );
        story.later(MINUTE - Span::millis(520));
        story.looks(second, 0);
        story
    };
    looks(0, 1).holds(RULE);
    looks(1, 1).holds(RULE);
    looks(1, 2).breaks(&[RULE]);
}

#[test]
fn a_break_takes_one_point_at_least() {
    let left = |stress: u8| {
        let mut story = Story::unnoticed();
        story.later(MINUTE.times(50));
        story.rests(stress, 0);
        story
    };
    left(49).holds(RULE);
    left(0).holds(RULE);
    left(50).breaks(&[RULE]);
    left(70).breaks(&[RULE]);
}

#[test]
fn stress_is_counted_from_the_last_break() {
    let later = |stress: u8| {
        let mut story = Story::unnoticed();
        story.later(MINUTE.times(50));
        story.rests(30, 0);
        story.later(Span::secs(59));
        story.looks(30, 0);
        story.later(MINUTE);
        story.looks(stress, 0);
        story
    };
    later(31).holds(RULE);
    later(32).breaks(&[RULE]);
    later(30).breaks(&[RULE]);
}

#[test]
fn the_boss_notices_by_one_at_a_time() {
    let second = |level: u8| {
        let mut story = Story::unnoticed();
        story.rests(0, level);
        story
    };
    second(0).holds(RULE);
    second(1).holds(RULE);
    second(2).breaks(&[RULE]);
}

#[test]
fn a_boss_who_sees_nothing_never_rises_and_one_who_sees_all_always_does() {
    let under = |alertness: u32, level: u8| {
        let mut story = Story::with(|plan| plan.server.boss_alertness = alertness);
        let call = story.calls_as_stranger(ANN, rest());
        story.answers(call, rested(0, level));
        story
    };
    under(0, 0).holds(RULE);
    under(0, 1).breaks(&[RULE]);
    under(100, 1).holds(RULE);
    under(100, 0).breaks(&[RULE]);
}

#[test]
fn nothing_is_above_five() {
    let mut story = Story::watched();
    story.provokes(5);
    story.rests_for(HELD, 0, 6);
    story.breaks(&[RULE]);
}

#[test]
fn the_boss_calms_down_by_one_each_cool_down() {
    let after = |span: Span, level: u8| {
        let mut story = Story::watched();
        story.provokes(3);
        story.later(span);
        let minutes = u8::try_from(span.as_secs() / 60).expect("a few");
        story.looks(minutes, level);
        story
    };
    after(Span::secs(299), 3).holds(RULE);
    after(Span::secs(301), 2).holds(RULE);
    after(Span::secs(601), 1).holds(RULE);
    after(Span::secs(901), 0).holds(RULE);
    after(Span::secs(299), 2).breaks(&[RULE]);
    after(Span::secs(301), 3).breaks(&[RULE]);
    after(Span::secs(601), 2).breaks(&[RULE]);
    after(Span::secs(1_801), 1).breaks(&[RULE]);
}

#[test]
fn at_the_top_the_cool_down_goes_on() {
    let after = |stress: u8, level: u8| {
        let mut story = Story::watched();
        story.provokes(5);
        story.later(Span::secs(200));
        // Alarmed again, which changes nothing.
        story.rests_for(HELD, 0, 5);
        story.later(Span::secs(62));
        story.looks(stress, level);
        story
    };
    after(1, 4).holds(RULE);
    after(1, 5).breaks(&[RULE]);
}

#[test]
fn a_break_that_is_not_noticed_keeps_nobody_awake() {
    let after = |level: u8| {
        let mut story = Story::unnoticed();
        story.rests(0, 1);
        story.later(Span::secs(250));
        story.rests(0, 1);
        story.later(Span::secs(55));
        story.looks(0, level);
        story
    };
    after(0).holds(RULE);
    after(1).breaks(&[RULE]);
}

#[test]
fn under_a_fully_alert_boss_the_answer_comes_twenty_seconds_later() {
    let after = |took: Span| {
        let mut story = Story::watched();
        story.provokes(4);
        story.rests_for(took, 0, 5);
        story
    };
    after(HELD).holds(RULE);
    after(Span::secs(21)).holds(RULE);
    after(Span::ZERO).breaks(&[RULE]);
    after(Span::secs(19)).breaks(&[RULE]);
    after(Span::secs(25)).breaks(&[RULE]);
}

#[test]
fn every_other_answer_comes_at_once() {
    let fourth = |took: Span| {
        let mut story = Story::watched();
        story.provokes(3);
        story.rests_for(took, 0, 4);
        story
    };
    fourth(Span::secs(1)).holds(RULE);
    fourth(Span::secs(10)).breaks(&[RULE]);
    fourth(HELD).breaks(&[RULE]);
    let mut story = Story::unnoticed();
    let call = story.calls(ANN, Op::Mood);
    story.later(Span::secs(5));
    story.answers(
        call,
        Answer::Mood {
            stress: 0,
            boss_alert: 0,
        },
    );
    story.breaks(&[RULE]);
}

/// Where packets are lost, answers are late for other reasons.
#[test]
fn in_bad_weather_answers_may_come_late_but_not_early() {
    let stormy = |plan: &mut Plan| {
        plan.server.boss_alertness = 100;
        plan.network.loss = Ratio::new(1, 10).expect("a ratio");
    };
    let after = |took: Span, level: u8| {
        let mut story = Story::with(stormy);
        let call = story.calls_as_stranger(ANN, rest());
        story.answers(call, rested(0, 1));
        story.provokes(level - 1);
        story.rests_for(took, 0, level);
        story
    };
    after(HELD, 4).holds(RULE);
    after(Span::secs(40), 5).holds(RULE);
    after(Span::secs(19), 5).breaks(&[RULE]);
}

#[test]
fn a_held_answer_tells_how_things_stand_when_it_leaves() {
    let told = |level: u8| {
        let mut story = Story::with(|plan| {
            plan.server.boss_alertness = 100;
            plan.server.boss_alertness_cooldown = Span::secs(15);
        });
        let call = story.calls_as_stranger(ANN, rest());
        story.answers(call, rested(0, 1));
        story.provokes(4);
        story.rests_for(HELD, 0, level);
        story
    };
    told(4).holds(RULE);
    told(5).breaks(&[RULE]);
    told(3).breaks(&[RULE]);
}

#[test]
fn a_look_while_an_answer_is_held_back_is_answered_at_once() {
    let looks = |took: Span| {
        let mut story = Story::watched();
        story.provokes(4);
        let held = story.calls(ANN, rest());
        let look = story.calls(ANN, Op::Mood);
        story.later(took);
        let (stress, boss_alert) = (0, 5);
        story.answers(look, Answer::Mood { stress, boss_alert });
        story.later(HELD - took);
        story.answers(held, rested(0, 5));
        story
    };
    looks(Span::ZERO).holds(RULE);
    looks(Span::secs(19)).breaks(&[RULE]);
}

/// Breaks that overlap are not told apart: whichever came first, these answers are possible.
#[test]
fn breaks_at_once_may_come_in_either_order() {
    let mut story = Story::unnoticed();
    story.later(MINUTE.times(90));
    let (first, second) = (story.calls(ANN, rest()), story.calls(ANN, rest()));
    story.answers(first, rested(3, 2));
    story.answers(second, rested(70, 1));
    // One clear break tells where things stand.
    story.later(Span::secs(1));
    story.rests(2, 2);
    story.later(MINUTE.times(3));
    story.looks(5, 2);
    story.holds(RULE);
}

#[test]
fn after_a_clear_break_all_is_judged_again() {
    let mut story = Story::unnoticed();
    story.later(MINUTE.times(90));
    let (first, second) = (story.calls(ANN, rest()), story.calls(ANN, rest()));
    story.answers(first, rested(3, 2));
    story.answers(second, rested(70, 1));
    story.rests(2, 2);
    story.later(MINUTE.times(3));
    story.looks(6, 2);
    story.breaks(&[RULE]);
}

#[test]
fn a_break_that_was_given_up_may_have_happened() {
    let looks = |stress: u8| {
        let mut story = Story::unnoticed();
        story.later(MINUTE.times(50));
        let call = story.calls(ANN, rest());
        story.gives_up(call);
        story.later(MINUTE.times(10));
        story.looks(stress, 0);
        story
    };
    looks(60).holds(RULE);
    looks(12).holds(RULE);
    looks(101).breaks(&[RULE]);
}

#[test]
fn a_refused_break_did_not_happen() {
    let looks = |stress: u8| {
        let mut story = Story::unnoticed();
        story.later(MINUTE.times(50));
        let call = story.calls(ANN, rest());
        story.refuses(call, "invalid_arguments");
        story.looks(stress, 0);
        story
    };
    looks(50).holds(RULE);
    looks(20).breaks(&[RULE]);
}

#[test]
fn a_break_without_a_key_may_have_been_several() {
    let rests = |keyed: bool| {
        let mut story = Story::unnoticed();
        let call = if keyed {
            story.calls(ANN, rest())
        } else {
            story.calls_without_key(ANN, rest())
        };
        story.retries(call);
        story.answers(call, rested(0, 2));
        story
    };
    rests(false).holds(RULE);
    rests(true).breaks(&[RULE]);
}

#[test]
fn one_who_registers_anew_begins_anew() {
    let mut story = Story::watched();
    story.later(MINUTE.times(30));
    story.looks(30, 0);
    story.does(ANN, What::Forgot);
    let call = story.calls_as_stranger(ANN, rest());
    story.answers(call, rested(0, 1));
    story.holds(RULE);
}
