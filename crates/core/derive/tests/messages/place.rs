//! Tags where they may not stand.

use pintle_schema::{ApiType, string_type};
use std::collections::BTreeMap;

string_type! {
    /// A color.
    pub Color {
        /// Red.
        RED = "Red",
    }
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct Inner {
    /// A.
    #[k8s(proto = 1)]
    a: i32,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct OnText {
    #[k8s(proto = 1, optional, minimum = 0)]
    a: String,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct OnItems {
    #[k8s(proto = 1, each_val(max_length = 1))]
    a: Vec<i32>,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct OnKeys {
    #[k8s(proto = 1, each_key(minimum = 1))]
    a: BTreeMap<String, i32>,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct OnScalar {
    #[k8s(proto = 1, subfield(name)(required))]
    a: bool,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct OnNamedText {
    #[k8s(proto = 1, max_items = 4)]
    a: Color,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct OnStruct {
    #[k8s(proto = 1, optional, max_length = 4)]
    a: Option<Inner>,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct OnStructs {
    #[k8s(proto = 1, each_val(format = "dns1123-label"))]
    a: Vec<Inner>,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct FormatOfNumbers {
    #[k8s(proto = 1, format = "port")]
    a: String,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct EnumWithoutValues {
    #[k8s(proto = 1, enum)]
    a: String,
}

#[derive(ApiType, Clone, Default, PartialEq)]
#[k8s(required)]
struct OnType {
    #[k8s(proto = 1)]
    a: String,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct UnionOfItems {
    #[k8s(proto = 1, each_val(union_member))]
    a: Vec<Inner>,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct MemberAlone {
    #[k8s(proto = 1, member(value = "A")(required))]
    a: Option<i32>,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct DiscriminatorAlone {
    #[k8s(proto = 1, union_discriminator)]
    a: String,
}

fn main() {}
