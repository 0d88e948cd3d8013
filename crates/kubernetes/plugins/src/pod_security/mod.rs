//! PodSecurity: the pod security standards, as selected by labels of namespaces. Guarantees that only pods are rejected, that
//! pod templates cause warnings, and that tightening a namespace warns about the pods that would be rejected. Must never
//! evaluate an update that changes no field of the standards.

mod baseline;
mod checks;
mod counts;
mod policy;
mod restricted;
mod subject;

use crate::plugin::{Plugin, Requests};
use crate::request::{Kind, Request};
use checks::Violation;
pub use counts::{Counted, PodSecurityCounts};
use pintle_registry::metadata;
use pintle_registry::status::{Result, Status};
use pintle_schema::{Value, View};
use pintle_types::apps::v1::{Deployment, DeploymentSpec};
use pintle_types::batch::v1::{CronJob, CronJobSpec, JobSpec, JobTemplateSpec};
use pintle_types::config_podsecurity::v1::{PodSecurityConfiguration, PodSecurityExemptions};
use pintle_types::core::v1::{Container, Pod, PodSpec, PodTemplate, PodTemplateSpec};
use pintle_types::meta::v1::ObjectMeta;
use policy::{Level, Policies, Policy, Version};
use std::collections::BTreeMap;
use std::sync::Arc;
use subject::{SECCOMP_OF_CONTAINER, SECCOMP_OF_POD, Subject};

pub const PLUGIN: Plugin = Plugin::on(&[
    Requests::write("", "namespaces"),
    Requests::write("", "pods"),
    Requests::update("", "pods", "ephemeralcontainers"),
    Requests::update("", "pods", "resize"),
    Requests::write("", "podtemplates"),
    Requests::write("", "replicationcontrollers"),
    Requests::write("apps", "replicasets"),
    Requests::write("apps", "deployments"),
    Requests::write("apps", "statefulsets"),
    Requests::write("apps", "daemonsets"),
    Requests::write("batch", "jobs"),
    Requests::write("batch", "cronjobs"),
])
.validating(validate);

const PODS: Kind<Pod> = Kind::new("", "pods");

/// Maximum number of pods that are checked when a namespace is tightened.
const PODS_TO_CHECK: usize = 3000;

/// The configuration for the whole cluster.
#[derive(Debug, Default)]
pub struct PodSecurity {
    defaults: Policies,
    exemptions: PodSecurityExemptions,
    /// The minor version of Kubernetes that is emulated: newer standards are not applied.
    pub emulated_minor: Option<u32>,
    /// The counters.
    pub counts: Arc<PodSecurityCounts>,
}

impl PodSecurity {
    /// # Errors
    /// A level or a version is invalid.
    pub fn new(configuration: PodSecurityConfiguration) -> std::result::Result<Self, String> {
        let defaults = Policies::from_defaults(&configuration.defaults);
        let defaults = defaults.map_err(|errors| errors.as_list().summary().to_string())?;
        Ok(PodSecurity { defaults, exemptions: configuration.exemptions, ..PodSecurity::default() })
    }

    /// The failed checks of a policy, in the version that it selects or the emulated one, whichever is older.
    fn violations(&self, policy: Policy, subject: &Subject) -> Vec<Violation> {
        let newest = self.emulated_minor.map_or(policy.version, Version);
        checks::violations(Policy { version: policy.version.min(newest), ..policy }, subject)
    }

