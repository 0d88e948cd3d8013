//! The environments of Kubernetes beside rules of custom resources: policies and match conditions, mutations, device
//! selectors, authentication and authorization configuration.

use super::Environment;
use crate::library::json_patch;
use crate::schema::Decl;
use crate::types::Type;
use std::sync::Arc;

/// What a policy's expressions may use besides the request's objects.
#[derive(Clone, Copy, Debug, Default)]
pub struct Policy {
    /// `params`.
    pub has_params: bool,
    /// `authorizer`; messages have none.
    pub has_authorizer: bool,
    /// `Object{}`, `JSONPatch{}` and `jsonpatch.escapeKey`.
    pub has_patches: bool,
}

/// The type of the variable that holds a policy's own variables.
const VARIABLES: &str = "kubernetes.variables";

fn object(name: &'static str) -> Type {
    Type::object(name)
}

fn strings() -> Type {
    Type::list(Type::String)
}

fn string_map() -> Type {
    Type::map(Type::String, Type::String)
}

/// The type of a policy's variable to those that use it: scalars, lists and maps of them, `dyn` for all else.
fn simplified(ty: &Type) -> Type {
    match ty {
        Type::Any
        | Type::Bool
        | Type::Bytes
        | Type::Double
        | Type::Duration
        | Type::Int
        | Type::Null
        | Type::String
        | Type::Timestamp
        | Type::Uint => ty.clone(),
        Type::List(element) => Type::list(simplified(element)),
        Type::Map(entry) => Type::map(simplified(&entry.0), simplified(&entry.1)),
        _ => Type::Dyn,
    }
}

impl Environment {
    /// The environment of admission policies and of match conditions.
    pub fn for_policy(minor: u32, policy: Policy) -> Environment {
        let mut environment = Environment::new(minor)
            .with_schema_types()
            .with_variable("object", Type::Dyn)
            .with_variable("oldObject", Type::Dyn)
            .with_variable("request", object("kubernetes.AdmissionRequest"))
            .with_variable("namespaceObject", object("kubernetes.Namespace"))
            .with_request_types()
            .with_namespace_types();
        if policy.has_params {
            environment = environment.with_variable("params", Type::Dyn);
        }
        if policy.has_authorizer {
            environment = environment
                .with_variable("authorizer", object("kubernetes.authorization.Authorizer"))
                .with_variable("authorizer.requestResource", object("kubernetes.authorization.ResourceCheck"));
        }
        if policy.has_patches {
            environment = environment.with_mutations().with_functions(json_patch::functions());
        }
        environment
    }

    /// The environment in which stored policies are checked against the types of the objects that they match; `dyn`
    /// where a type is not known. There is no check of the request's own resource.
    pub fn for_type_check(object: Option<&Arc<Decl>>, params: Option<&Arc<Decl>>) -> Environment {
        let policy = Policy { has_params: params.is_some(), has_authorizer: false, has_patches: false };
        let mut environment = Environment::for_policy(super::CURRENT_MINOR, policy)
            .with_variable("authorizer", self::object("kubernetes.authorization.Authorizer"));
        for (name, decl) in [("object", object), ("oldObject", object), ("params", params)] {
            if let Some(decl) = decl {
                environment = environment.with_declared(name, decl);
            }
        }
        environment
    }

    /// Declares a policy's variables so far, as fields of `variables`. Types of which kube-apiserver knows nothing
    /// there are `dyn`; give what did not compile as `Type::Error`.
    pub fn with_policy_variables(self, variables: Vec<(&str, Type)>) -> Environment {
        let variables = variables.into_iter().map(|(name, ty)| (name, simplified(&ty))).collect();
        self.with_struct(VARIABLES, variables).with_variable("variables", object(VARIABLES))
    }

    /// Declares one more of a policy's variables.
    pub fn add_policy_variable(&mut self, name: &str, ty: &Type) {
        self.add_field(VARIABLES, name, simplified(ty));
    }

    fn with_request_types(self) -> Environment {
        let (kind, resource) = (object("kubernetes.GroupVersionKind"), object("kubernetes.GroupVersionResource"));
        let text = || Type::String;
        self.with_user_type()
            .with_struct("kubernetes.GroupVersionKind", vec![("group", text()), ("version", text()), ("kind", text())])
            .with_struct(
                "kubernetes.GroupVersionResource",
                vec![("group", text()), ("version", text()), ("resource", text())],
            )
            .with_struct(
                "kubernetes.AdmissionRequest",
                vec![
                    ("kind", kind.clone()),
                    ("resource", resource.clone()),
                    ("subResource", text()),
                    ("requestKind", kind),
                    ("requestResource", resource),
                    ("requestSubResource", text()),
                    ("name", text()),
                    ("namespace", text()),
                    ("operation", text()),
                    ("userInfo", object("kubernetes.UserInfo")),
                    ("dryRun", Type::Bool),
                    ("options", Type::Dyn),
                ],
            )
    }

