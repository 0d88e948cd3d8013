//! Columns of the group `flowcontrol.apiserver.k8s.io`.
//!
//! Numbers are numbers although the type of their columns is text.

use crate::printing::cells::*;
use crate::printing::{AGE, NAME, printers, string};
use pintle_schema::{Value, View};
use pintle_types::flowcontrol::v1::{
    FlowDistinguisherMethod, FlowSchema, FlowSchemaCondition, FlowSchemaSpec, FlowSchemaStatus, LimitResponse,
    LimitedPriorityLevelConfiguration, PriorityLevelConfiguration, PriorityLevelConfigurationReference,
    PriorityLevelConfigurationSpec, QueuingConfiguration,
};

printers! {
    FLOW_SCHEMA: FlowSchema |schema, now| {
        NAME => name(schema),
        string("PriorityLevel", "Priority level of its requests.") => text(
            schema.to(FlowSchema::SPEC).to(FlowSchemaSpec::PRIORITY_LEVEL_CONFIGURATION)
                .to(PriorityLevelConfigurationReference::NAME),
        ),
        string("MatchingPrecedence", "Rank among the schemas that match; the lowest wins.")
            => number(schema.to(FlowSchema::SPEC).to(FlowSchemaSpec::MATCHING_PRECEDENCE)),
        string("DistinguisherMethod", "What tells its flows apart.")
            => text_or(schema.to(FlowSchema::SPEC).to(FlowSchemaSpec::DISTINGUISHER_METHOD).to(FlowDistinguisherMethod::TYPE), NONE),
        AGE => age(schema, now),
        string("MissingPL", "Whether the priority level does not exist.") => dangling(schema),
    }
    PRIORITY_LEVEL_CONFIGURATION: PriorityLevelConfiguration |level, now| {
        NAME => name(level),
        string("Type", "Whether its requests are limited.")
            => text(level.to(PriorityLevelConfiguration::SPEC).to(PriorityLevelConfigurationSpec::TYPE)),
        string("NominalConcurrencyShares", "Its share of the server's seats.") => json_or(
            level.to(PriorityLevelConfiguration::SPEC).to(PriorityLevelConfigurationSpec::LIMITED)
                .to(LimitedPriorityLevelConfiguration::NOMINAL_CONCURRENCY_SHARES),
            NONE,
        ),
        string("Queues", "How many queues it has.")
            => queuing(level, |queuing| number(queuing.to(QueuingConfiguration::QUEUES))),
        string("HandSize", "How many queues a flow may use.")
            => queuing(level, |queuing| number(queuing.to(QueuingConfiguration::HAND_SIZE))),
        string("QueueLengthLimit", "How many requests a queue holds.")
            => queuing(level, |queuing| number(queuing.to(QueuingConfiguration::QUEUE_LENGTH_LIMIT))),
        AGE => age(level, now),
    }
}

fn dangling(schema: View<'_, FlowSchema>) -> Value {
    let conditions = schema.to(FlowSchema::STATUS).to(FlowSchemaStatus::CONDITIONS);
    match find(conditions, FlowSchemaCondition::TYPE, "Dangling") {
        Some(condition) => text(condition.to(FlowSchemaCondition::STATUS)),
        None => "?".into(),
    }
}

fn queuing(
    level: View<'_, PriorityLevelConfiguration>,
    cell: impl Fn(View<'_, QueuingConfiguration>) -> Value,
) -> Value {
    let limited = level.to(PriorityLevelConfiguration::SPEC).to(PriorityLevelConfigurationSpec::LIMITED);
    let queuing = limited.to(LimitedPriorityLevelConfiguration::LIMIT_RESPONSE).to(LimitResponse::QUEUING);
    queuing.some().map_or(NONE.into(), cell)
}
