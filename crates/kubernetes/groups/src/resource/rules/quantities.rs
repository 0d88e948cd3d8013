//! Rules of capacities that several claims share: the policies for requests.

use pintle_schema::{Quantity, View};
use pintle_types::resource::v1::{CapacityRequestPolicy, CapacityRequestPolicyRange, Device, DeviceCapacity};
use pintle_validation::{At, FieldPath, ValidationContext};

type Policy = CapacityRequestPolicy;
type Range = CapacityRequestPolicyRange;

/// Only devices that allow multiple allocations have request policies.
pub fn capacity(capacity: At<'_, DeviceCapacity>, cx: &mut ValidationContext<'_>) {
    let Some(policy) = capacity.new.field(DeviceCapacity::REQUEST_POLICY).some() else { return };
    let path = capacity.path.to(DeviceCapacity::REQUEST_POLICY);
    if !is_shared(capacity.path, cx) {
        return cx.errors.forbidden(path, "allowMultipleAllocations must be true");
    }
    let most = capacity.new.field(DeviceCapacity::VALUE).get();
    let (values, range) = (policy.field(Policy::VALID_VALUES), policy.field(Policy::VALID_RANGE));
    let default = policy.field(Policy::DEFAULT).get();
    match (values.iter().len() > 0, range.some()) {
        (true, Some(_)) => {
            let detail = "exactly one policy can be specified, cannot specify \"validValues\" and \"validRange\" at the \
                          same time";
            cx.errors.forbidden(path, detail);
        }
        (true, None) => match default {
            None => cx.errors.required(path.to(Policy::DEFAULT), "required when validValues is defined"),
            Some(default) => {
                let values: Vec<Quantity> = values.iter().map(|value| value.get()).collect();
                choices(&default, &most, &values, &path.to(Policy::VALID_VALUES), cx);
            }
        },
        (false, Some(range)) => match default {
            None => cx.errors.required(path.to(Policy::DEFAULT), "required when validRange is defined"),
            Some(default) => within(&default, &most, range, &path.to(Policy::VALID_RANGE), cx),
        },
        (false, None) => {}
    }
}

/// Whether several claims may have the device that a capacity is of.
fn is_shared(path: &FieldPath<'_>, cx: &ValidationContext<'_>) -> bool {
    use pintle_types::resource::v1::{ResourceSlice, ResourceSliceSpec};
    let devices = cx.root::<ResourceSlice>().field(ResourceSlice::SPEC).field(ResourceSliceSpec::DEVICES);
    let path = path.to_string();
    let index = path.split_once('[').and_then(|(_, rest)| rest.split_once(']')).and_then(|(at, _)| at.parse().ok());
    let device = index.and_then(|at: usize| devices.iter().nth(at));
    device.is_some_and(|device| device.field(Device::ALLOW_MULTIPLE_ALLOCATIONS).get() == Some(true))
}

/// Choices go up, none is more than there is, and the default is one.
fn choices(
    default: &Quantity,
    most: &Quantity,
    values: &[Quantity],
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) {
    const MOST: usize = 10;
    for (at, pair) in values.windows(2).enumerate() {
        if let [before, after] = pair
            && before > after
        {
            cx.errors.invalid(path.index(at + 1), after.as_str(), "values must be sorted in ascending order");
        }
    }
    for value in values.iter().filter(|value| *value > most) {
        let detail = format!("option is larger than capacity value: {}", most.as_str());
        cx.errors.invalid(path, value.as_str(), detail);
    }
    if values.len() > MOST {
        cx.errors.too_many(path, values.len(), MOST);
    } else {
        for (at, value) in values.iter().enumerate() {
            if values.iter().take(at).any(|earlier| earlier == value) {
                cx.errors.duplicate(path.index(at), value.value().to_string());
            }
        }
    }
    if !values.contains(default) {
        cx.errors.invalid(path, default.as_str(), "default value is not valid according to the requestPolicy");
    }
}

/// The default is in the range, the range is within the capacity, and its limits are multiples of the step.
fn within(
    default: &Quantity,
    most: &Quantity,
    range: View<'_, Range>,
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) {
    let Some(min) = range.field(Range::MIN).get() else {
        return cx.errors.required(path.to(Range::MIN), "required when validRange is defined");
    };
    let mut report = |is_wrong: bool, field: &str, value: &Quantity, detail: String| {
        if is_wrong {
            cx.errors.invalid(path.child(field), value.as_str(), detail);
        }
    };
    let (least, capacity) = (Range::MIN.name(), most.as_str());
    report(min > *most, least, &min, format!("min is larger than capacity value: {capacity}"));
    report(*default < min, least, default, format!("default is less than min: {}", min.as_str()));
    let max = range.field(Range::MAX).get();
    if let Some(max) = &max {
        let field = Range::MAX.name();
        report(min > *max, field, &min, format!("min is larger than max: {}", max.as_str()));
        report(max > most, field, max, format!("max is larger than capacity value: {capacity}"));
        report(default > max, field, default, format!("default is more than max: {}", max.as_str()));
    }
    let Some(step) = range.field(Range::STEP).get() else { return };
    let field = Range::STEP.name();
    let first = min.add(&step);
    report(
        first > *most,
        field,
        &step,
        format!("one step {} is larger than capacity value: {capacity}", first.as_str()),
    );
    for value in std::iter::once(default).chain(&max) {
        let off = value.value().checked_sub(min.value()).and_then(|over| over.checked_rem(step.value()));
        let detail = format!("value is not a multiple of a given step ({}) from ({})", step.as_str(), min.as_str());
        report(off.is_some_and(|off| off != 0), field, value, detail);
    }
}