    /// The reason of an exemption: the namespace or the user.
    fn exempts(&self, request: &Request<'_>) -> Option<&'static str> {
        let PodSecurityExemptions { usernames, namespaces, .. } = &self.exemptions;
        if namespaces.iter().any(|name| name == request.namespace()) {
            return Some("namespace");
        }
        let is_user = !usernames.is_empty() && usernames.iter().any(|name| *name == request.requester().name);
        is_user.then_some("user")
    }

    fn exempts_pod(&self, spec: View<'_, PodSpec>) -> bool {
        let class = spec.field(PodSpec::RUNTIME_CLASS_NAME).or_zero().as_str();
        !class.is_empty() && self.exemptions.runtime_classes.iter().any(|name| name == class)
    }
}

fn validate(request: &Request<'_>, object: &Value, warnings: &mut Vec<String>) -> Result<()> {
    let settings = &request.configuration.pod_security;
    if request.resource() == "namespaces" {
        return validate_namespace(request, object, warnings);
    }
    let counted = Counted::of(request);
    if let Some(by) = settings.exempts(request) {
        settings.counts.exempted(&counted);
        annotate(request, "exempt", || by.to_owned());
        return Ok(());
    }
    let (policies, errors) = Policies::from_labels(&request.namespace_labels(), &settings.defaults);
    let is_pod = request.resource() == "pods";
    let (subject, spec) = if is_pod {
        if errors.is_empty() && policies.are_privileged() {
            settings.counts.evaluated(policies.enforce, "enforce", true, &counted);
            annotate(request, "enforce-policy", || "privileged:latest".to_owned());
            return Ok(());
        }
        if request.old().is_some_and(|old| !is_significant(object, old)) {
            return Ok(());
        }
        (Subject::of_pod(object), View::<Pod>::new(object).field(Pod::SPEC))
    } else {
        if errors.is_empty() && [policies.warn, policies.audit].iter().all(|policy| policy.level == Level::Privileged) {
            return Ok(());
        }
        let Some(template) = template(request.resource(), object) else { return Ok(()) };
        (Subject::of_template(template), template.field(PodTemplateSpec::SPEC))
    };
    if settings.exempts_pod(spec) {
        settings.counts.exempted(&counted);
        annotate(request, "exempt", || "runtimeClass".to_owned());
        return Ok(());
    }
    if !errors.is_empty() {
        settings.counts.failed(&counted);
        annotate(request, "error", || format!("Failed to parse policy: {}", errors.as_list().summary()));
    }
    evaluate(request, is_pod.then_some(object), &subject, &policies, warnings)
}

/// Evaluates a pod or a template. Only a pod can be rejected.
fn evaluate(
    request: &Request<'_>,
    pod: Option<&Value>,
    subject: &Subject,
    policies: &Policies,
    warnings: &mut Vec<String>,
) -> Result<()> {
    let settings = &request.configuration.pod_security;
    let (counts, counted) = (&settings.counts, Counted::of(request));
    let mut refusal = None;
    if let Some(pod) = pod {
        annotate(request, "enforce-policy", || policies.enforce.to_string());
        let violations = settings.violations(policies.enforce, subject);
        counts.evaluated(policies.enforce, "enforce", violations.is_empty(), &counted);
        if !violations.is_empty() {
            let why = format!("violates PodSecurity \"{}\": {}", policies.enforce, details(&violations));
            refusal = Some(request.forbidden(pod, why));
        }
    }
    let violations = settings.violations(policies.audit, subject);
    if !violations.is_empty() {
        counts.evaluated(policies.audit, "audit", false, &counted);
        annotate(request, "audit-violations", || {
            format!("would violate PodSecurity \"{}\": {}", policies.audit, details(&violations))
        });
    }
    if let Some(refusal) = refusal {
        return Err(refusal);
    }
    let violations = settings.violations(policies.warn, subject);
    if !violations.is_empty() {
        counts.evaluated(policies.warn, "warn", false, &counted);
        warnings.push(format!("would violate PodSecurity \"{}\": {}", policies.warn, details(&violations)));
    }
    Ok(())
}

/// Adds an annotation to the request's audit events.
fn annotate(request: &Request<'_>, key: &str, value: impl FnOnce() -> String) {
    let context = &request.write.options.context;
    if context.audit().is_some() {
        context.annotate(format!("pod-security.kubernetes.io/{key}"), value());
    }
}

fn details(violations: &[Violation]) -> String {
    let texts = violations.iter().map(|Violation { reason, detail }| format!("{reason} ({detail})"));
    texts.collect::<Vec<_>>().join(", ")
}

/// The template of the pods that an object makes.
fn template<'a>(resource: &str, object: &'a Value) -> Option<View<'a, PodTemplateSpec>> {
    let fields: &[&str] = match resource {
        "podtemplates" => &[PodTemplate::TEMPLATE.name()],
        "cronjobs" => {
            let (job, spec) = (CronJobSpec::JOB_TEMPLATE.name(), JobTemplateSpec::SPEC.name());
            &[CronJob::SPEC.name(), job, spec, JobSpec::TEMPLATE.name()]
        }
        // All others have it where deployments do.
        _ => &[Deployment::SPEC.name(), DeploymentSpec::TEMPLATE.name()],
    };
    object.at(fields).filter(|template| !template.is_null()).map(View::new)
}

