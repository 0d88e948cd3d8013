//! The `flowcontrol.apiserver.k8s.io` group: flow schemas and priority levels.
//!
//! Tables of its resources and their strategies.

pub(crate) mod columns;
pub(crate) mod defaults;
pub(crate) mod rules;

use crate::group::{TypeFunctions, version};
use crate::printing::printer;
use crate::views::{annotation, remove_annotation};
use pintle_resource::{
    Group, Part, Resource, SPEC_PATHS, STATUS_ALONE, Storage, Strategy, Subresource, Unserved, WITH_STATUS,
};
use pintle_schema::{Str, Value, ViewMut};
use pintle_types::flowcontrol::{v1, v1beta1, v1beta2, v1beta3};

/// The group.
pub fn group() -> Group {
    let functions = TypeFunctions::default().rules(&[&rules::GROUP]).defaults(defaults::RULES);
    Group {
        name: Str::new_static("flowcontrol.apiserver.k8s.io"),
        priority: Some(16100),
        built_in: true,
        versions: vec![version("v1", 21)],
        resources: functions.complete(vec![flow_schemas(), priority_level_configurations()]),
        internal: Vec::new(),
    }
}

static FLOW_SCHEMA: Strategy = Strategy { generation: Some(SPEC_PATHS), ..WITH_STATUS };

/// All metadata stays.
static STATUS: Part = Part { keeps: SPEC_PATHS, keeps_metadata: true, ..STATUS_ALONE };

static PRIORITY_LEVEL_CONFIGURATION: Strategy = Strategy { generation: Some(SPEC_PATHS), ..WITH_STATUS };

fn flow_schemas() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::FlowSchema>()),
        subresources: vec![Subresource::status::<v1::FlowSchema>(&STATUS)],
        strategy: &FLOW_SCHEMA,
        printer: printer(&columns::FLOW_SCHEMA),
        unserved: vec![
            Unserved::same::<v1beta1::FlowSchema>(),
            Unserved::same::<v1beta2::FlowSchema>(),
            Unserved::same::<v1beta3::FlowSchema>(),
        ],
        ..Resource::of::<v1::FlowSchema>()
    }
}

fn priority_level_configurations() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::PriorityLevelConfiguration>()),
        subresources: vec![Subresource::status::<v1::PriorityLevelConfiguration>(&STATUS)],
        strategy: &PRIORITY_LEVEL_CONFIGURATION,
        printer: printer(&columns::PRIORITY_LEVEL_CONFIGURATION),
        unserved: vec![
            Unserved::converted::<v1beta1::PriorityLevelConfiguration>(priority_level_from_v1beta1),
            Unserved::converted::<v1beta2::PriorityLevelConfiguration>(priority_level_from_v1beta1),
            Unserved::converted::<v1beta3::PriorityLevelConfiguration>(priority_level_from_v1beta3),
        ],
        ..Resource::of::<v1::PriorityLevelConfiguration>()
    }
}

/// The annotation for v1beta3 shares that are 0 and not absent.
const PRESERVE_ZERO: &str = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";

/// From versions that call a level's shares by another name.
pub(crate) fn priority_level_from_v1beta1(object: &mut Value) {
    type Level = v1beta1::PriorityLevelConfiguration;
    let spec = ViewMut::<Level>::new(object).field(Level::SPEC);
    let Some(limited) = spec.field(v1beta1::PriorityLevelConfigurationSpec::LIMITED).some() else { return };
    let mut shares = limited.field(v1beta1::LimitedPriorityLevelConfiguration::ASSURED_CONCURRENCY_SHARES);
    let number = shares.view().get();
    shares.by_ref().clear();
    set_shares(object, (number != 0).then_some(number));
}

/// From v1beta3, where shares of 0 may mean none.
pub(crate) fn priority_level_from_v1beta3(object: &mut Value) {
    type Level = v1beta3::PriorityLevelConfiguration;
    let mut level = ViewMut::<Level>::new(object);
    let is_meant = annotation(level.view().field(Level::METADATA), PRESERVE_ZERO).is_some();
    remove_annotation(level.by_ref().field(Level::METADATA), PRESERVE_ZERO);
    let spec = level.view().field(Level::SPEC);
    let Some(limited) = spec.field(v1beta3::PriorityLevelConfigurationSpec::LIMITED).some() else { return };
    let number = limited.field(v1beta3::LimitedPriorityLevelConfiguration::NOMINAL_CONCURRENCY_SHARES).get();
    set_shares(object, (number != 0 || is_meant).then_some(number));
}

fn set_shares(object: &mut Value, shares: Option<i32>) {
    let spec = ViewMut::<v1::PriorityLevelConfiguration>::new(object).field(v1::PriorityLevelConfiguration::SPEC);
    if let Some(limited) = spec.field(v1::PriorityLevelConfigurationSpec::LIMITED).some() {
        limited.field(v1::LimitedPriorityLevelConfiguration::NOMINAL_CONCURRENCY_SHARES).set(shares);
    }
}
