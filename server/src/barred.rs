//! Addresses that operators banned while the server runs: their open streams and waiting calls end.
//!
//! The core refuses new calls of these addresses. It does not end streams that are open and calls
//! that were admitted before; the guard ends both.

use std::collections::BTreeSet;

use chat_core::Address;
use tokio::sync::watch;

/// The banned addresses. An address is added after the core accepted its ban, so the core's limit
/// applies.
#[derive(Debug)]
pub struct Barred(watch::Sender<BTreeSet<Address>>);

impl Default for Barred {
    fn default() -> Self {
        Self(watch::channel(BTreeSet::new()).0)
    }
}

impl Barred {
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
    use futures_util::FutureExt as _;

    use super::*;

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
