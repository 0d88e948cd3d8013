//! Rules of CSIDriver, CSINode and CSIStorageCapacity.

use crate::rules::internal_form::in_full;
use crate::rules::warnings::Written;
use crate::rules::{Repeats, items, text_in};
use pintle_gates as gates;
use pintle_schema::{Quantity, Value, View, names};
use pintle_types::storage::v1::{
    CSIDriver, CSIDriverSpec, CSINode, CSINodeDriver, CSINodeSpec, CSIStorageCapacity, TokenRequest,
};
use pintle_validation::{At, FieldPath, ValidationContext, same, same_at};

type Spec = CSIDriverSpec;

/// The path that kube-apiserver reports for `attachRequired`.
const ATTACHED: &str = "attachedRequired";

/// Questions that have an answer, given or by default.
pub fn has_answers(spec: At<'_, Spec>, cx: &mut ValidationContext<'_>) {
    let answers = [
        (ATTACHED, spec.new.field(Spec::ATTACH_REQUIRED)),
        (Spec::POD_INFO_ON_MOUNT.name(), spec.new.field(Spec::POD_INFO_ON_MOUNT)),
        (Spec::STORAGE_CAPACITY.name(), spec.new.field(Spec::STORAGE_CAPACITY)),
    ];
    for (field, answer) in answers {
        if !answer.is_set() {
            cx.errors.required(spec.path.child(field), "");
        }
    }
}

/// How long a token may live.
fn lifetime(seconds: i64, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    if seconds < 600 {
        cx.errors.invalid(path, seconds, "may not specify a duration less than 10 minutes");
    }
    if seconds > 1 << 32 {
        cx.errors.invalid(path, seconds, "may not specify a duration larger than 2^32 seconds");
    }
}

/// Tokens for different audiences, known modes, and not too frequent questions.
pub fn modes_and_tokens(spec: At<'_, Spec>, cx: &mut ValidationContext<'_>) {
    let requests = spec.new.field(Spec::TOKEN_REQUESTS);
    let path = spec.path.to(Spec::TOKEN_REQUESTS);
    let list = items(requests);
    let mut audiences = Repeats::new(list.len(), |at| text_in(list, at, TokenRequest::AUDIENCE));
    for (index, request) in requests.iter().enumerate() {
        let path = path.index(index);
        if audiences.is_repeated(index) {
            cx.errors.duplicate(path.to(TokenRequest::AUDIENCE), request.field(TokenRequest::AUDIENCE).as_str());
        } else if let Some(seconds) = request.field(TokenRequest::EXPIRATION_SECONDS).some().map(View::get) {
            lifetime(seconds, &path.to(TokenRequest::EXPIRATION_SECONDS), cx);
        }
    }
    for mode in spec.new.field(Spec::VOLUME_LIFECYCLE_MODES).iter() {
        let mode = mode.value().as_str().unwrap_or_default();
        if !matches!(mode, "Persistent" | "Ephemeral") {
            let path = spec.path.to(Spec::VOLUME_LIFECYCLE_MODES);
            cx.errors.unknown_name(path, mode, &["Persistent", "Ephemeral"]);
        }
    }
    let period = spec.new.field(Spec::NODE_ALLOCATABLE_UPDATE_PERIOD_SECONDS).some().map(View::get);
    if let Some(period) = period.filter(|period| *period < 10) {
        let path = spec.path.to(Spec::NODE_ALLOCATABLE_UPDATE_PERIOD_SECONDS);
        cx.errors.invalid(path, period, "must be greater than or equal to 10 seconds");
    }
    let in_secrets = spec.new.field(Spec::SERVICE_ACCOUNT_TOKEN_IN_SECRETS);
    if in_secrets.is_set() && list.is_empty() {
        let detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
        cx.errors.invalid(spec.path.to(Spec::SERVICE_ACCOUNT_TOKEN_IN_SECRETS), in_secrets.value().clone(), detail);
    }
}

/// The volume lifecycle modes of a driver, and whether it attaches volumes, are immutable.
pub fn keeps_modes(driver: At<'_, CSIDriver>, cx: &mut ValidationContext<'_>) {
    let Some(old) = driver.old.map(|old| old.field(CSIDriver::SPEC)) else { return };
    let new = driver.new.field(CSIDriver::SPEC);
    let path = driver.path.to(CSIDriver::SPEC);
    let (attach, modes) = (Spec::ATTACH_REQUIRED.name(), Spec::VOLUME_LIFECYCLE_MODES.name());
    for (field, shown) in [(attach, ATTACHED), (modes, modes)] {
        if !same_at(new.value(), old.value(), field) {
            cx.errors.immutable(path.child(shown), new.value().get(field).cloned().unwrap_or_default());
        }
    }
}

/// A driver's ID of a node has a limited length.
pub fn node_id(id: At<'_, String>, cx: &mut ValidationContext<'_>) {
    const MAX: usize = 256;
    if id.new.as_str().len() > MAX {
        cx.errors.invalid(id.path, id.new.as_str(), "must be 256 characters or less");
    }
}

