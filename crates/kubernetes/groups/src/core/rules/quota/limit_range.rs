//! Rules of LimitRange: names of resources, and consistent amounts.

use super::entries;
use crate::core::rules::pod::resources;
use crate::core::rules::resource_names;
use crate::core::rules::volume::persistent::{quantity, units};
use crate::rules::{Repeats, items, text_in};
use pintle_schema::{Quantity, Value};
use pintle_types::core::v1::{LimitRangeItem, LimitType, ResourceName};
use pintle_validation::{At, FieldPath, ValidationContext};
use std::collections::BTreeSet;

type Item = LimitRangeItem;

/// Each type occurs once, even an absent one. A repeated type is reported with what is wrong with it.
pub fn distinct_types(limits: At<'_, Vec<Item>>, cx: &mut ValidationContext<'_>) {
    let items = items(limits.new);
    let mut repeats = Repeats::new(items.len(), |at| text_in(items, at, Item::TYPE));
    for index in 0..items.len() {
        if !repeats.is_repeated(index) {
            continue;
        }
        cx.errors.duplicate(limits.path.index(index).to(Item::TYPE), text_in(items, index, Item::TYPE));
    }
}

/// Resources have names that are known, or names with a domain.
pub fn names_of_resources(item: At<'_, Item>, cx: &mut ValidationContext<'_>) {
    let kind = item.new.field(Item::TYPE).value().as_str().unwrap_or_default();
    let of_pod = kind == LimitType::POD.as_str();
    let of_container = of_pod || kind == LimitType::CONTAINER.as_str();
    let validate = |field: &str, cx: &mut ValidationContext<'_>| {
        let path = item.path.child(field);
        for (name, _) in entries(item.new.value().get(field).unwrap_or(&Value::Null)) {
            match of_container {
                true => resource_names::resource_of_container(name, &path.key(name), cx),
                false => resource_names::resource(name, &path.key(name), cx),
            }
        }
    };
    validate(Item::MAX.name(), cx);
    validate(Item::MIN.name(), cx);
    for field in [Item::DEFAULT.name(), Item::DEFAULT_REQUEST.name()] {
        if !of_pod {
            validate(field, cx);
        }
    }
    if kind == LimitType::PERSISTENT_VOLUME_CLAIM.as_str() {
        let storage = ResourceName::STORAGE;
        let has = |amounts: &Value| amounts.get(storage.as_str()).is_some();
        if !has(item.new.field(Item::MIN).value()) && !has(item.new.field(Item::MAX).value()) {
            let detail = "either minimum or maximum storage value is required, but neither was provided";
            cx.errors.required(item.path.child("limits"), detail);
        }
    }
    validate(Item::MAX_LIMIT_REQUEST_RATIO.name(), cx);
}

/// Least, most and default amounts of each resource follow each other.
pub fn amounts(item: At<'_, Item>, cx: &mut ValidationContext<'_>) {
    let of_pod = item.new.field(Item::TYPE).value().as_str() == Some(LimitType::POD.as_str());
    let list = |field: &str| item.new.value().get(field).unwrap_or(&Value::Null);
    let (max, min) = (list(Item::MAX.name()), list(Item::MIN.name()));
    let ratios = list(Item::MAX_LIMIT_REQUEST_RATIO.name());
    let (defaults, requests) = match of_pod {
        true => (&Value::Null, &Value::Null),
        false => (list(Item::DEFAULT.name()), list(Item::DEFAULT_REQUEST.name())),
    };
    let names: BTreeSet<&str> = [max, min, defaults, requests, ratios]
        .into_iter()
        .flat_map(|list| entries(list).map(|(name, _)| name))
        .collect();
    for name in names {
        let amount = |list: &Value| list.get(name).map(quantity);
        let limits = Limits {
            name,
            path: item.path,
            max: amount(max),
            min: amount(min),
            default: amount(defaults),
            request: amount(requests),
            ratio: amount(ratios),
        };
        limits.validate(cx);
    }
}

/// The limits of one resource.
struct Limits<'a> {
    name: &'a str,
    path: &'a FieldPath<'a>,
    max: Option<Quantity>,
    min: Option<Quantity>,
    default: Option<Quantity>,
    request: Option<Quantity>,
    ratio: Option<Quantity>,
}

impl Limits<'_> {
    fn invalid(&self, field: &str, shown: &Quantity, detail: String, cx: &mut ValidationContext<'_>) {
        cx.errors.invalid(self.path.child(field).key(self.name), shown.as_str(), detail);
    }

    fn validate(&self, cx: &mut ValidationContext<'_>) {
        let (default, request) = (Item::DEFAULT.name(), Item::DEFAULT_REQUEST.name());
        let exceed = |a: &Option<Quantity>, b: &Option<Quantity>| match (a, b) {
            (Some(a), Some(b)) if a > b => Some((a.clone(), b.clone())),
            _ => None,
        };
        if let Some((min, max)) = exceed(&self.min, &self.max) {
            let detail = format!("min value {min} is greater than max value {max}");
            self.invalid(Item::MIN.name(), &min, detail, cx);
        }
        if let Some((min, wanted)) = exceed(&self.min, &self.request) {
            let detail = format!("min value {min} is greater than default request value {wanted}");
            self.invalid(request, &wanted, detail, cx);
        }
        if let Some((wanted, max)) = exceed(&self.request, &self.max) {
            let detail = format!("default request value {wanted} is greater than max value {max}");
            self.invalid(request, &wanted, detail, cx);
        }
        if let Some((wanted, limit)) = exceed(&self.request, &self.default) {
            let detail = format!("default request value {wanted} is greater than default limit value {limit}");
            self.invalid(request, &wanted, detail, cx);
        }
        if let Some((min, limit)) = exceed(&self.min, &self.default) {
            let detail = format!("min value {min} is greater than default value {limit}");
            self.invalid(default, &min, detail, cx);
        }
        if let Some((limit, max)) = exceed(&self.default, &self.max) {
            let detail = format!("default value {limit} is greater than max value {max}");
            self.invalid(default, &max, detail, cx);
        }
        if let Some(ratio) = &self.ratio {
            self.validate_ratio(ratio, cx);
        }
        if let (Some(limit), Some(wanted)) = (&self.default, &self.request)
            && !resources::may_overcommit(self.name)
            && limit != wanted
        {
            let detail = format!("default value {limit} must equal to defaultRequest value {wanted} in {}", self.name);
            self.invalid(request, wanted, detail, cx);
        }
    }

    /// A limit may be more than a request, but not by more than most and least are apart.
    fn validate_ratio(&self, ratio: &Quantity, cx: &mut ValidationContext<'_>) {
        let field = Item::MAX_LIMIT_REQUEST_RATIO.name();
        if *ratio < Quantity::from_i64(1) {
            self.invalid(field, ratio, format!("ratio {ratio} is less than 1"), cx);
        }
        let (Some(min), Some(max)) = (&self.min, &self.max) else { return };
        // Thousandths are counted where 64 bits hold them.
        let all = [ratio, max, min];
        let is_fine = all.iter().all(|amount| units(amount, 0) < i64::MAX / 1000);
        let [ratio_now, max, min] = all.map(|amount| units(amount, if is_fine { -3 } else { 0 }) as f64);
        let apart = max / min;
        if ratio_now / if is_fine { 1000.0 } else { 1.0 } > apart {
            self.invalid(field, ratio, format!("ratio {ratio} is greater than max/min = {apart:.6}"), cx);
        }
    }
}
