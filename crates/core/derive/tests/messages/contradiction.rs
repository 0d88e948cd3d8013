//! Tags that cannot both hold.

use pintle_schema::ApiType;

#[derive(ApiType, Clone, Default, PartialEq)]
struct Presence {
    #[k8s(proto = 1, optional, required)]
    a: i32,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct Bounds {
    #[k8s(proto = 1, minimum = 5, maximum = 4)]
    a: i32,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct Inside {
    #[k8s(proto = 1, each_val(max_length = 3, min_length = 4))]
    a: Vec<String>,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct Twice {
    #[k8s(proto = 1, maximum = 5, maximum = 6)]
    a: i32,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct Changes {
    #[k8s(proto = 1, immutable, update(no_set))]
    a: i32,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct Stages {
    #[k8s(proto = 1, alpha("1.35")(beta("1.36")(minimum = 0)))]
    a: i32,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct ForbiddenDefault {
    #[k8s(proto = 1, forbidden, default = 1)]
    a: Option<i32>,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct WrongDefault {
    #[k8s(proto = 1, optional, default = 0, minimum = 1)]
    a: Option<i32>,
}

fn main() {}
