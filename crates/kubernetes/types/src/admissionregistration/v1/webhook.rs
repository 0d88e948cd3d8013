//! Types of `admissionregistration.k8s.io/v1`: webhooks and their configurations.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, Bytes, string_type};

use super::{FailurePolicyType, MatchCondition, MatchPolicyType, RuleWithOperations};
use crate::meta::v1::{LabelSelector, ListMeta, ObjectMeta, TypeMeta};

string_type! {
    /// Effects a webhook has beyond its answer.
    #[closed]
    pub SideEffectClass {
        /// Effects are not known; dry runs get rejected.
        UNKNOWN = "Unknown",
        /// The webhook has no other effects.
        NONE = "None",
        /// The webhook has effects; dry runs get rejected.
        SOME = "Some",
        /// Effects exist but are left out in dry runs.
        NONE_ON_DRY_RUN = "NoneOnDryRun",
    }
}

/// Webhooks that may accept or reject requests but not change them.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(
    group = "admissionregistration.k8s.io",
    plural = "validatingwebhookconfigurations",
    categories("api-extensions"),
    cluster
))]
pub struct ValidatingWebhookConfiguration {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// The webhooks and the requests each one sees.
    #[k8s(
        proto = 2,
        optional,
        list_type = map,
        list_map_keys("name"),
        patch_strategy = "merge",
        patch_merge_key = "name",
        last(distinct(name))
    )]
    pub webhooks: Vec<ValidatingWebhook>,
}

/// Collection of validating webhook configurations.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ValidatingWebhookConfigurationList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The ValidatingWebhookConfiguration objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<ValidatingWebhookConfiguration>,
}

/// Webhooks that may accept, reject or change requests.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(
    group = "admissionregistration.k8s.io",
    plural = "mutatingwebhookconfigurations",
    categories("api-extensions"),
    cluster
))]
pub struct MutatingWebhookConfiguration {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// The webhooks and the requests each one sees.
    #[k8s(
        proto = 2,
        optional,
        list_type = map,
        list_map_keys("name"),
        patch_strategy = "merge",
        patch_merge_key = "name",
        last(distinct(name))
    )]
    pub webhooks: Vec<MutatingWebhook>,
}

/// Collection of mutating webhook configurations.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct MutatingWebhookConfigurationList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The MutatingWebhookConfiguration objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<MutatingWebhookConfiguration>,
}

/// One checking webhook and the requests sent to it.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ValidatingWebhook {
    /// Qualified name such as check.example.com; unique in the configuration.
    #[k8s(proto = 1, always)]
    pub name: String,
    /// How to reach the webhook.
    #[k8s(proto = 2, always)]
    pub client_config: WebhookClientConfig,
    /// Operations and resources sent to the webhook.
    #[k8s(proto = 3, list_type = atomic)]
    pub rules: Vec<RuleWithOperations>,
    /// Treatment of unreachable webhooks and unusable answers; Fail when unset.
    #[k8s(proto = 4, optional, default = "Fail", enum)]
    pub failure_policy: Option<FailurePolicyType>,
    /// Whether equivalent resources in other versions count; Equivalent when unset.
    #[k8s(proto = 9, optional, default = "Equivalent", enum)]
    pub match_policy: Option<MatchPolicyType>,
    /// Only objects from namespaces with matching labels are sent.
    #[k8s(proto = 5, optional, default = {})]
    pub namespace_selector: Option<LabelSelector>,
    /// Only objects with matching labels are sent; users can evade this.
    #[k8s(proto = 10, optional, default = {})]
    pub object_selector: Option<LabelSelector>,
    /// Declares effects besides the answer; only None or NoneOnDryRun are accepted.
    #[k8s(proto = 6, always, required = "must specify one of None, NoneOnDryRun", enum("None", "NoneOnDryRun"))]
    pub side_effects: Option<SideEffectClass>,
    /// Seconds to wait for an answer, 1 to 30; 10 when unset.
    #[k8s(
        proto = 7,
        optional,
        default = 10,
        message(invalid = "the timeout value must be between 1 and 30 seconds")(minimum = 1, maximum = 30)
    )]
    pub timeout_seconds: Option<i32>,
    /// AdmissionReview versions the webhook understands, most wanted first.
    #[k8s(proto = 8, always, list_type = atomic)]
    pub admission_review_versions: Vec<String>,
    /// CEL conditions a request must meet before being sent; up to 64.
    #[k8s(
        proto = 11,
        optional,
        list_type = map,
        list_map_keys("name"),
        patch_strategy = "merge",
        patch_merge_key = "name",
        max_items = 64, last(distinct(name))
    )]
    pub match_conditions: Vec<MatchCondition>,
}

