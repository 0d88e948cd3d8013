//! The order of errors: passes, fields, items and phases, whatever the order is in which rules find them; and what is not
//! looked into.

mod common;

use pintle_schema::{ApiType, Value, value};
use pintle_validation::{
    At, CustomRule, FieldOrder, FieldPath, Group, KindRules, Pass, Replacement, ShownName, Skip, ValidationContext,
    at_field, at_type, field_order, pass, replace, shown_name, skip, skip_inside,
};

/// An item.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Item {
    /// Its name.
    #[k8s(proto = 1, required)]
    name: String,
    /// Its size.
    #[k8s(proto = 2, optional, minimum = 0)]
    size: i32,
    /// Its weight.
    #[k8s(proto = 3, optional, minimum = 0)]
    weight: i32,
}

/// What several types have.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Common {
    /// A number.
    #[k8s(proto = 1, optional, minimum = 0)]
    low: i32,
    /// Another.
    #[k8s(proto = 2, optional, minimum = 0)]
    high: i32,
}

/// The whole.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Whole {
    /// Items.
    #[k8s(proto = 1, optional, list_type = map, list_map_keys("name"), distinct(size), last(distinct(weight)))]
    items: Vec<Item>,
    /// Items whose fields have another order.
    #[k8s(proto = 2, optional, list_type = map, list_map_keys("name"))]
    others: Vec<Item>,
    /// An item that is not always looked into.
    #[k8s(proto = 3, optional, last(subfield(weight)(maximum = 5)))]
    item: Option<Item>,
    /// A number that is validated first.
    #[k8s(proto = 4, optional, minimum = 0)]
    count: i32,
    /// Fields of another type.
    #[k8s(inline)]
    common: Common,
    /// A number that is validated last.
    #[k8s(proto = 5, optional, minimum = 0)]
    end: i32,
    /// What handwritten rules find.
    #[k8s(proto = 6, optional, list_type = atomic)]
    ask: Vec<String>,
}

static GROUP: Group = Group {
    kinds: &[KindRules {
        create: &[pass!(Whole, first: is_possible), Pass::Rules, pass!(Whole, afterwards)],
        update: &[Pass::Rules],
        parts: &[],
        of: Whole::schema,
    }],
    custom_rules: RULES,
    orders: &[field_order!(Whole: [COUNT]), field_order!(Item in Whole::OTHERS: [WEIGHT, SIZE])] as &[FieldOrder],
    skips: &[skip_inside!(Whole::ITEM, is_small), skip!(Whole::END, is_small)] as &[Skip],
    replacements: &[replace!(Whole::OTHERS, doubled)] as &[Replacement],
    names: &[shown_name!(Common::HIGH = "top")] as &[ShownName],
};

static RULES: &[CustomRule] = &[
    at_type!(Whole, of_items, phase = Inside(3)),
    at_type!(Whole, before_others, phase = BeforeField(&[Whole::OTHERS.name(), Item::SIZE.name()])),
    at_type!(Whole, before_high, phase = BeforeField(&[Common::HIGH.name()])),
    at_field!(Whole::ITEMS, before_item, phase = BeforePart(1)),
    at_field!(Whole::ITEMS, of_list, phase = After),
    at_type!(Common, of_common, phase = After),
];

/// What is found where the object asks for it.
fn asked<T>(at: At<'_, T>, cx: &ValidationContext<'_>, name: &str) -> bool {
    let _ = at;
    cx.root::<Whole>().field(Whole::ASK).iter().any(|ask| ask.as_str() == name)
}

fn is_possible(whole: At<'_, Whole>, cx: &mut ValidationContext<'_>) {
    if asked(whole, cx, "impossible") {
        cx.errors.forbidden(FieldPath::ROOT, "impossible");
    }
}

fn afterwards(whole: At<'_, Whole>, cx: &mut ValidationContext<'_>) {
    if asked(whole, cx, "afterwards") {
        cx.errors.forbidden("anywhere", "pass");
        cx.validate_again(whole, Whole::COUNT);
    }
}

fn of_items(whole: At<'_, Whole>, cx: &mut ValidationContext<'_>) {
    if asked(whole, cx, "items") {
        let items = whole.path.to(Whole::ITEMS);
        cx.errors.forbidden(items.index(1).to(Item::SIZE), "inside");
        cx.errors.forbidden(items.index(0).to(Item::NAME), "inside");
    }
}