/// Whether a change of a pod may affect its evaluation.
fn is_significant(new: &Value, old: &Value) -> bool {
    let annotation = |pod, key: &str| metadata::view(pod).field(ObjectMeta::ANNOTATIONS).value().get(key).cloned();
    let is_annotated_anew = |key: &str| annotation(new, key) != annotation(old, key);
    let is_other = |new: View<'_, Container>, old: View<'_, Container>| {
        new.field(Container::IMAGE).as_str() != old.field(Container::IMAGE).as_str()
            || is_annotated_anew(&format!("{SECCOMP_OF_CONTAINER}{}", new.field(Container::NAME).as_str()))
    };
    let [new, old] = [new, old].map(|pod| View::<Pod>::new(pod).field(Pod::SPEC));
    let lists = [PodSpec::CONTAINERS, PodSpec::INIT_CONTAINERS].map(|list| (new.field(list), old.field(list)));
    is_annotated_anew(SECCOMP_OF_POD)
        || lists.into_iter().any(|(new, old)| {
            new.iter().len() != old.iter().len() || new.iter().zip(old.iter()).any(|(new, old)| is_other(new, old))
        })
        || subject::ephemeral(new).any(|new| {
            let name = new.field(Container::NAME).as_str();
            let old = subject::ephemeral(old).find(|old| old.field(Container::NAME).as_str() == name);
            old.is_none_or(|old| is_other(new, old))
        })
}

fn validate_namespace(request: &Request<'_>, object: &Value, warnings: &mut Vec<String>) -> Result<()> {
    let settings = &request.configuration.pod_security;
    let policies_of = |namespace| policies_of(namespace, &settings.defaults);
    let (new, errors) = policies_of(object);
    let old = request.old().map(policies_of);
    let known = old.as_ref().map(|(_, errors)| errors);
    let invalid = || {
        let errors = errors.as_list();
        Err(Status::invalid("", "Namespace", metadata::text(object, "name"), &errors))
    };
    let (Some((old, _)), Some(known)) = (&old, known) else {
        return if errors.is_empty() { Ok(()) } else { invalid() };
    };
    if !errors.is_empty() && errors != *known {
        return invalid();
    }
    let [enforce, before] = [new.enforce, old.enforce];
    let relaxed = enforce.version == before.version && enforce.level <= before.level;
    let name = metadata::text(object, "name");
    let is_exempt = settings.exemptions.namespaces.iter().any(|exempt| exempt == name);
    if enforce.level != Level::Privileged && !relaxed && !is_exempt {
        warn_of_pods(request, name, enforce, warnings)?;
    }
    Ok(())
}

fn policies_of(namespace: &Value, defaults: &Policies) -> (Policies, policy::Errors) {
    let labels = metadata::view(namespace).field(ObjectMeta::LABELS).value();
    Policies::from_labels(&|label| labels.get(label).and_then(Value::as_str).map(str::to_owned), defaults)
}

/// Warns about the pods of a namespace that would be rejected, grouped by their violations.
fn warn_of_pods(request: &Request<'_>, namespace: &str, policy: Policy, warnings: &mut Vec<String>) -> Result<()> {
    let (pods, count) = request.first_objects(&PODS, namespace, PODS_TO_CHECK)?;
    let mut failing = BTreeMap::<String, (String, usize)>::new();
    for pod in &pods {
        let violations = request.configuration.pod_security.violations(policy, &Subject::of_pod(pod));
        if violations.is_empty() {
            continue;
        }
        let reasons: Vec<&str> = violations.iter().map(|violation| violation.reason.as_str()).collect();
        let name = metadata::text(pod, "name").to_owned();
        // Pods are sorted by name.
        failing.entry(reasons.join(", ")).or_insert((name, 0)).1 += 1;
    }
    if count > pods.len() {
        warnings.push(format!(
            "new PodSecurity enforce level only checked against the first {} of {count} existing pods",
            pods.len()
        ));
    }
    if !failing.is_empty() {
        warnings.push(format!(
            "existing pods in namespace \"{namespace}\" violate the new PodSecurity enforce level \"{policy}\""
        ));
    }
    let mut texts: Vec<String> = failing
        .into_iter()
        .map(|(reasons, (name, count))| match count {
            1 => format!("{name}: {reasons}"),
            2 => format!("{name} (and 1 other pod): {reasons}"),
            _ => format!("{name} (and {} other pods): {reasons}", count - 1),
        })
        .collect();
    texts.sort();
    warnings.append(&mut texts);
    Ok(())
}

#[cfg(test)]
mod tests;
