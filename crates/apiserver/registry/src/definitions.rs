//! The table of resources follows the stored definitions: a request that names a resource defined at run time, or a document
//! about resources, first has what it may have seen of definitions installed.
//! Guarantees that this costs a comparison of pointers while no definition changes. Must never know how a definition is read.

use crate::Registry;
use pintle_resource::Resource;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};

/// Installs the resources of stored definitions, and uninstalls those of deleted ones.
pub trait DefinitionInstaller: Send + Sync {
    /// The prefix of the keys of definitions.
    fn prefix(&self) -> &str;

    /// Whether the table of resources is that of the definitions in the cache.
    fn is_current(&self) -> bool;

    /// Makes the table of resources that of the definitions that are in the cache when this is called, or of later ones.
    fn install(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

impl Registry {
    /// Sets who installs definitions. Only the first call has an effect.
    pub fn set_definition_installer(&self, installer: &Arc<impl DefinitionInstaller + 'static>) {
        let installer: Weak<dyn DefinitionInstaller> = Arc::downgrade(&(installer.clone() as Arc<_>));
        let _ = self.definitions.set(installer);
    }

    fn definition_installer(&self) -> Option<Arc<dyn DefinitionInstaller>> {
        self.definitions.get()?.upgrade()
    }

    /// Makes the table of resources that of the definitions in the cache. A request that follows a change of a definition
    /// is served by it, whether a response or a watch event reported the change.
    pub async fn install_definitions(&self) {
        if let Some(installer) = self.definition_installer().filter(|installer| !installer.is_current()) {
            installer.install().await;
        }
    }

    /// The same after a write of an object of this resource, if it is the resource of definitions.
    pub async fn install_written(&self, resource: &Resource) {
        let Some(storage) = &resource.storage else { return };
        let Some(installer) = self.definition_installer().filter(|installer| *installer.prefix() == *storage.prefix)
        else {
            return;
        };
        // Another server may have written before. If the store does not respond, what is known is installed.
        let _ = self.catch_up_main().await;
        if !installer.is_current() {
            installer.install().await;
        }
    }
}