    fn with_user_type(self) -> Environment {
        self.with_struct(
            "kubernetes.UserInfo",
            vec![
                ("username", Type::String),
                ("uid", Type::String),
                ("groups", strings()),
                ("extra", Type::map(Type::String, strings())),
            ],
        )
    }

    fn with_namespace_types(self) -> Environment {
        let text = || Type::String;
        self.with_struct("kubernetes.NamespaceSpec", vec![("finalizers", strings())])
            .with_struct(
                "kubernetes.NamespaceCondition",
                vec![
                    ("status", text()),
                    ("type", text()),
                    ("lastTransitionTime", Type::Timestamp),
                    ("message", text()),
                    ("reason", text()),
                ],
            )
            .with_struct(
                "kubernetes.NamespaceStatus",
                vec![("conditions", Type::list(object("kubernetes.NamespaceCondition"))), ("phase", text())],
            )
            .with_struct(
                "kubernetes.NamespaceMetadata",
                vec![
                    ("name", text()),
                    ("generateName", text()),
                    ("namespace", text()),
                    ("labels", string_map()),
                    ("annotations", string_map()),
                    ("UID", text()),
                    ("creationTimestamp", Type::Timestamp),
                    ("deletionGracePeriodSeconds", Type::Int),
                    ("deletionTimestamp", Type::Timestamp),
                    ("generation", Type::Int),
                    ("resourceVersion", text()),
                    ("finalizers", strings()),
                ],
            )
            .with_struct(
                "kubernetes.Namespace",
                vec![
                    ("metadata", object("kubernetes.NamespaceMetadata")),
                    ("spec", object("kubernetes.NamespaceSpec")),
                    ("status", object("kubernetes.NamespaceStatus")),
                ],
            )
    }

    /// The environment of device selectors.
    pub fn for_devices(minor: u32) -> Environment {
        // Sizes are those that the validation of devices allows.
        const MAX_VALUE_CHARS: u64 = 64;
        const MAX_DRIVER_CHARS: u64 = 63;
        const MAX_ENTRIES: u64 = 32;
        let map = |values: Decl| Decl::map(values, MAX_ENTRIES);
        let attribute = Decl::sized(Type::Any, MAX_VALUE_CHARS);
        let quantity = Decl::scalar(object("kubernetes.Quantity"));
        let fields = vec![
            ("driver", Decl::sized(Type::String, MAX_DRIVER_CHARS)),
            ("attributes", map(map(attribute))),
            ("capacity", map(map(quantity))),
            ("allowMultipleAllocations", Decl::scalar(Type::Bool)),
        ];
        let device = Arc::new(Decl::object("kubernetes.DRADevice", fields));
        Environment::new(minor).with_bind().with_sized("device", &device)
    }

    /// The environment of authentication configuration for expressions over claims.
    pub fn for_claims(minor: u32) -> Environment {
        Environment::new(minor).with_schema_types().with_variable("claims", Type::map(Type::String, Type::Any))
    }

    /// The environment of authentication configuration for rules over the user.
    pub fn for_user(minor: u32) -> Environment {
        Environment::new(minor)
            .with_schema_types()
            .with_variable("user", object("kubernetes.UserInfo"))
            .with_user_type()
    }

    /// The environment of authorization configuration.
    pub fn for_access_review(minor: u32) -> Environment {
        let text = || Type::String;
        let requirements = |name: &'static str| Type::list(object(name));
        Environment::new(minor)
            .with_schema_types()
            .with_variable("request", object("kubernetes.SubjectAccessReviewSpec"))
            .with_struct(
                "kubernetes.SelectorRequirement",
                vec![("key", text()), ("operator", text()), ("values", strings())],
            )
            .with_struct(
                "kubernetes.FieldSelectorAttributes",
                vec![("rawSelector", text()), ("requirements", requirements("kubernetes.SelectorRequirement"))],
            )
            .with_struct(
                "kubernetes.LabelSelectorAttributes",
                vec![("rawSelector", text()), ("requirements", requirements("kubernetes.SelectorRequirement"))],
            )
            .with_struct(
                "kubernetes.ResourceAttributes",
                vec![
                    ("namespace", text()),
                    ("verb", text()),
                    ("group", text()),
                    ("version", text()),
                    ("resource", text()),
                    ("subresource", text()),
                    ("name", text()),
                    ("fieldSelector", object("kubernetes.FieldSelectorAttributes")),
                    ("labelSelector", object("kubernetes.LabelSelectorAttributes")),
                ],
            )
            .with_struct("kubernetes.NonResourceAttributes", vec![("path", text()), ("verb", text())])
            .with_struct(
                "kubernetes.SubjectAccessReviewSpec",
                vec![
                    ("resourceAttributes", object("kubernetes.ResourceAttributes")),
                    ("nonResourceAttributes", object("kubernetes.NonResourceAttributes")),
                    ("user", text()),
                    ("groups", strings()),
                    ("extra", Type::map(Type::String, strings())),
                    ("uid", text()),
                ],
            )
    }
}
