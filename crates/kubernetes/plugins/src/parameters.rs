//! Parameters of admission policies: the author of a policy or of a binding must be allowed to read the objects that it takes
//! as parameters. Guarantees that no policy returns an object to an author who cannot read it, in a message or a mutation.
//! Must never change an object. It cannot be disabled.

use crate::plugin::{Plugin, Requests};
use crate::request::Request;
use pintle_auth::{Attributes, Str, UserInfo, groups};
use pintle_registry::Phase;
use pintle_registry::status::{Result, Status};
use pintle_resource::{Found, MaybeReady, Resource, ResourceTable};
use pintle_schema::Value;
use pintle_validation::ErrorList;

const GROUP: &str = "admissionregistration.k8s.io";

const VALIDATING: &str = "validatingadmissionpolicies";
const VALIDATING_BINDINGS: &str = "validatingadmissionpolicybindings";
const MUTATING: &str = "mutatingadmissionpolicies";
const MUTATING_BINDINGS: &str = "mutatingadmissionpolicybindings";

const REQUESTS: [Requests; 4] = [
    Requests::write(GROUP, VALIDATING),
    Requests::write(GROUP, VALIDATING_BINDINGS),
    Requests::write(GROUP, MUTATING),
    Requests::write(GROUP, MUTATING_BINDINGS),
];

/// Any group, version, resource, namespace or name.
const ANY: &str = "*";

/// Checks every write of a policy or a binding that is valid, before all plugins: kube-apiserver does so while it validates.
pub static PLUGIN: Plugin = Plugin::on(&REQUESTS)
    .authorizing(Phase::Validate, |request, object| MaybeReady::wait(async move { check(&request, object).await }));

/// # Errors
/// The author may not read the parameters.
async fn check(request: &Request<'_>, object: &Value) -> Result<()> {
    if request.requester().in_group(groups::MASTERS) {
        return Ok(());
    }
    let (field, refusal) = match request.resource() {
        VALIDATING | MUTATING => ("spec.paramKind", refusal_of_policy(request, object).await),
        VALIDATING_BINDINGS => ("spec.paramRef", refusal_of_binding(request, object, VALIDATING).await),
        _ => ("spec.paramRef", refusal_of_binding(request, object, MUTATING).await),
    };
    let Some(why) = refusal else { return Ok(()) };
    let mut errors = ErrorList::default();
    errors.forbidden(field, why);
    let name = object.str_at(&["metadata", "name"]);
    Err(Status::invalid(GROUP, &request.write.target.resource.kind, name, &errors))
}

/// A kind of parameters, as a policy names it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ParamKind {
    api_version: String,
    kind: String,
}

impl ParamKind {
    fn of(policy: &Value) -> Option<ParamKind> {
        let kind = policy.at(&["spec", "paramKind"]).filter(|kind| !kind.is_null())?;
        let text = |field| kind.str_at(&[field]).to_owned();
        Some(ParamKind { api_version: text("apiVersion"), kind: text("kind") })
    }

    /// Group and version; `None` for a text that names none.
    fn group_version(&self) -> Option<(&str, &str)> {
        match self.api_version.split_once('/') {
            None => Some(("", &self.api_version)),
            Some((_, version)) if version.contains('/') => None,
            Some(both) => Some(both),
        }
    }

    /// The plural name of the resource. A client knows a kind by its name in lower case, too.
    fn resource(&self, table: &ResourceTable) -> Option<Str> {
        let is_served =
            |found: &Resource| matches!(table.find(&found.group, &found.version, &found.plural), Found::Resource(_));
        let of_kind = |kind: &str| table.of_kind(&self.api_version, kind).filter(|found| is_served(found));
        let found = of_kind(&self.kind).or_else(|| {
            let (group, version) = self.group_version()?;
            let mut served = table.served().filter(|found| found.group == group && found.version == version);
            of_kind(&served.find(|found| found.kind.to_ascii_lowercase() == self.kind)?.kind)
        });
        found.map(|found| found.plural.clone())
    }

