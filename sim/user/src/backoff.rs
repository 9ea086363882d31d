//! The pauses of a client between attempts.

use chat_types::Span;

use sim_model::plan::Client;

/// The shortest pause. It makes time advance even if a server asks for no pause at all.
const SHORTEST: Span = Span::millis(1);

/// The pause after attempt number `attempt`, from 0: the client's timeout, multiplied by its factor
/// for each attempt, up to its longest. The first pause always equals the timeout.
pub(super) fn pause(client: &Client, attempt: u32) -> Span {
    let factor = u64::from(client.backoff.max(1)).saturating_pow(attempt);
    let longest = client.max.max(client.timeout);
    client.timeout.times(factor).min(longest).max(SHORTEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_the_longest() {
        let client = Client {
            timeout: Span::millis(500),
            backoff: 2,
            max: Span::secs(8),
            attempts: 8,
        };
        let all: Vec<u64> = (0..7).map(|n| pause(&client, n).as_millis()).collect();
        assert_eq!(all, [500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
        assert_eq!(pause(&client, u32::MAX), Span::secs(8));
    }

    #[test]
    fn a_pause_is_never_zero() {
        let client = Client {
            timeout: Span::ZERO,
            backoff: 0,
            max: Span::ZERO,
            attempts: 1,
        };
        assert_eq!(pause(&client, 3), Span::millis(1));
    }
}
