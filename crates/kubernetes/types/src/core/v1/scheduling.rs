//! Types of `v1`: affinity, taints, tolerations and spreading.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, Time, string_type};

use crate::meta::v1::LabelSelector;

/// Describes a set of nodes as alternatives of terms.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(struct_type = atomic)]
pub struct NodeSelector {
    /// Terms of which a node has to satisfy at least one; the list may not be empty.
    #[k8s(
        proto = 1,
        always,
        required = "must have at least one node selector term",
        list_type = atomic
    )]
    pub node_selector_terms: Vec<NodeSelectorTerm>,
}

/// Requirements on a node that must hold together; a term without any requirement matches no node.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(struct_type = atomic)]
pub struct NodeSelectorTerm {
    /// Requirements on the labels of the node.
    #[k8s(
        proto = 1,
        optional,
        list_type = atomic,
        each_val(
            subfield(values)(
                when(operator = "In|NotIn")(required = "must be specified when `operator` is 'In' or 'NotIn'"),
                when(operator = "Exists|DoesNotExist")(
                    forbidden = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                ),
                when(operator = "Gt|Lt")(
                    message(required = "must be specified single value when `operator` is 'Lt' or 'Gt'")(
                        min_items = 1,
                        max_items = 1
                    )
                )
            ),
            subfield(operator)(message(invalid = "not a valid selector operator")(enum)),
            subfield(key)(format = "k8s-label-key")
        )
    )]
    pub match_expressions: Vec<NodeSelectorRequirement>,
    /// Requirements on fields of the node; only metadata.name is supported.
    #[k8s(
        proto = 2,
        optional,
        list_type = atomic,
        each_val(
            subfield(values)(
                when(operator = "In|NotIn")(
                    message(required = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector")(
                        min_items = 1,
                        max_items = 1
                    )
                )
            ),
            subfield(operator)(message(invalid = "not a valid selector operator")(enum("In", "NotIn"))),
            subfield(key)(message(invalid = "not a valid field selector key")(enum("metadata.name"))),
            subfield(values)(when(key = "metadata.name")(each_val(format = "dns1123-subdomain")))
        )
    )]
    pub match_fields: Vec<NodeSelectorRequirement>,
}

/// Compares one label or field of a node with given values.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NodeSelectorRequirement {
    /// Label key or field name to look at.
    #[k8s(proto = 1, always)]
    pub key: String,
    /// Comparison to make: In, NotIn, Exists, DoesNotExist, Gt or Lt.
    #[k8s(proto = 2, always)]
    pub operator: NodeSelectorOperator,
    /// What to compare with: one or more for In and NotIn, none for Exists and DoesNotExist, a
    /// single integer for Gt and Lt.
    #[k8s(proto = 3, optional, list_type = atomic)]
    pub values: Vec<String>,
}

string_type! {
    /// Comparison used on a node's label or field.
    #[closed]
    pub NodeSelectorOperator {
        /// The value is one of those listed.
        IN = "In",
        /// The value is none of those listed, or the key is missing.
        NOT_IN = "NotIn",
        /// The key is present.
        EXISTS = "Exists",
        /// The key is missing.
        DOES_NOT_EXIST = "DoesNotExist",
        /// The value, as an integer, is greater than the one given.
        GT = "Gt",
        /// The value, as an integer, is less than the one given.
        LT = "Lt",
    }
}

/// Limits where volumes of a storage class may be provisioned; an empty term matches everything.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(struct_type = atomic)]
pub struct TopologySelectorTerm {
    /// Topology labels that must all match.
    #[k8s(proto = 1, optional, list_type = atomic)]
    pub match_label_expressions: Vec<TopologySelectorLabelRequirement>,
}

/// Requires a topology label to have one of several values.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct TopologySelectorLabelRequirement {
    /// Topology label key, for example topology.kubernetes.io/zone.
    #[k8s(proto = 1, always, format = "k8s-label-key")]
    pub key: String,
    /// Values accepted, of which one has to match.
    #[k8s(proto = 2, always, list_type = atomic, required, unique)]
    pub values: Vec<String>,
}

/// Rules that pull a pod towards, or push it away from, certain nodes and pods.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Affinity {
    /// Rules about the nodes on which the pod may or should run.
    #[k8s(proto = 1, optional)]
    pub node_affinity: Option<NodeAffinity>,
    /// Rules for running in the same place as certain other pods.
    #[k8s(proto = 2, optional)]
    pub pod_affinity: Option<PodAffinity>,
    /// Rules for keeping away from certain other pods.
    #[k8s(proto = 3, optional)]
    pub pod_anti_affinity: Option<PodAntiAffinity>,
}

/// Rules for placing a pod near other pods.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(reserved(name = "requiredDuringSchedulingRequiredDuringExecution"))]
pub struct PodAffinity {
    /// Terms that a placement must satisfy, all of them; not checked again once the pod runs.
    #[k8s(proto = 1, optional, list_type = atomic)]
    pub required_during_scheduling_ignored_during_execution: Vec<PodAffinityTerm>,
    /// Terms that make a node more attractive by their weights without being mandatory.
    #[k8s(proto = 2, optional, list_type = atomic)]
    pub preferred_during_scheduling_ignored_during_execution: Vec<WeightedPodAffinityTerm>,
}

