//! AppArmor profiles in annotations, which precede the field.
//!
//! The annotation of a container without a profile is copied to the field, with a warning.

use crate::views::annotation;
use pintle_resource::Context;
use pintle_schema::{View, ViewMut};
use pintle_types::core::v1::{
    AppArmorProfile, AppArmorProfileType, Container, OSName, Pod, PodOS, PodSecurityContext, PodSpec, SecurityContext,
};
use pintle_types::meta::v1::ObjectMeta;

/// Followed by the name of a container.
const PREFIX: &str = "container.apparmor.security.beta.kubernetes.io/";

pub(super) fn sync(mut pod: ViewMut<'_, Pod>, context: &mut Context) {
    let view = pod.view();
    let os = view.field(Pod::SPEC).field(PodSpec::OS).or_zero().field(PodOS::NAME).get();
    if os == OSName::WINDOWS || !view.field(Pod::METADATA).field(ObjectMeta::ANNOTATIONS).is_set() {
        return;
    }
    let metadata = view.field(Pod::METADATA).value().clone();
    let metadata = View::<ObjectMeta>::new(&metadata);
    let of_pod = view.field(Pod::SPEC).field(PodSpec::SECURITY_CONTEXT).or_zero();
    let of_pod = of_pod.field(PodSecurityContext::APP_ARMOR_PROFILE).get();
    // Ephemeral containers cannot be there when a pod is created.
    for list in [PodSpec::INIT_CONTAINERS, PodSpec::CONTAINERS] {
        for container in pod.by_ref().field(Pod::SPEC).field(list).iter_mut() {
            sync_container(container, metadata, of_pod.as_ref(), context);
        }
    }
}

fn sync_container(
    container: ViewMut<'_, Container>,
    metadata: View<'_, ObjectMeta>,
    of_pod: Option<&AppArmorProfile>,
    context: &mut Context,
) {
    let key = format!("{PREFIX}{}", container.view().field(Container::NAME).as_str());
    let Some(text) = annotation(metadata, &key) else { return };
    let security = container.view().field(Container::SECURITY_CONTEXT).or_zero();
    let has_own = security.field(SecurityContext::APP_ARMOR_PROFILE).is_set();
    let profile = profile_of(text);
    let mut warn = profile.is_none();
    if let Some(profile) = profile
        && !has_own
        && of_pod != Some(&profile)
    {
        let security = container.field(Container::SECURITY_CONTEXT).or_zero();
        security.field(SecurityContext::APP_ARMOR_PROFILE).set(profile);
        warn = true;
    }
    if warn {
        context.warnings.push(format!(
            "metadata.annotations[{key}]: deprecated since v1.30; use the \"appArmorProfile\" field instead"
        ));
    }
}

/// The profile an annotation names; `None` when it names none that the field could hold.
fn profile_of(text: &str) -> Option<AppArmorProfile> {
    let (kind, file) = match text {
        "unconfined" => (AppArmorProfileType::UNCONFINED, None),
        "runtime/default" => (AppArmorProfileType::RUNTIME_DEFAULT, None),
        _ => (AppArmorProfileType::LOCALHOST, Some(text.strip_prefix("localhost/")?)),
    };
    match file {
        Some(file) if file.is_empty() || file.trim() != file || file.len() > 4095 => None,
        file => Some(AppArmorProfile { r#type: kind, localhost_profile: file.map(str::to_owned) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::with_context;
    use pintle_schema::value;

    #[test]
    fn annotations_become_fields() {
        let rows = [
            ("unconfined", value!({"type": "Unconfined"}), 1),
            ("localhost/a", value!({"type": "Localhost", "localhostProfile": "a"}), 1),
            // The pod has it already.
            ("runtime/default", value!(null), 0),
            ("other", value!(null), 1),
        ];
        for (text, expected, warnings) in rows {
            let mut pod = value!({
                "metadata": {"annotations": {"container.apparmor.security.beta.kubernetes.io/a": text}},
                "spec": {
                    "containers": [{"name": "a"}],
                    "securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}}
                }
            });
            let given = with_context(|context| {
                sync(ViewMut::new(&mut pod), context);
                context.warnings.len()
            });
            let containers = View::<Pod>::new(&pod).field(Pod::SPEC).field(PodSpec::CONTAINERS).iter().next();
            let security = containers.map(|container| container.field(Container::SECURITY_CONTEXT).or_zero());
            let found = security.map(|security| security.field(SecurityContext::APP_ARMOR_PROFILE).value().clone());
            assert_eq!((found, given), (Some(expected), warnings), "{text}");
        }
    }
}