    /// As Go prints it.
    fn shown(&self) -> String {
        format!("&{{{} {}}}", self.api_version, self.kind)
    }
}

/// What the author needs to read, as far as it is known.
struct Read {
    group: Str,
    version: Str,
    resource: Str,
}

impl Read {
    /// Objects of a kind; of any resource or group where the kind's is not known.
    fn of(kind: Option<&ParamKind>, request: &Request<'_>) -> Read {
        let any = Str::new_static(ANY);
        let known = kind.and_then(|kind| Some((kind, kind.group_version()?)));
        let Some((kind, (group, version))) = known else {
            return Read { group: any.clone(), version: any.clone(), resource: any };
        };
        let resource = kind.resource(&request.resources()).unwrap_or(any);
        Read { group: group.into(), version: version.into(), resource }
    }

    /// Why the author may not; empty without an error of the authorizer.
    async fn refusal(&self, request: &Request<'_>, verb: &str, namespace: &str, name: &str) -> Option<String> {
        let asked = Attributes {
            api_version: &self.version,
            namespace,
            name,
            ..Attributes::resource(request.requester(), verb, &self.group, &self.resource)
        };
        let decision = request.authorizer.authorize(&asked).get().await;
        (!decision.is_allowed()).then(|| decision.error().map(ToString::to_string).unwrap_or_default())
    }
}

async fn refusal_of_policy(request: &Request<'_>, policy: &Value) -> Option<String> {
    let kind = ParamKind::of(policy)?;
    if request.old().and_then(ParamKind::of).is_some_and(|old| old == kind) {
        return None;
    }
    let why = Read::of(Some(&kind), request).refusal(request, "get", ANY, ANY).await?;
    if !why.is_empty() {
        return Some(why);
    }
    let ParamKind { api_version, kind } = kind;
    Some(format!(
        "user {} must have \"get\" permission on all objects of the referenced paramKind (kind={kind}, \
         apiVersion={api_version})",
        shown(request.requester())
    ))
}

/// A binding is checked with each update: kube-apiserver never takes two references to be equal.
async fn refusal_of_binding(request: &Request<'_>, binding: &Value, policies: &str) -> Option<String> {
    let reference = binding.at(&["spec", "paramRef"]).filter(|reference| !reference.is_null())?;
    let (namespace, name) = (reference.str_at(&["namespace"]), reference.str_at(&["name"]));
    let verb = if name.is_empty() { "list" } else { "get" };
    let policy_name = binding.str_at(&["spec", "policyName"]);
    let policy = request.find_value(GROUP, policies, policy_name);
    let kind = policy.as_ref().and_then(ParamKind::of);
    let read = Read::of(kind.as_ref(), request);
    let why = read.refusal(request, verb, namespace, name).await?;
    if !why.is_empty() {
        return Some(if policies == VALIDATING { format!("failed to authorize request: {why}") } else { why });
    }
    let user = shown(request.requester());
    let (unknown, what) = match (policy, kind) {
        (None, _) => ("get policy", policy_name.to_owned()),
        (_, Some(kind)) if kind.group_version().is_none() => ("parse paramKind", kind.shown()),
        (_, Some(kind)) if read.resource == ANY => ("resolve paramKind", kind.shown()),
        _ => {
            return Some(format!(
                "user {user} does not have \"{verb}\" permission on the object referenced by paramRef"
            ));
        }
    };
    Some(format!(
        "unable to {unknown} {what} to determine minimum required permissions and user {user} does not have \"{verb}\" \
         permission for all groups, versions and resources"
    ))
}

