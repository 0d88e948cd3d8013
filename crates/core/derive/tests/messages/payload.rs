//! Tags that are given the wrong thing, or nothing.

use pintle_schema::ApiType;

#[derive(ApiType, Clone, Default, PartialEq)]
struct NoNumber {
    #[k8s(proto = 1, minimum = "0")]
    a: i32,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct Negative {
    #[k8s(proto = 1, max_items = -1)]
    a: Vec<i32>,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct NoChain {
    #[k8s(proto = 1, each_val)]
    a: Vec<i32>,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct EmptyChain {
    #[k8s(proto = 1, each_val())]
    a: Vec<i32>,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct UnknownTag {
    #[k8s(proto = 1, minimun = 0)]
    a: i32,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct UnknownInChain {
    #[k8s(proto = 1, each_val(requird))]
    a: Vec<i32>,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct UnknownFormat {
    #[k8s(proto = 1, format = "dns1123-lable")]
    a: String,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct BrokenPattern {
    #[k8s(proto = 1, pattern = "[a-z")]
    a: String,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct UnknownChange {
    #[k8s(proto = 1, update(no_change))]
    a: i32,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct UnknownWord {
    #[k8s(proto = 1, union_member(name = "x"))]
    a: Option<i32>,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct NoVersion {
    #[k8s(proto = 1, alpha("soon")(minimum = 0))]
    a: i32,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct NoFunction {
    #[k8s(proto = 1, custom)]
    a: i32,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct NoGate {
    #[k8s(proto = 1, if_enabled(minimum = 0))]
    a: i32,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct GateByName {
    #[k8s(proto = 1, gate = "Frobber2D")]
    a: i32,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct NotOfTheType {
    #[k8s(proto = 1, neq = "x")]
    a: i32,
}

fn main() {}