/// Keys of node labels. kube-apiserver's path is that of the driver.
pub fn topology_keys(driver: At<'_, CSINodeDriver>, cx: &mut ValidationContext<'_>) {
    let keys = items(driver.new.field(CSINodeDriver::TOPOLOGY_KEYS));
    let text = |at: usize| keys.get(at).and_then(Value::as_str).unwrap_or_default();
    let mut seen = Repeats::new(keys.len(), text);
    for index in 0..keys.len() {
        let key = text(index);
        if key.is_empty() {
            cx.errors.required(driver.path, "");
        }
        if seen.is_repeated(index) {
            cx.errors.duplicate(driver.path, key);
        }
        cx.errors.invalid_each(driver.path, &Value::from(key), names::label_key(key));
    }
}

/// A driver is there once.
pub fn distinct(drivers: At<'_, Vec<CSINodeDriver>>, cx: &mut ValidationContext<'_>) {
    let list = items(drivers.new);
    let name = |at: usize| text_in(list, at, CSINodeDriver::NAME);
    let mut names = Repeats::new(list.len(), name);
    for index in 0..list.len() {
        if names.is_repeated(index) {
            let path = drivers.path.index(index);
            cx.errors.duplicate(path.to(CSINodeDriver::NAME), name(index));
        }
    }
}

/// The entry of a driver is immutable, except for its number of allocatable volumes.
pub fn keeps_drivers(node: At<'_, CSINode>, cx: &mut ValidationContext<'_>) {
    let Some(old) = node.old.map(|old| old.field(CSINode::SPEC).field(CSINodeSpec::DRIVERS)) else { return };
    let count_is_free = cx.enabled(&gates::MUTABLE_CSI_NODE_ALLOCATABLE_COUNT);
    let spec = node.path.to(CSINode::SPEC);
    for driver in node.new.field(CSINode::SPEC).field(CSINodeSpec::DRIVERS).iter() {
        let name = driver.field(CSINodeDriver::NAME).as_str();
        let kept = |old: View<'_, CSINodeDriver>| match count_is_free {
            true => [CSINodeDriver::NODE_ID.name(), CSINodeDriver::TOPOLOGY_KEYS.name()]
                .iter()
                .all(|field| same_at(driver.value(), old.value(), field)),
            false => same(driver.value(), old.value()),
        };
        for old in old.iter().filter(|old| old.field(CSINodeDriver::NAME).as_str() == name) {
            if !kept(old) {
                let mut shown = driver.value().clone();
                if count_is_free {
                    // Mutable fields are not compared, and not shown.
                    shown.remove_at(&[CSINodeDriver::ALLOCATABLE.name()]);
                }
                let shown = in_full(View::<CSINodeDriver>::new(&shown));
                cx.errors.immutable(spec.to(CSINodeSpec::DRIVERS), shown);
            }
        }
    }
}

/// There is no less than no space.
pub fn free_space(capacity: At<'_, Option<Quantity>>, cx: &mut ValidationContext<'_>) {
    if let Some(space) = capacity.new.some().filter(|space| space.get().signum() < 0) {
        cx.errors.invalid(capacity.path, space.value().clone(), "must be greater than or equal to 0");
    }
}

/// A report is of one class in one place.
pub fn keeps_place(capacity: At<'_, CSIStorageCapacity>, cx: &mut ValidationContext<'_>) {
    let Some(old) = capacity.old else { return };
    for field in [CSIStorageCapacity::NODE_TOPOLOGY.name(), CSIStorageCapacity::STORAGE_CLASS_NAME.name()] {
        if !is_kept(capacity.new.value(), old.value(), field) {
            let shown = capacity.new.value().get(field).cloned().unwrap_or_default();
            cx.errors.immutable(capacity.path.child(field), shown);
        }
    }
}

/// Whether a field stayed; a selector of everything is another than none.
fn is_kept(new: &Value, old: &Value, field: &str) -> bool {
    let is_set = |object: &Value| object.get(field).is_some_and(|value| !value.is_null());
    is_set(new) == is_set(old) && same_at(new, old, field)
}

/// Tokens that are asked for may be printed by drivers that find them among the attributes of a volume.
pub fn warn(written: &Written<'_>, warnings: &mut Vec<String>) {
    let spec = written.view::<CSIDriver>().field(CSIDriver::SPEC);
    let requests = spec.field(Spec::TOKEN_REQUESTS);
    let old = written.old.map(|old| View::<CSIDriver>::new(old).field(CSIDriver::SPEC).field(Spec::TOKEN_REQUESTS));
    let are_new = old.is_none_or(|old| !same(old.value(), requests.value()));
    if are_new && requests.iter().len() > 0 && !spec.field(Spec::SERVICE_ACCOUNT_TOKEN_IN_SECRETS).is_set() {
        warnings.push(
            "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible \
             logging of tokens in volume attributes"
                .to_owned(),
        );
    }
}