/// Rules for placing a pod away from other pods.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(reserved(name = "requiredDuringSchedulingRequiredDuringExecution"))]
pub struct PodAntiAffinity {
    /// Terms naming pods that must not share a topology domain with this one; not checked again
    /// once the pod runs.
    #[k8s(proto = 1, optional, list_type = atomic)]
    pub required_during_scheduling_ignored_during_execution: Vec<PodAffinityTerm>,
    /// Terms naming pods to be avoided if possible; each counts against a node by its weight.
    #[k8s(proto = 2, optional, list_type = atomic)]
    pub preferred_during_scheduling_ignored_during_execution: Vec<WeightedPodAffinityTerm>,
}

/// A pod affinity term with a weight.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct WeightedPodAffinityTerm {
    /// Points the term is worth when rating a node, from 1 to 100.
    #[k8s(proto = 1, always, format = "weight")]
    pub weight: i32,
    /// Which pods are meant, and within which topology domain.
    #[k8s(proto = 2, always)]
    pub pod_affinity_term: PodAffinityTerm,
}

/// Selects pods, and the topology domain within which they count as being in the same place.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(
    subfield(topology_key)(required = "can not be empty")
)]
pub struct PodAffinityTerm {
    /// Label query over the pods meant; absent selects no pods.
    #[k8s(proto = 1, optional)]
    pub label_selector: Option<LabelSelector>,
    /// Namespaces in which pods are looked for, in addition to those of namespaceSelector. With
    /// neither, the pod's own namespace is used.
    #[k8s(proto = 2, optional, list_type = atomic)]
    pub namespaces: Vec<String>,
    /// Node label whose equal values form one place, such as kubernetes.io/hostname; it may not be
    /// empty.
    #[k8s(proto = 3, format = "k8s-label-key", always, published = required)]
    pub topology_key: String,
    /// Label query over the namespaces to look in; an empty selector means all of them, absent adds
    /// none.
    #[k8s(proto = 4, optional)]
    pub namespace_selector: Option<LabelSelector>,
    /// Label keys whose values on the incoming pod are added to labelSelector as things to match;
    /// requires labelSelector.
    #[k8s(
        proto = 5,
        optional,
        list_type = atomic,
        when_unset(label_selector)(forbidden = "must not be specified when labelSelector is not set"),
        each_val(format = "k8s-label-key")
    )]
    pub match_label_keys: Vec<String>,
    /// Label keys whose values on the incoming pod are added to labelSelector as things to exclude;
    /// requires labelSelector.
    #[k8s(
        proto = 6,
        optional,
        list_type = atomic,
        when_unset(label_selector)(forbidden = "must not be specified when labelSelector is not set"),
        each_val(format = "k8s-label-key")
    )]
    pub mismatch_label_keys: Vec<String>,
}

/// Rules about the nodes on which a pod may or should run.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(reserved(name = "requiredDuringSchedulingRequiredDuringExecution"))]
pub struct NodeAffinity {
    /// Node selector that the chosen node must satisfy; later label changes do not remove the pod.
    #[k8s(proto = 1, optional)]
    pub required_during_scheduling_ignored_during_execution: Option<NodeSelector>,
    /// Terms that make a node more attractive by their weights without being mandatory.
    #[k8s(proto = 2, optional, list_type = atomic)]
    pub preferred_during_scheduling_ignored_during_execution: Vec<PreferredSchedulingTerm>,
}

/// A node selector term with a weight.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PreferredSchedulingTerm {
    /// Points a matching node gains, from 1 to 100.
    #[k8s(proto = 1, always, format = "weight")]
    pub weight: i32,
    /// Node selector term the weight goes with.
    #[k8s(proto = 2, always)]
    pub preference: NodeSelectorTerm,
}

/// Marks a node so that pods without a matching toleration are kept off it.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Taint {
    /// Key of the taint, with the syntax of a label key.
    #[k8s(proto = 1, always)]
    pub key: String,
    /// Value that goes with the key; absent means empty.
    #[k8s(proto = 2, optional)]
    pub value: String,
    /// What happens to pods that do not tolerate it: NoSchedule, PreferNoSchedule or NoExecute.
    #[k8s(proto = 3, always)]
    pub effect: TaintEffect,
    /// Time at which the taint was put on the node.
    #[k8s(proto = 4, optional)]
    pub time_added: Option<Time>,
}

string_type! {
    /// What a taint does to pods that do not tolerate it.
    #[closed]
    pub TaintEffect {
        /// New pods are not scheduled to the node; pods already there stay.
        NO_SCHEDULE = "NoSchedule",
        /// New pods go elsewhere if possible.
        PREFER_NO_SCHEDULE = "PreferNoSchedule",
        /// New pods are refused and pods already there are evicted.
        NO_EXECUTE = "NoExecute",
    }
}

