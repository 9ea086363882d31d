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
pub struct Barred(watch::Sender<BTreeSet<Address>>);

impl Default for Barred {
    fn default() -> Self {
        Self(watch::channel(BTreeSet::new()).0)
    }
}

impl Barred {
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
    pub fn bar(&self, address: Address) {
        self.0.send_modify(|barred| {
            barred.insert(address);
        });
    }

    /// Admits an address whose ban was lifted.
    pub fn admit(&self, address: Address) {
        self.0.send_if_modified(|barred| barred.remove(&address));
    }

    /// Waits until this address is banned.
    pub fn of(&self, address: Address) -> impl Future<Output = ()> + Send + 'static {
        let mut barred = self.0.subscribe();
        async move {
            let waited = barred.wait_for(|all| all.contains(&address)).await;
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
    async fn addresses_that_are_banned_at_the_start_are_barred() {
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
        let barred = Barred::in_state(&hub);
        assert_eq!(barred.of(Address(1)).now_or_never(), Some(()));
        assert_eq!(barred.of(Address(2)).now_or_never(), None);
    }

    #[tokio::test]
    async fn an_address_is_told_once_it_is_banned_and_until_it_is_admitted() {
        let barred = Barred::default();
        let (ann, ben) = (barred.of(Address(1)), barred.of(Address(2)));
        barred.bar(Address(1));
        assert_eq!(ann.now_or_never(), Some(()));
        assert_eq!(ben.now_or_never(), None);
        assert_eq!(barred.of(Address(1)).now_or_never(), Some(()));
        barred.admit(Address(1));
        let late = barred.of(Address(1));
        drop(barred);
        assert_eq!(late.now_or_never(), None);
    }
}
