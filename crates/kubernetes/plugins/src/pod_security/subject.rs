//! `Subject`: the fields of a pod or a template that the standards check. Guarantees that containers of all kinds are included,
//! in the order in which violations name them. Must never decide whether a field is a violation.

use pintle_registry::metadata;
use pintle_schema::{Value, View};
use pintle_types::core::v1::{Container, Pod, PodSecurityContext, PodSpec, PodTemplateSpec, SecurityContext, Volume};
use pintle_types::meta::v1::ObjectMeta;
use std::collections::BTreeMap;

/// The annotation with a pod's seccomp profile, from before there were fields.
pub const SECCOMP_OF_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
/// Begins the annotation with the profile of a container.
pub const SECCOMP_OF_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";

pub struct Subject {
    pub annotations: BTreeMap<String, String>,
    pub spec: PodSpec,
    pub context: PodSecurityContext,
    /// Init containers, containers, ephemeral containers.
    pub containers: Vec<Contained>,
    /// The names and types of volumes.
    pub volumes: Vec<(String, String)>,
}

pub struct Contained {
    pub container: Container,
    pub context: SecurityContext,
}

impl Subject {
    pub fn of_pod(pod: &Value) -> Subject {
        Subject::new(metadata::view(pod), View::<Pod>::new(pod).field(Pod::SPEC))
    }

    pub fn of_template(template: View<'_, PodTemplateSpec>) -> Subject {
        Subject::new(template.field(PodTemplateSpec::METADATA), template.field(PodTemplateSpec::SPEC))
    }

    fn new(metadata: View<'_, ObjectMeta>, spec: View<'_, PodSpec>) -> Subject {
        let containers = spec.field(PodSpec::INIT_CONTAINERS).iter().chain(spec.field(PodSpec::CONTAINERS).iter());
        let containers = containers.chain(ephemeral(spec)).map(|container| {
            let container = container.get();
            Contained { context: container.security_context.clone().unwrap_or_default(), container }
        });
        let volumes = spec.field(PodSpec::VOLUMES).iter().map(|volume| {
            let fields = volume.value().as_map().into_iter().flat_map(|fields| fields.iter());
            let source = fields.map(|(field, _)| field).find(|field| *field != Volume::NAME.name());
            (
                volume.field(Volume::NAME).as_str().to_owned(),
                source.map_or("unknown", |source| source.as_str()).to_owned(),
            )
        });
        Subject {
            annotations: metadata.field(ObjectMeta::ANNOTATIONS).get(),
            context: spec.field(PodSpec::SECURITY_CONTEXT).get().unwrap_or_default(),
            containers: containers.collect(),
            volumes: volumes.collect(),
            spec: spec.get(),
        }
    }
}

/// The ephemeral containers of a pod, whose fields are those of containers.
pub fn ephemeral<'a>(spec: View<'a, PodSpec>) -> impl Iterator<Item = View<'a, Container>> {
    spec.field(PodSpec::EPHEMERAL_CONTAINERS).iter().map(|container| View::new(container.value()))
}
