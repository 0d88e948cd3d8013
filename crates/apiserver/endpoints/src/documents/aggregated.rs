//! The documents about this server's own and aggregated versions together. Guarantees that they are built again when
//! either changes. Must never fetch what other servers serve: `AggregatedApis` has it.

use super::set::{DocumentSet, Documents};
use crate::Api;
use pintle_discovery::Catalog;
use pintle_discovery::extension::OpenApiPart;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

/// The documents about this server's own and aggregated versions. Rebuilt when either changes.
pub struct AggregatedDiscovery {
    here: Arc<DocumentSet>,
    generation: u64,
    /// The content of discovery by group, including versions of API services that name no service.
    listed: Option<Catalog>,
    /// The content of aggregated discovery; `None` without aggregated versions.
    served: Option<Catalog>,
    /// Documents that describe more than this server alone.
    documents: Documents,
    openapi_v3: OnceLock<Vec<(String, String)>>,
}

impl AggregatedDiscovery {
    /// The documents of now: the ones given, if nothing has changed.
    pub fn current(
        api: &Api,
        here: &Arc<DocumentSet>,
        known: Option<&Arc<AggregatedDiscovery>>,
    ) -> Arc<AggregatedDiscovery> {
        let generation = api.aggregated.generation(&api.registry);
        if let Some(known) = known
            && Arc::ptr_eq(&known.here, here)
            && known.generation == generation
        {
            return known.clone();
        }
        let with = |with_service: bool| {
            let versions = api.aggregated.versions(&api.registry, &here.catalog, with_service);
            let mut catalog = (!versions.is_empty()).then(|| here.catalog.clone());
            catalog.iter_mut().for_each(|catalog| versions.iter().for_each(|other| catalog.add_aggregated(other)));
            catalog
        };
        Arc::new(AggregatedDiscovery {
            here: here.clone(),
            generation,
            listed: with(false),
            served: with(true),
            documents: Documents::default(),
            openapi_v3: OnceLock::new(),
        })
    }

    /// Everything that discovery by group lists.
    pub fn listed(&self) -> &Catalog {
        self.listed.as_ref().unwrap_or(&self.here.catalog)
    }

    /// Everything that aggregated discovery lists, and where its documents are kept.
    pub fn served(&self) -> (&Catalog, &Documents) {
        match &self.served {
            Some(catalog) => (catalog, &self.documents),
            None => (&self.here.catalog, &self.here.documents),
        }
    }

    /// What this server adds itself to documents about all servers.
    pub fn own_catalog(&self) -> Cow<'_, Catalog> {
        match &self.served {
            Some(catalog) => Cow::Owned(catalog.without_aggregated()),
            None => Cow::Borrowed(&self.here.catalog),
        }
    }

    /// Where documents are kept to which other servers add.
    pub fn documents(&self) -> &Documents {
        self.served().1
    }

    /// The OpenAPI documents of version 3 that other servers have.
    pub fn openapi_v3(&self, api: &Api) -> &[(String, String)] {
        self.openapi_v3.get_or_init(|| match &self.served {
            Some(_) => api.aggregated.openapi_v3(&api.registry, &self.here.catalog),
            None => Vec::new(),
        })
    }

    /// The additions of other servers to the document of version 2.
    pub fn openapi_v2(&self, api: &Api) -> Vec<Arc<OpenApiPart>> {
        match &self.served {
            Some(_) => api.aggregated.openapi_v2(&api.registry, &self.here.catalog),
            None => Vec::new(),
        }
    }
}
