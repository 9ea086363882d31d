//! Folds numbers and bytes into one word, with the same result on every machine, build and run.

/// Folds `word` into `state` by the finishing steps of `MurmurHash3` (Austin Appleby, public
/// domain), which spread every bit of the input over the whole word.
#[must_use]
#[inline]
pub const fn mix(state: u64, word: u64) -> u64 {
    let mut h = state.rotate_left(23) ^ word.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    h = (h ^ (h >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    h = (h ^ (h >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    h ^ (h >> 33)
}

/// Folds bytes into `state`, eight at a time.
#[must_use]
#[inline]
pub fn mix_bytes(state: u64, bytes: &[u8]) -> u64 {
    let [state] = mix_lanes([state], bytes);
    state
}

/// Folds bytes into each state, as [`mix_bytes`] does. Each step of one state waits for the step before,
/// so that several states cost little more than one.
#[must_use]
#[inline]
pub fn mix_lanes<const LANES: usize>(states: [u64; LANES], bytes: &[u8]) -> [u64; LANES] {
    let mut chunks = bytes.chunks_exact(8);
    let mut states = states;
    for chunk in &mut chunks {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        let word = u64::from_le_bytes(word);
        for state in &mut states {
            *state = mix(*state, word);
        }
    }
    let rest = chunks.remainder();
    let mut word = [0; 8];
    word[..rest.len()].copy_from_slice(rest);
    let word = u64::from_le_bytes(word);
    states.map(|state| mix(mix(state, word), bytes.len() as u64))
}
