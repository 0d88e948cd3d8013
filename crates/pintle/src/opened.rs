//! `Opened`: the assembly of a server. `of` lists its features in the order in which they are installed. Guarantees
//! that the store is read before a feature reads objects, and that the first objects are written before a request is
//! served, or written beside serving where a webhook or a refusal is in the way. Must never contain what a feature
//! does.

use crate::builder::Builder;
use crate::controllers::PreparedControllers;
use crate::first_writes::{FirstWrites, Work};
use crate::identity_lease::IdentityLease;
#[cfg(feature = "kubelet")]
use crate::kubelets;
use crate::serving::Serving;
use crate::start_error::StartError;
use crate::{
    admission, aggregation, bootstrap, built_in_groups, certs, controllers, flow_control, hooks, node_objects, rbac,
    service_network, storage_versions,
};
use pintle_kubernetes_auth::rbac::{Rbac, RbacSnapshot};
use pintle_registry::Registry;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

/// A server whose store has been read and whose first objects are written, and that does not serve yet.
pub struct Opened {
    generic: pintle_server::Opened,
    address: SocketAddr,
    first_writes: FirstWrites,
    /// What is written beside serving.
    left: Vec<Work>,
    identity_lease: (Arc<IdentityLease>, AbortHandle),
    controllers: PreparedControllers,
}

impl Builder {
    /// Opens the store, writes the bootstrap objects and starts to serve on the listener. What a webhook may delay, or
    /// admission refuses, is written beside serving.
    ///
    /// # Errors
    /// The store cannot be opened or written.
    pub async fn start(mut self, listener: TcpListener) -> Result<Serving, StartError> {
        self.listen(listener);
        self.open().await?.serve()
    }

    /// Opens the store and writes the bootstrap objects. Nothing is served yet. The socket of the server must be bound
    /// ([`listen`](Builder::listen)).
    ///
    /// # Errors
    /// The store cannot be opened or written, or there is no socket.
    pub async fn open(self) -> Result<Opened, StartError> {
        Opened::of(self).await
    }
}

impl Opened {
    /// Opens the store and installs the features. What decides about requests or writes is prepared before the store is
    /// read, since the first objects are written through it; what needs objects is installed afterwards.
    async fn of(builder: Builder) -> Result<Opened, StartError> {
        let Builder { mut generic, post_start_hooks: mut hooks, mut advertised, mut controllers, .. } = builder;
        let address = generic.address()?;
        let host = advertised.host.take().or_else(certs::host_name).unwrap_or_default();
        advertised.host = Some(host.clone());
        let emulated_minor = builder.runtime_config.version.emulated_minor;

        generic.settings().version = builder.runtime_config.version;
        let gates = Arc::new(generic.gate_set()?);
        built_in_groups::prepare(&mut generic, builder.runtime_config, gates.clone());
        let allocators = service_network::prepare(&mut generic, &builder.services);
        let aggregation = aggregation::prepare(&mut generic, builder.aggregation, &host, &gates);
        let roles = Arc::new(Rbac::new(RbacSnapshot::default()));
        let nodes = Arc::new(node_objects::Objects::default());
        let reload = builder.authorization.prepare(&mut generic, &roles, &nodes, &mut hooks);
        let manifests =
            builder.admission.prepare(&mut generic, &roles, &builder.webhooks, emulated_minor, gates.clone());
        #[cfg(feature = "kubelet")]
        kubelets::prepare(&mut generic);
        flow_control::prepare(&mut generic, &mut hooks);
        storage_versions::prepare(&gates, &mut hooks);
        controllers::prepare(&generic, &mut controllers, &host, &aggregation, &gates, &mut hooks);
        hooks::prepare(&generic, &hooks, builder.own_certificate_ends);

        let mut opened = generic.open().await?;
        let registry = opened.registry().clone();
        builder.webhooks.install(&opened, aggregation.routing());
        nodes.follow(&registry);
        if let Some(reload) = reload {
            reload(opened.authorizer())?;
        }
        admission::install(manifests, &opened)?;
        builder.authentication.install(&mut opened)?;
        #[cfg(feature = "kubelet")]
        kubelets::install(&opened, builder.kubelet_address_types);
        service_network::install(&opened, allocators.clone());
        if builder.is_in_memory {
            let cache = registry.cache.clone();
            opened.metrics().add_source(move |out| pintle_server::sources::memory_size(&cache, out));
        }
        let advertised = advertised.resolved(address);
        let first_objects = bootstrap::settings(&registry, builder.services.ranges, &advertised, address.port());
        let identity_lease = IdentityLease::new(registry.clone(), allocators, first_objects.clone(), advertised);
        let identity_lease = Arc::new(identity_lease);

        let first_writes = FirstWrites::new(registry.clone(), identity_lease.clone(), first_objects);
        let left = first_writes.before_serving().await?;
        left.iter().for_each(|work| work.show(opened.health(), false));
        rbac::install(&mut opened, roles);
        flow_control::install(&mut opened);
        aggregation.install(&mut opened);
        let renewal = identity_lease.install(&mut opened);
        let controllers = PreparedControllers::new(&opened, controllers, builder.webhooks.clients).await;
        // The first request finds all stored definitions served.
        registry.install_definitions().await;
        let identity_lease = (identity_lease, renewal);
        Ok(Opened { generic: opened, address, first_writes, left, identity_lease, controllers })
    }

    /// The parts that every server has. Authenticators, handlers, documents and tasks can be added to them.
    pub fn generic(&mut self) -> &mut pintle_server::Opened {
        &mut self.generic
    }

    /// The objects of the server. They can be read and written before it serves.
    pub fn registry(&self) -> &Arc<Registry> {
        self.generic.registry()
    }

    /// Starts to serve, and starts the controllers.
    ///
    /// # Errors
    /// A listener has no address, or the system has no room for another thread.
    pub fn serve(self) -> Result<Serving, StartError> {
        let mut generic = self.generic.serve()?;
        if !self.left.is_empty() {
            let api = generic.api().clone();
            generic.spawn(self.first_writes.beside_serving(self.left, api));
        }
        let controllers = self.controllers.start(generic.api())?;
        let (identity_lease, renewal) = self.identity_lease;
        Ok(Serving::new(self.address, generic, controllers, identity_lease, renewal))
    }
}
