//! Flow schemas and priority levels: how requests share the server when it is busy.
//!
//! `exempt` and `catch-all` must exist for flow control to work, so later starts restore them; the others are
//! suggestions that an administrator may take over.

use crate::Settings;
use crate::object::{BootstrapObject, Kind, metadata, status_manager, type_meta};
use crate::reconcile::{FLOW_CONTROL_AUTOUPDATE, Reconcile};
use pintle_schema::{Time, value};
use pintle_types::flowcontrol::v1::{
    ConditionStatus, ExemptPriorityLevelConfiguration, FlowDistinguisherMethod, FlowDistinguisherMethodType,
    FlowSchema, FlowSchemaCondition, FlowSchemaSpec, FlowSchemaStatus, GroupSubject, LimitResponse, LimitResponseType,
    LimitedPriorityLevelConfiguration, NonResourcePolicyRule, PolicyRulesWithSubjects, PriorityLevelConfiguration,
    PriorityLevelConfigurationReference, PriorityLevelConfigurationSpec, PriorityLevelEnablement, QueuingConfiguration,
    ResourcePolicyRule, ServiceAccountSubject, Subject, SubjectKind, UserSubject,
};
use pintle_types::meta::v1::{ManagedFieldsEntry, ObjectMeta};

const GROUP: &str = "flowcontrol.apiserver.k8s.io";
const FLOW_SCHEMA: Kind = Kind { group: GROUP, version: "v1", plural: "flowschemas", kind: "FlowSchema" };
const PRIORITY_LEVEL: Kind =
    Kind { group: GROUP, version: "v1", plural: "prioritylevelconfigurations", kind: "PriorityLevelConfiguration" };

/// The objects without which flow control does not work.
const MANDATORY: &[&str] = &["exempt", "catch-all"];

const EVERYBODY: &[Who] = &[Who::Group("system:unauthenticated"), Who::Group("system:authenticated")];

type Names = &'static [&'static str];

