//! The settings of each realm of a server.

use super::{Settings, SettingsError};
use crate::realm::{MAX_REALMS, Realm};

impl Settings {
    /// The settings of one of its realms. A journal has a folder within that of the server.
    #[must_use]
    pub fn of_realm(&self, realm: &Realm) -> Self {
        let mut of = self.clone();
        let name: &str = &realm.name;
        of.realm = name.into();
        of.allow_hosts
            .extend(realm.host.as_ref().map(ToString::to_string));
        if let Some(cluster) = &mut of.cluster {
            cluster.realm = name.into();
        }
        if let Some(journal) = &mut of.journal {
            journal.folder = journal.folder.join("realms").join(name);
        }
        of
    }

    /// The name of its realm, if the server has others, too.
    #[must_use]
    pub fn realm_label(&self) -> Option<&str> {
        (!self.realms.is_empty()).then_some(&*self.realm)
    }

    pub(super) fn check_realms(&self) -> Result<(), SettingsError> {
        for (index, realm) in self.realms.iter().enumerate() {
            let before = &self.realms[..index];
            let is_named = |other: &Realm| other.name == realm.name;
            let is_there = |other: &Realm| other.host.is_some() && other.host == realm.host;
            if *realm.name == *self.realm || before.iter().any(is_named) {
                return Err(wrong_realm(realm, "there is another realm of this name"));
            }
            if before.iter().any(is_there) {
                return Err(wrong_realm(realm, "its host is another realm's"));
            }
            if index >= MAX_REALMS {
                return Err(wrong_realm(
                    realm,
                    "a server has at most 32 realms besides the first",
                ));
            }
        }
        Ok(())
    }
}

pub(super) fn wrong_realm(realm: &Realm, why: &'static str) -> SettingsError {
    let name = realm.name.to_string();
    SettingsError::Realms { name, why }
}