/// Lets a pod be placed on, or stay on, nodes whose taints it matches.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(
    subfield(key)(unless(key = "")(format = "k8s-label-key")),
    subfield(operator)(
        when(key = "")(
            message(invalid = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"")(
                enum("Exists")
            )
        )
    ),
    subfield(effect)(
        when_set(toleration_seconds)(
            message(invalid = "effect must be 'NoExecute' when `tolerationSeconds` is set")(enum("NoExecute"))
        )
    ),
    subfield(value)(
        if_enabled(pintle_gates::TAINT_TOLERATION_COMPARISON_OPERATORS)(when(operator = "Lt|Gt")(format = "decimal-integer"))
    ),
    subfield(operator)(
        unless(operator = "Equal|Exists|Lt|Gt|")(enum("Equal", "Exists")),
        if_disabled(pintle_gates::TAINT_TOLERATION_COMPARISON_OPERATORS)(
            when(operator = "Lt|Gt")(
                message(detail = "supported values: \"Equal\", \"Exists\", \"Lt\", \"Gt\"")(enum("Equal", "Exists"))
            )
        )
    )
)]
pub struct Toleration {
    /// Key of the taints tolerated; absent together with operator Exists tolerates every key.
    #[k8s(proto = 1, optional)]
    pub key: String,
    /// How the taint's value is compared: Equal (the default), Exists, or Lt and Gt for integers
    /// where enabled.
    #[k8s(proto = 2, optional)]
    pub operator: TolerationOperator,
    /// Value compared with that of the taint; must be empty for Exists.
    #[k8s(proto = 3, optional)]
    pub value: String,
    /// Taint effect tolerated: NoSchedule, PreferNoSchedule or NoExecute; absent means all of them.
    #[k8s(proto = 4, optional)]
    pub effect: TaintEffect,
    /// Seconds a running pod may remain after a NoExecute taint appears. Absent means forever; 0 or
    /// less means it is evicted at once.
    #[k8s(proto = 5, optional)]
    pub toleration_seconds: Option<i64>,
}

string_type! {
    /// How a toleration is compared with a taint.
    #[closed]
    pub TolerationOperator {
        /// Any value of the taint matches.
        EXISTS = "Exists",
        /// The taint must have the same value.
        EQUAL = "Equal",
        /// The taint's integer value must be less than the toleration's.
        LT = "Lt",
        /// The taint's integer value must be greater than the toleration's.
        GT = "Gt",
    }
}

string_type! {
    /// What the scheduler does when a spread rule cannot be met.
    #[closed]
    pub UnsatisfiableConstraintAction {
        /// The pod waits.
        DO_NOT_SCHEDULE = "DoNotSchedule",
        /// The pod is placed all the same, preferring nodes that keep imbalance small.
        SCHEDULE_ANYWAY = "ScheduleAnyway",
    }
}

string_type! {
    /// Whether something is considered when counting nodes for a spread rule.
    #[closed]
    pub NodeInclusionPolicy {
        /// It is left out of account.
        IGNORE = "Ignore",
        /// Only nodes that fit it are counted.
        HONOR = "Honor",
    }
}

/// One rule for distributing matching pods over the parts of a cluster.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct TopologySpreadConstraint {
    /// Largest permitted difference between the number of matching pods in a domain and the lowest
    /// number in any domain. Must be positive.
    #[k8s(proto = 1, always, format = "positive")]
    pub max_skew: i32,
    /// Node label whose values form the domains, such as "topology.kubernetes.io/zone".
    #[k8s(proto = 2, always, required = "can not be empty")]
    pub topology_key: String,
    /// What to do if the rule cannot be met: "DoNotSchedule" makes the pod wait, "ScheduleAnyway"
    /// only prefers better nodes.
    #[k8s(proto = 3, always, enum)]
    pub when_unsatisfiable: UnsatisfiableConstraintAction,
    /// Chooses the pods of the namespace that are counted.
    #[k8s(proto = 4, optional)]
    pub label_selector: Option<LabelSelector>,
    /// Number of eligible domains below which the lowest count is taken as 0; allowed only with
    /// "DoNotSchedule". Absent means 1.
    #[k8s(proto = 5, optional, format = "positive")]
    pub min_domains: Option<i32>,
    /// "Honor" (the default) counts only nodes that fit the pod's node selector and affinity,
    /// "Ignore" counts all.
    #[k8s(proto = 6, optional, enum)]
    pub node_affinity_policy: Option<NodeInclusionPolicy>,
    /// "Honor" counts only nodes whose taints the pod tolerates, "Ignore" (the default) disregards
    /// taints.
    #[k8s(proto = 7, optional, enum)]
    pub node_taints_policy: Option<NodeInclusionPolicy>,
    /// Label keys whose values are taken from the incoming pod and added to labelSelector, so that
    /// for example only pods of one revision count.
    #[k8s(
        proto = 8,
        optional,
        list_type = atomic,
        gate = pintle_gates::MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD,
        when_unset(label_selector)(forbidden = "must not be specified when labelSelector is not set"),
        each_val(format = "k8s-label-key")
    )]
    pub match_label_keys: Vec<String>,
}
