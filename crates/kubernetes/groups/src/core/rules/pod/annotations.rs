//! Rules of annotations with a meaning for pods: profiles, mirror pods, the pod deletion cost.

use super::{containers, text};
use crate::rules;
use pintle_gates as gates;
use pintle_schema::{Value, View};
use pintle_types::core::v1::{
    AppArmorProfile, Container, Pod, PodOS, PodSecurityContext, PodSpec, PodTemplateSpec, SeccompProfile,
    SecurityContext,
};
use pintle_types::meta::v1::ObjectMeta;
use pintle_validation::{At, FieldPath, ValidationContext, same};

const MIRROR: &str = "kubernetes.io/config.mirror";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";
const LOCALHOST: &str = "localhost/";

fn entries(annotations: &Value) -> impl Iterator<Item = (&str, &str)> {
    let entries = annotations.as_map().into_iter().flat_map(|map| map.iter());
    entries.map(|(key, value)| (&**key, value.as_str().unwrap_or_default()))
}

fn of(pod: View<'_, Pod>) -> &'_ Value {
    pod.field(Pod::METADATA).field(ObjectMeta::ANNOTATIONS).value()
}

/// Rules of the annotations of a pod.
pub fn of_pod(pod: At<'_, Pod>, cx: &mut ValidationContext<'_>) {
    let path = pod.path.to(Pod::METADATA);
    meanings(of(pod.new), || pod.old.map(of), pod.new.field(Pod::SPEC), &path.to(ObjectMeta::ANNOTATIONS), cx);
}

/// Rules of the annotations of a template. kube-apiserver's paths leave `metadata` out.
pub fn of_template(template: At<'_, PodTemplateSpec>, cx: &mut ValidationContext<'_>) {
    let path = template.path.to(ObjectMeta::ANNOTATIONS);
    let old = template.old.map(|old| old.field(PodTemplateSpec::METADATA).field(ObjectMeta::ANNOTATIONS).value());
    let new = template.new.field(PodTemplateSpec::METADATA).field(ObjectMeta::ANNOTATIONS).value();
    meanings(new, || old, template.new.field(PodTemplateSpec::SPEC), &path, cx);
}

/// The domain of the annotations that rules are about, and of all below it.
const DOMAIN: &str = "kubernetes.io";

fn meanings<'a>(
    annotations: &Value,
    old: impl FnOnce() -> Option<&'a Value>,
    spec: View<'_, PodSpec>,
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) {
    let domain = |key: &str| {
        let end = key.bytes().position(|byte| byte == b'/');
        end.and_then(|end| key.get(..end)).is_some_and(|domain| domain.ends_with(DOMAIN))
    };
    if !entries(annotations).any(|(key, _)| domain(key)) {
        return;
    }
    if annotations.get(MIRROR).is_some() && spec.field(PodSpec::NODE_NAME).as_str().is_empty() {
        let detail = "must set spec.nodeName if mirror pod annotation is set";
        cx.errors.invalid(path.key(MIRROR), annotations.str_at(&[MIRROR]), detail);
    }
    let cost = annotations.get(DELETION_COST);
    if let Some(cost) = cost.filter(|cost| old().and_then(|old| old.get(DELETION_COST)) != Some(cost)) {
        let text = cost.as_str().unwrap_or_default();
        let begins_right = text == "0" || text.starts_with(|first: char| matches!(first, '-' | '1'..='9'));
        if cx.enabled(&gates::POD_DELETION_COST) && !(begins_right && text.parse::<i32>().is_ok()) {
            cx.errors.invalid(path.key(DELETION_COST), text, "must be a 32bit integer");
        }
    }
    for (key, profile) in entries(annotations) {
        if key == SECCOMP_POD || key.starts_with(SECCOMP_CONTAINER) {
            seccomp_profile(profile, &path.child(key), cx);
        }
    }
    for (key, profile) in entries(annotations) {
        let Some(container) = key.strip_prefix(APP_ARMOR) else { continue };
        if !containers::has(spec, container) {
            cx.errors.invalid(path.key(key), container, "container not found");
        }
        if !matches!(profile, "" | "runtime/default" | "unconfined") && !profile.starts_with(LOCALHOST) {
            cx.errors.invalid(path.key(key), profile, format!("invalid AppArmor profile name: {profile:?}"));
        }
    }
}

fn seccomp_profile(profile: &str, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    if matches!(profile, "runtime/default" | "docker/default" | "unconfined") {
        return;
    }
    match profile.strip_prefix(LOCALHOST) {
        Some(file) => rules::has_format("relative-path", &Value::from(file), path, cx),
        None => cx.errors.invalid(path, profile, "must be a valid seccomp profile"),
    }
}