/// A user as Go prints it.
fn shown(user: &UserInfo) -> String {
    let joined = |texts: &[Str]| texts.iter().map(Str::as_str).collect::<Vec<_>>().join(" ");
    let extra: Vec<String> = user.extra.iter().map(|(key, values)| format!("{key}:[{}]", joined(values))).collect();
    format!("&{{{} {} [{}] map[{}]}}", user.name, user.uid, joined(&user.groups), extra.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Cluster, bound_to};
    use pintle_kubernetes_auth::rbac::PolicyRule;
    use pintle_schema::value;

    /// A policy with a kind of parameters, and a binding with a reference to some.
    fn policy(param_kind: Value) -> Value {
        value!({"metadata": {"name": "p"}, "spec": {"paramKind": param_kind}})
    }

    fn binding(of: &str, param_ref: Value) -> Value {
        value!({"metadata": {"name": "b"}, "spec": {"policyName": of, "paramRef": param_ref}})
    }

    fn kind(api_version: &str, kind: &str) -> Value {
        value!({"apiVersion": api_version, "kind": kind})
    }

    /// A policy that can be stored.
    fn valid(policies: &str, name: &str, param_kind: Value) -> Value {
        let rule = value!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]});
        let mut spec = value!({"paramKind": param_kind, "matchConstraints": {"resourceRules": [rule]}});
        if policies == VALIDATING {
            spec.set_at(&["validations"], value!([{"expression": "true"}]));
        } else {
            let expression = "[JSONPatch{op: \"remove\", path: \"/spec\"}]";
            spec.set_at(&["reinvocationPolicy"], "Never");
            spec.set_at(&["mutations"], value!([{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}]));
        }
        value!({"metadata": {"name": name}, "spec": spec})
    }

    /// Alice may only do this with one resource of the core group, or one object of it.
    fn alice_may(verb: &str, resource: &str, name: &str) -> Cluster {
        let texts = |text: &str| vec![Str::from(text)];
        let rule = PolicyRule {
            verbs: texts(verb),
            api_groups: texts(""),
            resources: texts(resource),
            resource_names: if name.is_empty() { Vec::new() } else { texts(name) },
            non_resource_urls: Vec::new(),
        };
        Cluster::with_roles(bound_to("alice", vec![rule]))
    }

    const MUST: &str =
        "user &{alice  [] map[]} must have \"get\" permission on all objects of the referenced paramKind";

    #[test]
    fn policies_take_parameters_that_their_authors_may_read() {
        let secrets = || kind("v1", "Secret");
        let refused = |kind: &str, api_version: &str| format!("{MUST} (kind={kind}, apiVersion={api_version})");
        // (what alice may do, the kind before and after, refusal)
        let rows = [
            (("get", "configmaps", ""), None, Value::Null, None),
            (("get", "configmaps", ""), None, secrets(), Some(refused("Secret", "v1"))),
            (("get", "secrets", ""), None, secrets(), None),
            (("get", "secrets", ""), None, kind("v1", "secret"), None),
            (("list", "secrets", ""), None, secrets(), Some(refused("Secret", "v1"))),
            (("get", "secrets", "one"), None, secrets(), Some(refused("Secret", "v1"))),
            (("get", "secrets", ""), None, kind("v1", "Nothing"), Some(refused("Nothing", "v1"))),
            (("get", "*", ""), None, kind("v1", "Nothing"), None),
            (("get", "*", ""), None, kind("apps/v1", "Deployment"), Some(refused("Deployment", "apps/v1"))),
            (("get", "configmaps", ""), Some(secrets()), secrets(), None),
            (("get", "configmaps", ""), Some(kind("v1", "ConfigMap")), secrets(), Some(refused("Secret", "v1"))),
            (("get", "configmaps", ""), Some(Value::Null), secrets(), Some(refused("Secret", "v1"))),
        ];
        for (may, old, new, refusal) in rows {
            for (plural, kind) in [(VALIDATING, "ValidatingAdmissionPolicy"), (MUTATING, "MutatingAdmissionPolicy")] {
                let cluster = alice_may(may.0, may.1, may.2);
                let outcome = |user: &str| match &old {
                    None => cluster.create_as(GROUP, plural, policy(new.clone()), user),
                    Some(old) => cluster.update((GROUP, plural, ""), &policy(old.clone()), policy(new.clone()), user),
                };
                let expected = refusal
                    .as_ref()
                    .map(|why| format!("{kind}.{GROUP} \"p\" is invalid: spec.paramKind: Forbidden: {why}"));
                assert_eq!(outcome("alice").err().map(|status| status.message), expected, "{may:?} {new:?}");
                assert!(outcome("admin").is_ok());
            }
        }
    }

    #[tokio::test]
    async fn bindings_name_parameters_that_their_authors_may_read() {
        let named = || value!({"name": "one", "namespace": "ns"});
        let selected = || value!({"selector": {}});
        let no = |verb: &str| {
            format!(
                "user &{{alice  [] map[]}} does not have \"{verb}\" permission on the object referenced by paramRef"
            )
        };
        let cannot = |what: &str| {
            format!(
                "unable to {what} to determine minimum required permissions and user &{{alice  [] map[]}} does not have \
                 \"get\" permission for all groups, versions and resources"
            )
        };
        // (what alice may do, the policy, the reference, refusal)
        let rows = [
            (("get", "configmaps", ""), "secret", Value::Null, None),
            (("get", "configmaps", ""), "secret", named(), Some(no("get"))),
            (("get", "secrets", ""), "secret", named(), None),
            (("get", "secrets", "one"), "secret", named(), None),
            (("get", "secrets", "two"), "secret", named(), Some(no("get"))),
            (("get", "secrets", ""), "secret", selected(), Some(no("list"))),
            (("list", "secrets", ""), "secret", selected(), None),
            (("get", "secrets", ""), "missing", named(), Some(cannot("get policy missing"))),
            (("get", "secrets", ""), "nothing", named(), Some(cannot("resolve paramKind &{v1 Nothing}"))),
            (("get", "secrets", ""), "without", named(), Some(no("get"))),
        ];
        for (may, of, reference, refusal) in rows {
            let pairs = [
                (VALIDATING, VALIDATING_BINDINGS, "ValidatingAdmissionPolicyBinding"),
                (MUTATING, MUTATING_BINDINGS, "MutatingAdmissionPolicyBinding"),
            ];
            for (policies, plural, name) in pairs {
                let cluster = alice_may(may.0, may.1, may.2);
                for (policy_name, param_kind) in
                    [("secret", kind("v1", "Secret")), ("nothing", kind("v1", "Nothing")), ("without", Value::Null)]
                {
                    cluster.store(GROUP, policies, valid(policies, policy_name, param_kind)).await;
                }
                let wanted = binding(of, reference.clone());
                let outcome = cluster.create_as(GROUP, plural, wanted.clone(), "alice");
                let expected = refusal
                    .as_ref()
                    .map(|why| format!("{name}.{GROUP} \"b\" is invalid: spec.paramRef: Forbidden: {why}"));
                assert_eq!(outcome.err().map(|status| status.message), expected, "{may:?} {of} {reference:?}");
                let again = cluster.update((GROUP, plural, ""), &wanted, wanted.clone(), "alice");
                assert_eq!(again.err().map(|status| status.message), expected, "every update is checked");
                assert!(cluster.create_as(GROUP, plural, wanted, "admin").is_ok());
            }
        }
    }

    #[test]
    fn users_are_shown_as_go_prints_them() {
        let user = UserInfo {
            name: "bob".into(),
            uid: "7".into(),
            groups: vec!["a".into(), "b".into()],
            extra: vec![("k".into(), vec!["v".into(), "w".into()]), ("l".into(), Vec::new())],
        };
        assert_eq!(shown(&user), "&{bob 7 [a b] map[k:[v w] l:[]]}");
    }
}
