//! Addresses that operators banned while the server runs: their open streams and waiting calls end.
//!
//! The core refuses new calls of these addresses. It does not end streams that are open and calls
//! that were admitted before; the guard ends both.

use std::collections::BTreeMap;
use std::sync::Arc;

use chat_core::{Address, Hub};
use tokio::sync::watch;

/// The banned addresses with the operators' reasons, which follow the state. So the core's limit
/// applies.
#[derive(Debug, Default)]
pub struct BannedAddresses(watch::Sender<BTreeMap<Address, Arc<str>>>);

impl BannedAddresses {
    /// Has the addresses that are banned in this state. All that is open for them ends, and all that
    /// will be opened, until they are admitted again.
    pub fn follow(&self, hub: &Hub) {
        let bans = hub.banned_addresses();
        let addresses = bans
            .map(|(address, ban)| (address, Arc::clone(&ban.reason)))
            .collect();
        self.0.send_if_modified(|banned| {
            let is_new = *banned != addresses;
            *banned = addresses;
            is_new
        });
    }

    /// Waits until this address is banned, and returns the reason.
    pub fn until_banned(
        &self,
        address: Address,
    ) -> impl Future<Output = Arc<str>> + Send + 'static {
        let mut banned = self.0.subscribe();
        async move {
            let waited = banned.wait_for(|all| all.contains_key(&address)).await;
            let reason = waited.ok().and_then(|all| all.get(&address).cloned());
            match reason {
                Some(reason) => reason,
                // Without a service there are no operators.
                None => std::future::pending().await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use chat_core::{Entry, Operate, Time};
    use futures_util::FutureExt as _;

    use super::*;

    fn ban(number: u64) -> Operate {
        Operate::BanAddress {
            address: Address(number),
            reason: "spam".into(),
        }
    }

    #[tokio::test]
    async fn a_wait_for_a_ban_ends_when_the_state_has_it() {
        let mut hub = Hub::new(chat_core::Config::default(), 1);
        let mut operate = |act| {
            let operator = "root".into();
            let entry = Entry::Operate { operator, act };
            hub.handle(Time(1), &entry).expect("it is accepted");
            hub.clone()
        };
        let banned = BannedAddresses::default();
        let wait = |number| banned.until_banned(Address(number));
        let (ann, ben) = (wait(1), wait(2));
        operate(Operate::MuteAddress {
            address: Address(2),
            reason: "loud".into(),
        });
        banned.follow(&operate(ban(1)));
        assert_eq!(ann.now_or_never().as_deref(), Some("spam"));
        assert_eq!(ben.now_or_never(), None, "a mute ends nothing");
        assert_eq!(wait(1).now_or_never().as_deref(), Some("spam"));
        let address = Address(1);
        banned.follow(&operate(Operate::UnbanAddress { address }));
        assert_eq!(wait(1).now_or_never(), None);
    }
}