/// The annotations that an update must not add or change.
pub fn keep(pod: At<'_, Pod>, cx: &mut ValidationContext<'_>) {
    let Some(old) = pod.old.map(of) else { return };
    let new = of(pod.new);
    let path = pod.path.to(Pod::METADATA);
    let path = path.to(ObjectMeta::ANNOTATIONS);
    let spec = pod.new.field(Pod::SPEC);
    if same(new, old) {
        return meanings(new, || Some(old), spec, &path, cx);
    }
    let mut forbid = |key: &str, done: &str| {
        if key.starts_with(APP_ARMOR) {
            cx.errors.forbidden(path.key(key), format!("may not {done} AppArmor annotations"));
        } else if key == MIRROR {
            cx.errors.forbidden(path.key(key), format!("may not {done} mirror pod annotation"));
        }
    };
    for (key, value) in entries(old) {
        if new.get(key).and_then(Value::as_str) != Some(value) {
            forbid(key, "remove or update");
        }
    }
    for (key, _) in entries(new).filter(|(key, _)| old.get(key).is_none()) {
        forbid(key, "add");
    }
    meanings(new, || Some(old), spec, &path, cx);
}

/// Profiles in annotations and in fields are the same.
pub fn fit_fields(pod: At<'_, Pod>, cx: &mut ValidationContext<'_>) {
    pod.field(Pod::SPEC, |spec| both_fit(of(pod.new), spec, cx));
}

/// The same for the pods of a template.
pub fn template_fits_fields(template: At<'_, PodTemplateSpec>, cx: &mut ValidationContext<'_>) {
    let annotations = template.new.field(PodTemplateSpec::METADATA).field(ObjectMeta::ANNOTATIONS).value();
    template.field(PodTemplateSpec::SPEC, |spec| both_fit(annotations, spec, cx));
}

fn both_fit(annotations: &Value, spec: At<'_, PodSpec>, cx: &mut ValidationContext<'_>) {
    let is_told = |key: &str| key == SECCOMP_POD || key.starts_with(SECCOMP_CONTAINER) || key.starts_with(APP_ARMOR);
    if !entries(annotations).any(|(key, _)| is_told(key)) {
        return;
    }
    let context = spec.new.field(PodSpec::SECURITY_CONTEXT).or_zero();
    let field = context.field(PodSecurityContext::SECCOMP_PROFILE).some();
    if let (Some(annotation), Some(field)) = (annotations.get(SECCOMP_POD).and_then(Value::as_str), field) {
        let path = spec.path.to(PodSpec::SECURITY_CONTEXT);
        seccomp_fits(annotation, field, &path.to(PodSecurityContext::SECCOMP_PROFILE), cx);
    }
    containers::each(spec, |container, path| {
        let name = text(container.field(Container::NAME));
        let context = container.field(Container::SECURITY_CONTEXT).or_zero();
        let path = path.to(Container::SECURITY_CONTEXT);
        let annotation = annotations.get(&format!("{SECCOMP_CONTAINER}{name}")).and_then(Value::as_str);
        if let (Some(annotation), Some(field)) = (annotation, context.field(SecurityContext::SECCOMP_PROFILE).some()) {
            seccomp_fits(annotation, field, &path.to(SecurityContext::SECCOMP_PROFILE), cx);
        }
    });
    if spec.new.field(PodSpec::OS).some().is_some_and(|os| text(os.field(PodOS::NAME)) == "windows") {
        return;
    }
    let pods_profile = context.field(PodSecurityContext::APP_ARMOR_PROFILE).some();
    containers::each(spec, |container, path| {
        let name = text(container.field(Container::NAME));
        let context = container.field(Container::SECURITY_CONTEXT).or_zero();
        let path = path.to(Container::SECURITY_CONTEXT);
        let annotation = annotations.get(&format!("{APP_ARMOR}{name}")).and_then(Value::as_str);
        let field = context.field(SecurityContext::APP_ARMOR_PROFILE).some().or(pods_profile);
        if let (Some(annotation), Some(field)) = (annotation, field) {
            app_armor_fits(annotation, field, &path.to(SecurityContext::APP_ARMOR_PROFILE), cx);
        }
    });
}

/// The kind of profile that an annotation names is that of the field, and so is its file.
fn fits(
    what: &str,
    annotation: &str,
    kind: &str,
    local: Option<&str>,
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) {
    let fits = match kind {
        "Unconfined" => annotation == "unconfined",
        "RuntimeDefault" => annotation == "runtime/default" || what == "seccomp" && annotation == "docker/default",
        "Localhost" => annotation.starts_with(LOCALHOST),
        _ => return,
    };
    if !fits {
        let detail = format!("{what} type in annotation and field must match");
        cx.errors.forbidden(path.to(SeccompProfile::TYPE), detail);
    } else if annotation.strip_prefix(LOCALHOST).is_some_and(|profile| local != Some(profile)) {
        let detail = format!("{what} profile in annotation and field must match");
        cx.errors.forbidden(path.to(SeccompProfile::LOCALHOST_PROFILE), detail);
    }
}

fn seccomp_fits(
    annotation: &str,
    field: View<'_, SeccompProfile>,
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) {
    let local = field.field(SeccompProfile::LOCALHOST_PROFILE).some();
    fits("seccomp", annotation, text(field.field(SeccompProfile::TYPE)), local.map(text), path, cx);
}

fn app_armor_fits(
    annotation: &str,
    field: View<'_, AppArmorProfile>,
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) {
    let local = field.field(AppArmorProfile::LOCALHOST_PROFILE).some();
    fits("apparmor", annotation, text(field.field(AppArmorProfile::TYPE)), local.map(text), path, cx);
}
