//! Scripts for blocks, and for actions of operators.

use super::*;
use chat_types::Address;

#[test]
fn one_mute_keeps_one_name_and_an_unmute_lifts_it_under_any() {
    let mut s = Script::new(|_| ());
    let act = |s: &mut Script, act| s.entry(1, &operated(act)).outcome.unwrap();
    s.call(0, 'a', login("ann")).unwrap();
    s.call(0, 'z', login("zoe")).unwrap();
    act(&mut s, mute(1));
    s.call(2, 'a', Command::Unregister).unwrap();
    let den = || login_to("den", "bob");
    assert_eq!(s.refused(2, 'a', den()), "muted", "it opens no room");
    s.call(2, 'a', login("bob")).unwrap();
    assert_eq!(s.refused(2, 'a', STICK), "muted", "by its handle");
    assert_eq!(s.refused(2, 'a', den()), "muted");
    s.call(2, 'z', login_to("den", "zoe")).unwrap();
    assert_eq!(s.refused(2, 'a', den()), "", "it exists");
    s.call(2, 'b', login("ann")).unwrap();
    assert_eq!(s.refused(2, 'b', STICK), "muted", "by its name");
    s.call(3, 'b', Command::Unregister).unwrap();
    act(&mut s, Operate::Unmute { user: User(3) });
    s.call(4, 'b', login("ann")).unwrap();
    assert_eq!(s.refused(4, 'b', STICK), "");
}

#[test]
fn a_public_id_is_a_name_to_bans_and_mutes() {
    let mut s = Script::new(|_| ());
    let act = |s: &mut Script, act| s.entry(1, &operated(act)).outcome.unwrap();
    s.call(0, 'a', login("Alice")).unwrap();
    s.call(0, 'b', login("Loud")).unwrap();
    act(&mut s, ban(1));
    assert_eq!(s.refused(2, 'c', enters("AIice", None)), "user_id_taken");
    act(&mut s, mute(2));
    s.call(2, 'b', Command::Unregister).unwrap();
    s.call(2, 'c', enters("1oud", Some("Cec"))).unwrap();
    assert_eq!(s.refused(2, 'c', login("Cec")), "muted", "it opens no room");
    s.call(2, 'd', login("Dan")).unwrap();
    s.call(2, 'c', login("Cec")).unwrap();
    assert_eq!(s.refused(2, 'c', STICK), "muted", "by its id");
}

#[test]
fn a_public_id_is_kept_beside_the_name_and_lifted_by_itself() {
    let mut s = Script::new(|c| c.max_bans = 3);
    let act = |s: &mut Script, act| s.entry(1, &operated(act)).outcome;
    s.call(0, 'a', enters("pest", Some("Ann"))).unwrap();
    act(&mut s, ban(1)).unwrap();
    assert_eq!(s.refused(2, 'b', login("Pest")), "name_not_allowed");
    s.call(2, 'b', enters("ben", Some("Ben"))).unwrap();
    // The name with its handle, and the id: three entries. The name and the id of another
    // participant would be two more.
    let refused = act(&mut s, mute(2)).unwrap_err();
    assert_eq!(refused.code, "invalid_arguments");
    let name = text("Ann");
    act(&mut s, Operate::Unban { name }).unwrap();
    assert_eq!(s.refused(3, 'a', enters("pest", None)), "user_id_taken");
    // A name and an id with one folded form take one place.
    s.call(3, 'c', enters("Cec", Some("CEC"))).unwrap();
    act(&mut s, mute(3)).unwrap();
    // An unmute lifts the name and the id that the handle was kept with.
    s.call(4, 'c', Command::Unregister).unwrap();
    s.call(4, 'z', login("Zoe")).unwrap();
    s.call(4, 'c', login("Dan")).unwrap();
    act(&mut s, Operate::Unmute { user: User(5) }).unwrap();
    s.call(5, 'd', enters("cec", None)).unwrap();
    s.call(5, 'd', login("Dora")).unwrap();
    assert_eq!(s.refused(5, 'd', STICK), "");
}

#[test]
fn a_muted_address_silences_those_of_it_until_it_is_lifted() {
    let mut s = Script::new(|_| ());
    let act = |s: &mut Script, act| s.entry(1, &operated(act)).outcome.unwrap();
    s.call(0, 'a', login("ann")).unwrap();
    assert_eq!(s.refused(0, 'a', STICK), "");
    let (address, reason) = (Address(0), text("spam"));
    act(&mut s, Operate::BanAddress { address, reason });
    assert!(s.model.is_banned(0));
    let reason = text("noise");
    act(&mut s, Operate::MuteAddress { address, reason });
    assert!(!s.model.is_banned(0), "in place of the ban");
    assert_eq!(s.kinds(1, 2), ["moderation.muted", "stick.released"]);
    s.call(2, 'b', login("bob")).unwrap();
    act(&mut s, Operate::Unmute { user: User(1) });
    assert_eq!(s.refused(2, 'a', STICK), "muted");
    assert_eq!(s.refused(2, 'b', STICK), "muted");
    act(&mut s, Operate::UnbanAddress { address });
    assert_eq!(s.refused(3, 'b', STICK), "");
}

#[test]
fn a_block_hides_messages_both_ways_and_leaves_a_hole() {
    let mut s = Script::new(|c| c.stick = chat_types::config::StickRule::Optional);
    for (handle, name) in [('a', "ann"), ('b', "bob"), ('c', "cec")] {
        s.call(0, handle, login(name)).unwrap();
    }
    s.call(1, 'a', say("before")).unwrap();
    s.call(2, 'a', Command::BlockUser { user: User(2) })
        .unwrap();
    s.call(3, 'a', say("to cec")).unwrap();
    s.call(4, 'b', say("to cec too")).unwrap();
    s.call(5, 'c', say("to both")).unwrap();
    let heard = |user| {
        let messages = s.events(user, 0).into_iter();
        messages
            .filter(|(_, _, kind)| *kind == "message.received")
            .map(|(_, room_seq, _)| room_seq)
            .collect::<Vec<_>>()
    };
    assert_eq!(heard(1), [7]);
    assert_eq!(heard(2), [4, 7]);
    assert_eq!(heard(3), [4, 5, 6]);
    let kept = |user| s.history(user, None).0;
    assert_eq!(kept(1), [4, 5, 7]);
    assert_eq!(kept(2), [6, 7]);
    assert_eq!(kept(3), [4, 5, 6, 7]);
    let unblock = |user| Command::UnblockUser { user };
    assert_eq!(s.refused(6, 'a', unblock(User(1))), "invalid_arguments");
    s.call(6, 'a', unblock(User(9))).unwrap();
    s.call(6, 'a', unblock(User(2))).unwrap();
    let (history, _) = s.history(1, None);
    assert_eq!(history.len(), 4, "what only the block hid is shown");
    s.call(7, 'b', say("again")).unwrap();
    let end = s.model.inbox_end(User(1));
    assert_eq!(s.events(1, end - 1), [(7, 8, "message.received")]);
}
