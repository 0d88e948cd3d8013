//! Gates that nobody has declared.

use pintle_schema::ApiType;

mod gates {
    pintle_schema::gates! {
        /// All gates.
        pub ALL {
            FROBBER_2D = "Frobber2D": alpha(36);
        }
    }
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct MisspeltForAField {
    #[k8s(proto = 1, optional, gate = gates::FROBER_2D)]
    a: Option<i32>,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct MisspeltForARule {
    #[k8s(proto = 1, if_enabled(gates::FROBBER_3D)(minimum = 0))]
    a: i32,
}

#[derive(ApiType, Clone, Default, PartialEq)]
struct SomethingElse {
    #[k8s(proto = 1, optional, gate = gates::ALL)]
    a: Option<i32>,
}

fn main() {}