fn before_others(whole: At<'_, Whole>, cx: &mut ValidationContext<'_>) {
    if asked(whole, cx, "others") {
        cx.errors.forbidden(whole.path.to(Whole::OTHERS).index(0).child("odd"), "before size");
    }
}

fn before_high(whole: At<'_, Whole>, cx: &mut ValidationContext<'_>) {
    if asked(whole, cx, "high") {
        cx.errors.forbidden(whole.path.to(Whole::END), "before high");
    }
}

fn before_item(items: At<'_, Vec<Item>>, cx: &mut ValidationContext<'_>) {
    if asked(items, cx, "item") {
        cx.errors.forbidden(items.path.index(1).to(Item::WEIGHT), "before item");
    }
}

fn of_list(items: At<'_, Vec<Item>>, cx: &mut ValidationContext<'_>) {
    if asked(items, cx, "list") {
        cx.errors.forbidden(items.path.index(0), "after all");
    }
}

fn of_common(common: At<'_, Common>, cx: &mut ValidationContext<'_>) {
    if asked(common, cx, "common") {
        cx.errors.forbidden(common.path.parent().child("x"), "after common");
    }
}

fn is_small(whole: At<'_, Whole>, _: &ValidationContext<'_>) -> bool {
    whole.new.field(Whole::COUNT).get() == 1
}

fn doubled(whole: At<'_, Whole>, _: &ValidationContext<'_>) -> Option<Value> {
    let others = whole.new.field(Whole::OTHERS).value();
    let items = others.as_list()?;
    (items.len() == 1).then(|| Value::from(items.iter().chain(items).cloned().collect::<Vec<_>>()))
}

/// The paths of errors, with the details of handwritten rules.
fn validate(whole: &Value) -> Vec<String> {
    let verdict = common::validate(&GROUP, Whole::schema(), whole, None, &pintle_schema::gates::NO_GATES);
    let place = |error: &pintle_validation::FieldError| match error.kind {
        pintle_validation::ErrorKind::Forbidden => format!("{} {}", error.field, error.detail),
        pintle_validation::ErrorKind::Duplicate => format!("{} again", error.field),
        _ => error.field.clone(),
    };
    verdict.errors.0.iter().map(place).collect()
}

#[test]
fn fields_and_items_are_ordered_by_their_place() {
    let wrong = || value!({"name": "a", "size": (-1), "weight": (-1)});
    let whole = value!({
        "items": [(wrong()), {"name": "", "size": 1}], "others": [(wrong()), {"name": "b"}], "count": (-1), "low": (-1), "high": (-1), "end": (-1),
        "ask": ["afterwards", "items", "others", "high", "item", "list", "common"]
    });
    assert_eq!(
        validate(&whole),
        [
            "count",
            "items[0].name inside",
            "items[0].size",
            "items[0].weight",
            "items[1].weight before item",
            "items[1].name",
            "items[1].size inside",
            "items[0] after all",
            "others[0].weight",
            "others[0].odd before size",
            "others[0].size",
            "low",
            "end before high",
            "top",
            "x after common",
            "end",
            "anywhere pass",
            "count",
        ]
    );
}

#[test]
fn repeated_items_stand_with_their_items() {
    let item = |size: i64, weight: i64| value!({"name": "", "size": size, "weight": weight});
    let whole = value!({ "items": [(item(1, 1)), (item(1, 2)), (item(2, 1))] });
    assert_eq!(
        validate(&whole),
        ["items[0].name", "items[1].size again", "items[1].name", "items[2].name", "items[2].weight again"]
    );
}

#[test]
fn nothing_is_found_where_nothing_is_looked_at() {
    let whole = |count: i64| value!({"count": count, "item": {"name": "", "weight": 6}, "end": (-1)});
    assert_eq!(validate(&whole(2)), ["item.name", "item.weight", "end"]);
    assert_eq!(validate(&whole(1)), ["item.weight"]);
    assert_eq!(validate(&value!({"others": [{"name": ""}]})), ["others[0].name", "others[1].name"]);
    assert_eq!(validate(&value!({"count": (-1), "ask": ["impossible", "afterwards"]})), ["[] impossible"]);
}
