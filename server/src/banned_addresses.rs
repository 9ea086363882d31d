//! Addresses that operators banned while the server runs: their open streams and waiting calls end.
//!
//! The core refuses new calls of these addresses. It does not end streams that are open and calls
//! that were admitted before; the guard ends both.

use std::collections::BTreeSet;

use chat_core::{Address, Hub, Measure, MeasureTarget};
use tokio::sync::watch;

/// The banned addresses: those of a recovered state, and each one after the core accepted its ban.
/// So the core's limit applies.
#[derive(Debug)]
pub struct BannedAddresses(watch::Sender<BTreeSet<Address>>);

impl Default for BannedAddresses {
    fn default() -> Self {
        Self(watch::channel(BTreeSet::new()).0)
    }
}

impl BannedAddresses {
    /// The addresses that are banned in this state.
    #[must_use]
    pub fn in_state(hub: &Hub) -> Self {
        let addresses = hub.kept(None).filter_map(|(target, ban)| match target {
            MeasureTarget::Address(address) if ban.measure == Measure::Ban => Some(address),
            MeasureTarget::Address(_)
            | MeasureTarget::Name { .. }
            | MeasureTarget::Handle { .. } => None,
        });
        Self(watch::channel(addresses.collect()).0)
    }

    /// Ends all that is open for this address, and all that will be opened, until it is admitted
    /// again.
    pub fn ban(&self, address: Address) {
        self.0.send_modify(|banned| {
            banned.insert(address);
        });
    }

    /// Admits an address whose ban was lifted.
    pub fn lift(&self, address: Address) {
        self.0.send_if_modified(|banned| banned.remove(&address));
    }

    /// Waits until this address is banned.
    pub fn until_banned(&self, address: Address) -> impl Future<Output = ()> + Send + 'static {
        let mut banned = self.0.subscribe();
        async move {
            let waited = banned.wait_for(|all| all.contains(&address)).await;
            // Without a service there are no operators.
            if waited.map(drop).is_err() {
                std::future::pending().await
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use chat_core::{Entry, Operate, Time};
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn addresses_banned_at_the_start_are_known() {
        let mut hub = Hub::new(chat_core::Config::default(), 1);
        let reason = || "spam".into();
        let acts = [
            Operate::BanAddress {
                address: Address(1),
                reason: reason(),
            },
            Operate::MuteAddress {
                address: Address(2),
                reason: reason(),
            },
        ];
        for act in acts {
            let operator = "root".into();
            let entry = Entry::Operate { operator, act };
            hub.handle(Time(1), &entry).expect("it is accepted");
        }
        let banned = BannedAddresses::in_state(&hub);
        assert_eq!(banned.until_banned(Address(1)).now_or_never(), Some(()));
        assert_eq!(banned.until_banned(Address(2)).now_or_never(), None);
    }

    #[tokio::test]
    async fn a_wait_for_a_ban_ends_when_the_address_is_banned() {
        let banned = BannedAddresses::default();
        let (ann, ben) = (
            banned.until_banned(Address(1)),
            banned.until_banned(Address(2)),
        );
        banned.ban(Address(1));
        assert_eq!(ann.now_or_never(), Some(()));
        assert_eq!(ben.now_or_never(), None);
        assert_eq!(banned.until_banned(Address(1)).now_or_never(), Some(()));
        banned.lift(Address(1));
        let late = banned.until_banned(Address(1));
        drop(banned);
        assert_eq!(late.now_or_never(), None);
    }
}