/// One changing webhook and the requests sent to it.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct MutatingWebhook {
    /// Qualified name such as inject.example.com; unique in the configuration.
    #[k8s(proto = 1, always)]
    pub name: String,
    /// How to reach the webhook.
    #[k8s(proto = 2, always)]
    pub client_config: WebhookClientConfig,
    /// Operations and resources sent to the webhook.
    #[k8s(proto = 3, list_type = atomic)]
    pub rules: Vec<RuleWithOperations>,
    /// Treatment of unreachable webhooks and unusable answers; Fail when unset.
    #[k8s(proto = 4, optional, default = "Fail", enum)]
    pub failure_policy: Option<FailurePolicyType>,
    /// Whether equivalent resources in other versions count; Equivalent when unset.
    #[k8s(proto = 9, optional, default = "Equivalent", enum)]
    pub match_policy: Option<MatchPolicyType>,
    /// Only objects from namespaces with matching labels are sent.
    #[k8s(proto = 5, optional, default = {})]
    pub namespace_selector: Option<LabelSelector>,
    /// Only objects with matching labels are sent; users can evade this.
    #[k8s(proto = 11, optional, default = {})]
    pub object_selector: Option<LabelSelector>,
    /// Declares effects besides the answer; only None or NoneOnDryRun are accepted.
    #[k8s(proto = 6, always, required = "must specify one of None, NoneOnDryRun", enum("None", "NoneOnDryRun"))]
    pub side_effects: Option<SideEffectClass>,
    /// Seconds to wait for an answer, 1 to 30; 10 when unset.
    #[k8s(
        proto = 7,
        optional,
        default = 10,
        message(invalid = "the timeout value must be between 1 and 30 seconds")(minimum = 1, maximum = 30)
    )]
    pub timeout_seconds: Option<i32>,
    /// AdmissionReview versions the webhook understands, most wanted first.
    #[k8s(proto = 8, always, list_type = atomic)]
    pub admission_review_versions: Vec<String>,
    /// Whether it is called again after later changes; Never when unset.
    #[k8s(proto = 10, optional, default = "Never", enum)]
    pub reinvocation_policy: Option<ReinvocationPolicyType>,
    /// CEL conditions a request must meet before being sent; up to 64.
    #[k8s(
        proto = 12,
        optional,
        list_type = map,
        list_map_keys("name"),
        patch_strategy = "merge",
        patch_merge_key = "name",
        max_items = 64, last(distinct(name))
    )]
    pub match_conditions: Vec<MatchCondition>,
}

string_type! {
    /// Whether a mutation step may run more than once per request.
    #[closed]
    pub ReinvocationPolicyType {
        /// At most one call per request.
        NEVER = "Never",
        /// Another call when others changed the object since.
        IF_NEEDED = "IfNeeded",
    }
}

/// Address and trust settings of a webhook; give a URL or a service.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct WebhookClientConfig {
    /// HTTPS address of the webhook, scheme://host:port/path.
    #[k8s(proto = 3, optional)]
    pub url: Option<String>,
    /// Service in the cluster behind which the webhook runs.
    #[k8s(proto = 1, optional)]
    pub service: Option<ServiceReference>,
    /// PEM certificates trusted for the webhook; system roots when unset.
    #[k8s(proto = 2, optional)]
    pub ca_bundle: Bytes,
}

/// Service behind which a webhook runs.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ServiceReference {
    /// Namespace of the service.
    #[k8s(proto = 1, always)]
    pub namespace: String,
    /// Name of the service.
    #[k8s(proto = 2, always)]
    pub name: String,
    /// URL path used in calls.
    #[k8s(proto = 3, optional)]
    pub path: Option<String>,
    /// Port of the service; 443 when unset.
    #[k8s(proto = 4, optional, default = 443)]
    pub port: Option<i32>,
}