#[derive(Clone, Copy)]
enum Who {
    User(&'static str),
    Group(&'static str),
    /// All service accounts of a namespace.
    AccountsOf(&'static str),
}

/// Which requests a flow schema takes.
#[derive(Clone, Copy)]
enum What {
    Everything,
    /// One verb on URLs that are no resources.
    Urls(&'static str, Names),
    Resources(&'static [Resources]),
}

#[derive(Clone, Copy)]
struct Resources {
    verbs: Names,
    groups: Names,
    resources: Names,
    /// Objects of the cluster too, not only of namespaces.
    cluster: bool,
}

/// The property that divides the requests of a schema into flows.
#[derive(Clone, Copy)]
enum By {
    Nothing,
    User,
    Namespace,
}

struct Schema {
    name: &'static str,
    level: &'static str,
    precedence: i32,
    by: By,
    who: &'static [Who],
    what: What,
}

const fn schema(
    precedence: i32,
    name: &'static str,
    level: &'static str,
    by: By,
    who: &'static [Who],
    what: What,
) -> Schema {
    Schema { name, level, precedence, by, who, what }
}

/// In the order in which they are tried.
const SCHEMAS: &[Schema] = &[
    schema(1, "exempt", "exempt", By::Nothing, &[Who::Group("system:masters")], What::Everything),
    schema(2, "probes", "exempt", By::Nothing, EVERYBODY, What::Urls("get", &["/healthz", "/readyz", "/livez"])),
    schema(
        100,
        "system-leader-election",
        "leader-election",
        By::User,
        &[
            Who::User("system:kube-controller-manager"),
            Who::User("system:kube-scheduler"),
            Who::AccountsOf("kube-system"),
        ],
        What::Resources(&[Resources {
            verbs: &["get", "create", "update"],
            groups: &["coordination.k8s.io"],
            resources: &["leases"],
            cluster: false,
        }]),
    ),
    schema(
        400,
        "system-node-high",
        "node-high",
        By::User,
        &[Who::Group("system:nodes")],
        What::Resources(&[
            Resources { verbs: &["*"], groups: &[""], resources: &["nodes", "nodes/status"], cluster: true },
            Resources { verbs: &["*"], groups: &["coordination.k8s.io"], resources: &["leases"], cluster: false },
        ]),
    ),
    schema(500, "system-nodes", "system", By::User, &[Who::Group("system:nodes")], What::Everything),
    schema(
        800,
        "kube-controller-manager",
        "workload-high",
        By::Namespace,
        &[Who::User("system:kube-controller-manager")],
        What::Everything,
    ),
    schema(
        800,
        "kube-scheduler",
        "workload-high",
        By::Namespace,
        &[Who::User("system:kube-scheduler")],
        What::Everything,
    ),
    schema(
        900,
        "kube-system-service-accounts",
        "workload-high",
        By::Namespace,
        &[Who::AccountsOf("kube-system")],
        What::Everything,
    ),
    schema(
        9000,
        "service-accounts",
        "workload-low",
        By::User,
        &[Who::Group("system:serviceaccounts")],
        What::Everything,
    ),
    schema(9900, "global-default", "global-default", By::User, EVERYBODY, What::Everything),
    schema(10000, "catch-all", "catch-all", By::User, EVERYBODY, What::Everything),
];

enum Level {
    Exempt,
    /// Requests over the limit are rejected.
    Reject {
        shares: i32,
    },
    /// Requests over the limit wait in one of `queues`, dealt `hand` of them to choose from.
    Queue {
        shares: i32,
        lendable_percent: i32,
        queues: i32,
        hand: i32,
    },
}

const fn queue(shares: i32, lendable_percent: i32, queues: i32, hand: i32) -> Level {
    Level::Queue { shares, lendable_percent, queues, hand }
}

/// How many requests may wait in one queue.
const QUEUE_LENGTH: i32 = 50;

const LEVELS: &[(&str, Level)] = &[
    ("exempt", Level::Exempt),
    ("leader-election", queue(10, 0, 16, 4)),
    ("node-high", queue(40, 25, 64, 6)),
    ("system", queue(30, 33, 64, 6)),
    ("workload-high", queue(40, 50, 128, 6)),
    ("workload-low", queue(100, 90, 128, 6)),
    ("global-default", queue(20, 50, 128, 6)),
    ("catch-all", Level::Reject { shares: 5 }),
];

/// Appends levels before the schemas that refer to them.
pub(crate) fn objects(settings: &Settings, out: &mut Vec<BootstrapObject>) {
    for (name, level) in LEVELS {
        out.push(PRIORITY_LEVEL.object(
            "",
            reconcile(name),
            &PriorityLevelConfiguration {
                type_meta: type_meta(PRIORITY_LEVEL),
                metadata: managed(name),
                spec: level.spec(),
                status: Default::default(),
            },
        ));
    }
    for schema in SCHEMAS {
        out.push(FLOW_SCHEMA.object(
            "",
            reconcile(schema.name),
            &FlowSchema {
                type_meta: type_meta(FLOW_SCHEMA),
                metadata: ObjectMeta { managed_fields: vec![condition_manager(settings.now)], ..managed(schema.name) },
                spec: schema.spec(),
                status: schema.status(settings.now),
            },
        ));
    }
}

fn reconcile(name: &str) -> Reconcile {
    if MANDATORY.contains(&name) { Reconcile::MandatoryFlowControl } else { Reconcile::SuggestedFlowControl }
}

fn managed(name: &str) -> ObjectMeta {
    metadata(name, "", &[], &[(FLOW_CONTROL_AUTOUPDATE, "true")])
}

/// The manager of a new schema's condition, which the controller of these conditions would have applied.
fn condition_manager(now: Time) -> ManagedFieldsEntry {
    let condition = value!({
        ".": {}, "f:lastTransitionTime": {}, "f:message": {}, "f:reason": {}, "f:status": {}, "f:type": {}
    });
    let fields = value!({"f:conditions": {"k:{\"type\":\"Dangling\"}": (condition)}});
    status_manager("api-priority-and-fairness-config-consumer-v1", format!("{GROUP}/v1"), fields, now)
}

impl Schema {
    fn spec(&self) -> FlowSchemaSpec {
        let (resource_rules, non_resource_rules) = self.what.rules();
        let method = |r#type| Some(FlowDistinguisherMethod { r#type });
        FlowSchemaSpec {
            priority_level_configuration: PriorityLevelConfigurationReference { name: self.level.to_owned() },
            matching_precedence: self.precedence,
            distinguisher_method: match self.by {
                By::Nothing => None,
                By::User => method(FlowDistinguisherMethodType::BY_USER),
                By::Namespace => method(FlowDistinguisherMethodType::BY_NAMESPACE),
            },
            rules: vec![PolicyRulesWithSubjects {
                subjects: self.who.iter().map(|who| who.subject()).collect(),
                resource_rules,
                non_resource_rules,
            }],
        }
    }
}

impl Schema {
    /// That its level exists, which the tables guarantee.
    fn status(&self, now: Time) -> FlowSchemaStatus {
        FlowSchemaStatus {
            conditions: vec![FlowSchemaCondition {
                r#type: "Dangling".to_owned(),
                status: ConditionStatus::FALSE,
                last_transition_time: now,
                reason: "Found".to_owned(),
                message: format!(
                    "This FlowSchema references the PriorityLevelConfiguration object named {:?} and it exists",
                    self.level
                ),
            }],
        }
    }
}

impl Who {
    fn subject(self) -> Subject {
        match self {
            Who::User(name) => Subject {
                kind: SubjectKind::USER,
                user: Some(UserSubject { name: name.to_owned() }),
                ..Default::default()
            },
            Who::Group(name) => Subject {
                kind: SubjectKind::GROUP,
                group: Some(GroupSubject { name: name.to_owned() }),
                ..Default::default()
            },
            Who::AccountsOf(namespace) => Subject {
                kind: SubjectKind::SERVICE_ACCOUNT,
                service_account: Some(ServiceAccountSubject { namespace: namespace.to_owned(), name: "*".to_owned() }),
                ..Default::default()
            },
        }
    }
}

impl What {
    fn rules(self) -> (Vec<ResourcePolicyRule>, Vec<NonResourcePolicyRule>) {
        const ALL: Resources = Resources { verbs: &["*"], groups: &["*"], resources: &["*"], cluster: true };
        match self {
            What::Everything => (vec![ALL.rule()], vec![url_rule("*", &["*"])]),
            What::Urls(verb, urls) => (Vec::new(), vec![url_rule(verb, urls)]),
            What::Resources(rules) => (rules.iter().map(Resources::rule).collect(), Vec::new()),
        }
    }
}

impl Resources {
    fn rule(&self) -> ResourcePolicyRule {
        ResourcePolicyRule {
            verbs: texts(self.verbs),
            api_groups: texts(self.groups),
            resources: texts(self.resources),
            cluster_scope: self.cluster,
            namespaces: vec!["*".to_owned()],
        }
    }
}

fn url_rule(verb: &str, urls: Names) -> NonResourcePolicyRule {
    NonResourcePolicyRule { verbs: vec![verb.to_owned()], non_resource_urls: texts(urls) }
}

fn texts(names: Names) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

impl Level {
    /// The whole spec with its defaults, so that it can be compared with a stored one.
    fn spec(&self) -> PriorityLevelConfigurationSpec {
        let limited = |shares: i32, lendable_percent: i32, limit_response| PriorityLevelConfigurationSpec {
            r#type: PriorityLevelEnablement::LIMITED,
            limited: Some(LimitedPriorityLevelConfiguration {
                nominal_concurrency_shares: Some(shares),
                limit_response,
                lendable_percent: Some(lendable_percent),
                borrowing_limit_percent: None,
            }),
            exempt: None,
        };
        match *self {
            Level::Exempt => PriorityLevelConfigurationSpec {
                r#type: PriorityLevelEnablement::EXEMPT,
                limited: None,
                exempt: Some(ExemptPriorityLevelConfiguration {
                    nominal_concurrency_shares: Some(0),
                    lendable_percent: Some(0),
                }),
            },
            Level::Reject { shares } => {
                limited(shares, 0, LimitResponse { r#type: LimitResponseType::REJECT, queuing: None })
            }
            Level::Queue { shares, lendable_percent, queues, hand } => limited(
                shares,
                lendable_percent,
                LimitResponse {
                    r#type: LimitResponseType::QUEUE,
                    queuing: Some(QueuingConfiguration { queues, hand_size: hand, queue_length_limit: QUEUE_LENGTH }),
                },
            ),
        }
    }
}
