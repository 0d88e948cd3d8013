//! The internal form of a frobber, between its versions: each version converts to it and from it, and no two know each other.

use crate::v6::{FrobberStatus, RestartPolicy};
use crate::{v6, v7beta1};
use pintle_meta::meta::v1::{ObjectMeta, TypeMeta};

/// A frobber, independent of versions. The versions' own types are stored and sent.
#[derive(Default)]
pub struct Frobber {
    pub type_meta: TypeMeta,
    pub metadata: ObjectMeta,
    pub height: i32,
    pub width: Option<i32>,
    pub param: String,
    pub params: Vec<String>,
    pub restart_policy: RestartPolicy,
    pub replicas: Option<i32>,
    pub status: FrobberStatus,
}

impl From<v6::Frobber> for Frobber {
    fn from(v6::Frobber { type_meta, metadata, spec, status }: v6::Frobber) -> Self {
        let v6::FrobberSpec { height, width, param, params, restart_policy, replicas } = spec;
        Frobber { type_meta, metadata, height, width, param, params, restart_policy, replicas, status }
    }
}

impl From<Frobber> for v6::Frobber {
    fn from(hub: Frobber) -> Self {
        let Frobber { type_meta, metadata, height, width, param, params, restart_policy, replicas, status } = hub;
        let spec = v6::FrobberSpec { height, width, param, params, restart_policy, replicas };
        v6::Frobber { type_meta, metadata, spec, status }
    }
}

impl From<v7beta1::Frobber> for Frobber {
    /// The singular is derived from the plural.
    fn from(v7beta1::Frobber { type_meta, metadata, spec, status }: v7beta1::Frobber) -> Self {
        let v7beta1::FrobberSpec { height_in_inches: height, width, params, restart_policy, replicas } = spec;
        let param = params.first().cloned().unwrap_or_default();
        Frobber { type_meta, metadata, height, width, param, params, restart_policy, replicas, status }
    }
}

impl From<Frobber> for v7beta1::Frobber {
    /// An object stored before the plural existed has only the singular.
    fn from(hub: Frobber) -> Self {
        let Frobber { type_meta, metadata, height, width, param, params, restart_policy, replicas, status } = hub;
        let params = if params.is_empty() && !param.is_empty() { vec![param] } else { params };
        let spec = v7beta1::FrobberSpec { height_in_inches: height, width, params, restart_policy, replicas };
        v7beta1::Frobber { type_meta, metadata, spec, status }
    }
}
