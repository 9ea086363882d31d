//! Public ids in mutes and bans: a chosen id counts as a name.

use insta::assert_snapshot;

use crate::check::check;

#[test]
fn a_public_id_that_looks_like_a_banned_name_is_refused() {
    assert_snapshot!(check("
        0s ann login as=Alice
           operator ban ann 'spam'
           ben enter_queue id=Alice
           ben enter_queue id=aIice
           ben enter_queue id=allce as=Ben
           ben enter_queue id=alicia as=Ben
           operator unban alice
           cat enter_queue id=AIice
    "), @r"
    0s ann login as=Alice ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined Alice → Alice#1
    operator ban ann 'spam' ⇒ done; next never
        user_1 is forgotten
    ben enter_queue id=Alice ⇒ refused, user_id_taken: That user_id is taken, looks like another's name or user_id, is the server's own (user_ and a number, or a word such as system), or an operator has banned it
    ben enter_queue id=aIice ⇒ refused, user_id_taken: That user_id is taken, looks like another's name or user_id, is the server's own (user_ and a number, or a word such as system), or an operator has banned it
    ben enter_queue id=allce as=Ben ⇒ refused, user_id_taken: That user_id is taken, looks like another's name or user_id, is the server's own (user_ and a number, or a word such as system), or an operator has banned it
    ben enter_queue id=alicia as=Ben ⇒ user_2 waits at 1, estimated wait unknown; next 1m
    operator unban alice ⇒ done
    cat enter_queue id=AIice ⇒ user_3 waits at 2, estimated wait unknown
    ");
}

#[test]
fn a_public_id_that_looks_like_a_muted_name_mutes() {
    assert_snapshot!(check("
        0s zoe login
           ann login as=Alice
           operator mute ann 'noise'
           ann unregister
           ben enter_queue id=aIice as=Ben
           ben login as=Ben
           ben talking_stick
        # Nothing of ben is kept, but the name that mutes it.
           bans
           operator unmute ben
           ben talking_stick
           bans
    "), @r#"
    0s zoe login ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined zoe → zoe#1
    ann login as=Alice ⇒ user_2 in room_1
        room_1/2 user.joined Alice → zoe#2 Alice#1
    operator mute ann 'noise' ⇒ done
        room_1/3 moderation.muted Alice "noise" → zoe#3 Alice#2
    ann unregister ⇒ done
        user_2 is forgotten
        room_1/4 user.left Alice → zoe#4
    ben enter_queue id=aIice as=Ben ⇒ user_3 waits at 1, estimated wait unknown
    ben login as=Ben ⇒ user_3 in room_1
        room_1/5 user.joined Ben (aIice) → zoe#5 Ben#1
    ben talking_stick ⇒ refused, muted: An operator has muted you; you can read and join rooms, but not speak or open one
    # Nothing of ben is kept, but the name that mutes it.
    bans ⇒ 2 kept, Alice Mute: "noise", the handle of Alice Mute: "noise"
    operator unmute ben ⇒ done
    ben talking_stick ⇒ place 0 in room_1; Ben holds epoch 1 until 2m
        room_1/6 stick.granted Ben (aIice) epoch 1 for 2m → zoe#6 Ben#2
    bans ⇒ 2 kept, Alice Mute: "noise", the handle of Alice Mute: "noise"
    "#);
}

#[test]
fn the_public_id_of_one_that_is_banned_is_kept_as_its_name_is() {
    assert_snapshot!(check("
        0s ann enter_queue id=pest as=Ann
           operator ban ann 'spam'
           bans
           ben login as=Pest
           ben enter_queue id=PEST
           operator unban Ann
           bans
           ben enter_queue id=pest
           operator unban pest
           ben enter_queue id=pest
           bans
    "), @r#"
    0s ann enter_queue id=pest as=Ann ⇒ user_1 waits at 1, estimated wait unknown; next 1m
    operator ban ann 'spam' ⇒ done; next never
        user_1 is forgotten
    bans ⇒ 3 kept, Ann Ban: "spam", pest Ban: "spam", the handle of Ann Ban: "spam"
    ben login as=Pest ⇒ refused, name_not_allowed: That name is not allowed: an operator has banned it
    ben enter_queue id=PEST ⇒ refused, user_id_taken: That user_id is taken, looks like another's name or user_id, is the server's own (user_ and a number, or a word such as system), or an operator has banned it
    operator unban Ann ⇒ done
    bans ⇒ 1 kept, pest Ban: "spam"
    ben enter_queue id=pest ⇒ refused, user_id_taken: That user_id is taken, looks like another's name or user_id, is the server's own (user_ and a number, or a word such as system), or an operator has banned it
    operator unban pest ⇒ done
    ben enter_queue id=pest ⇒ user_2 waits at 1, estimated wait unknown; next 1m
    bans ⇒ 0 kept
    "#);
}

#[test]
fn a_chosen_id_beside_a_given_name_is_kept() {
    assert_snapshot!(check("
        0s ann enter_queue id=pest
           operator mute ann 'noise'
           bans
           operator unmute ann
           bans
    "), @r#"
    0s ann enter_queue id=pest ⇒ user_1 waits at 1, estimated wait unknown; next 1m
    operator mute ann 'noise' ⇒ done
    bans ⇒ 2 kept, pest Mute: "noise", the handle of user_1 Mute: "noise"
    operator unmute ann ⇒ done
    bans ⇒ 0 kept
    "#);
}

#[test]
fn unmuting_lifts_the_id_that_the_handle_is_kept_with() {
    assert_snapshot!(check("
        0s zoe login
           ann enter_queue id=pest as=Ann
           operator mute ann 'noise'
           ann unregister
           ann login as=Other
           operator unmute ann
           bans
    "), @r"
    0s zoe login ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined zoe → zoe#1
    ann enter_queue id=pest as=Ann ⇒ user_2 waits at 1, estimated wait unknown
    operator mute ann 'noise' ⇒ done
    ann unregister ⇒ done
        user_2 is forgotten
    ann login as=Other ⇒ user_3 in room_1
        room_1/2 user.joined Other → zoe#2 Other#1
    operator unmute ann ⇒ done
    bans ⇒ 0 kept
    ");
}

#[test]
fn a_name_and_an_id_that_fold_alike_take_one_place() {
    assert_snapshot!(check("
        config max_bans=2
        0s ann enter_queue id=aIice as=Aiice
           operator ban ann 'spam'
           bans
        # The keys of both are kept.
           ben login as=Alice
           ben login as=Allce
    "), @r#"
    0s ann enter_queue id=aIice as=Aiice ⇒ user_1 waits at 1, estimated wait unknown; next 1m
    operator ban ann 'spam' ⇒ done; next never
        user_1 is forgotten
    bans ⇒ 2 kept, Aiice Ban: "spam", the handle of Aiice Ban: "spam"
    # The keys of both are kept.
    ben login as=Alice ⇒ refused, name_not_allowed: That name is not allowed: an operator has banned it
    ben login as=Allce ⇒ refused, name_not_allowed: That name is not allowed: an operator has banned it
    "#);
}

#[test]
fn an_id_needs_space_and_is_not_followed() {
    assert_snapshot!(check("
        config max_bans=2
        0s ann enter_queue id=pest as=Ann
           operator mute ann 'noise'
           bans
           ben break chimaek
           operator mute ben 'noise'
           ben unregister
        # The id comes with the registration, and is free after it; the name is kept.
           ben enter_queue id=bug as=Ben
           bans
           ben unregister
           cat enter_queue id=bug
           bans
    "), @r#"
    0s ann enter_queue id=pest as=Ann ⇒ user_1 waits at 1, estimated wait unknown; next 1m
    operator mute ann 'noise' ⇒ refused, invalid_arguments: the number of bans and mutes that are kept must be at most 2
    bans ⇒ 0 kept
    ben break chimaek ⇒ user_2 on chimaek, stress 0, boss 0, told at 0s
    operator mute ben 'noise' ⇒ done
    ben unregister ⇒ done
        user_2 is forgotten
    # The id comes with the registration, and is free after it; the name is kept.
    ben enter_queue id=bug as=Ben ⇒ user_3 waits at 2, estimated wait unknown
    bans ⇒ 2 kept, Ben Mute: "noise", the handle of Ben Mute: "noise"
    ben unregister ⇒ done
        user_3 is forgotten
    cat enter_queue id=bug ⇒ user_4 waits at 2, estimated wait unknown
    bans ⇒ 2 kept, Ben Mute: "noise", the handle of Ben Mute: "noise"
    "#);
}
