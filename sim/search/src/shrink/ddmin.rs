//! Delta debugging: finds a minimal part of a list that still shows what the whole list shows.

/// Whether a part of the list still shows it.
pub(super) type Check<'c, T> = &'c mut dyn FnMut(&[T]) -> bool;

/// Finds a smaller part of a list that still shows it.
pub(super) type Find<'f, T> = &'f dyn Fn(&[T], Check<'_, T>) -> Vec<T>;

/// Removes elements, first many at once and then one by one, while the rest still shows it (Zeller
/// and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002, with complements
/// only: a part alone seldom makes sense in a conversation). At the end no single element can be
/// removed. `still_fails` is called for each smaller list; for the whole list it has been.
pub(super) fn ddmin<T: Clone>(items: &[T], still_fails: Check<'_, T>) -> Vec<T> {
    ddmin_by(1, items, still_fails)
}

/// `ddmin` that removes at least `least` elements at once while more are left: a quick first pass.
pub(super) fn ddmin_by<T: Clone>(least: usize, items: &[T], still_fails: Check<'_, T>) -> Vec<T> {
    let mut kept = items.to_vec();
    if kept.is_empty() || still_fails(&[]) {
        return Vec::new();
    }
    let mut size = kept.len().div_ceil(2);
    loop {
        let mut smaller = false;
        // From the end: late elements depend on early ones.
        let mut end = kept.len();
        while end > 0 {
            let begin = end.saturating_sub(size);
            let without = [&kept[..begin], &kept[end..]].concat();
            if without.len() < kept.len() && !without.is_empty() && still_fails(&without) {
                kept = without;
                smaller = true;
            }
            end = begin.min(kept.len());
        }
        if size <= least && !smaller {
            return kept;
        }
        size = (size / 2).max(least.max(1));
    }
}

/// Removes pairs where no single element can be removed: a claim with its release, a login with a
/// leave.
pub(super) fn without_pairs<T: Clone>(items: &[T], still_fails: Check<'_, T>) -> Vec<T> {
    let mut kept = items.to_vec();
    loop {
        let seconds = 0..kept.len();
        let pairs = seconds.flat_map(|second| (0..second).map(move |first| (first, second)));
        let mut without = pairs.map(|(first, second)| {
            let mut without = kept.clone();
            without.remove(second);
            without.remove(first);
            without
        });
        match without.find(|some| !some.is_empty() && still_fails(some)) {
            Some(smaller) => kept = smaller,
            None => return kept,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needed_items_are_kept_in_order() {
        let items: Vec<u32> = (0..1_000).collect();
        let mut asked = 0;
        let kept = ddmin(&items, &mut |some| {
            asked += 1;
            [3, 500, 999].iter().all(|needed| some.contains(needed))
        });
        assert_eq!(kept, [3, 500, 999]);
        assert!(asked < 200, "{asked}");
    }

    #[test]
    fn a_coarse_start_takes_few_checks_and_keeps_some_unneeded_items() {
        let items: Vec<u32> = (0..64).collect();
        let mut asked = 0;
        let kept = ddmin_by(8, &items, &mut |some| {
            asked += 1;
            some.contains(&40)
        });
        assert!(kept.len() <= 8 && kept.contains(&40), "{kept:?}");
        assert!(asked < 24, "{asked}");
    }

    #[test]
    fn no_item_is_kept_when_none_is_needed() {
        assert!(ddmin(&[1, 2, 3], &mut |_| true).is_empty());
        assert!(ddmin(&[] as &[u8], &mut |_| panic!("nothing to ask")).is_empty());
    }

    #[test]
    fn no_single_item_can_be_removed_at_the_end() {
        // Any three even numbers suffice.
        let items: Vec<u32> = (0..100).collect();
        let still_fails = |some: &[u32]| some.iter().filter(|n| *n % 2 == 0).count() >= 3;
        let kept = ddmin(&items, &mut |some| still_fails(some));
        assert_eq!(kept.len(), 3);
    }

    #[test]
    fn items_needed_only_by_one_another_are_removed_in_pairs() {
        // 1 and 2 can only be removed together.
        let still_fails =
            |some: &[u32]| some.contains(&1) == some.contains(&2) && some.contains(&9);
        let mut ask = |some: &[u32]| still_fails(some);
        let kept = ddmin(&[0, 1, 2, 3, 9], &mut ask);
        assert_eq!(without_pairs(&[1, 2, 7, 9], &mut ask), [7, 9]);
        assert!(kept.contains(&9));
    }
}
