//! Types that two versions have in common: `same_as!`, and the names under which a kind is served.

use pintle_schema::{ApiResource, ApiType, ApiValue, ResourceNames, Struct, Type};

mod v1 {
    use pintle_schema::{ApiType, string_type};

    /// A lamp.
    #[derive(ApiType, Clone, Debug, Default, PartialEq)]
    #[k8s(resource(group = "fun.example.com", plural = "lamps", short_names("la"), categories("all"), namespaced))]
    pub struct Lamp {
        /// What it should do.
        #[k8s(proto = 1, optional)]
        pub spec: LampSpec,
    }

    /// What a lamp should do.
    #[derive(ApiType, Clone, Debug, Default, PartialEq)]
    pub struct LampSpec {
        /// Whether it shines.
        #[k8s(proto = 1, optional, default = true)]
        pub shines: Option<bool>,
        /// Its color.
        #[k8s(proto = 2, optional)]
        pub color: Color,
    }

    string_type! {
        /// A color.
        #[closed]
        pub Color {
            /// As blood.
            RED = "Red",
        }
    }
}

mod v2beta1 {
    use pintle_schema::{ApiType, same_as};

    same_as! { super::v1::{Lamp, Color} }

    /// What a lamp should do.
    #[derive(ApiType, Clone, Debug, Default, PartialEq)]
    pub struct LampSpec {
        /// How bright it is, in percent.
        #[k8s(proto = 3, optional)]
        pub brightness: i32,
        /// Its color.
        #[k8s(proto = 2, optional)]
        pub color: Color,
    }
}

/// Takes what the version before took.
mod v2 {
    use pintle_schema::same_as;

    same_as! { super::v2beta1::{Lamp, LampSpec} }
    same_as! { super::v2beta1::Color }
}

fn spec_of(schema: &'static Struct) -> &'static Struct {
    schema.fields.iter().find_map(|field| field.ty.as_struct()).expect("the spec")
}

#[test]
fn a_type_that_is_taken_is_the_versions_own() {
    let (first, second) = (v1::Lamp::schema(), v2beta1::Lamp::schema());
    assert!(!std::ptr::eq(first, second));
    assert_eq!(second.module.as_str(), concat!(module_path!(), "::v2beta1"));
    assert_eq!((first.name.as_str(), first.doc.as_str()), (second.name.as_str(), second.doc.as_str()));
    assert_eq!(first.fields[0].proto, second.fields[0].proto);
}

#[test]
fn its_fields_have_the_types_of_the_version_that_takes_it() {
    for (schema, spec, field) in [
        (v1::Lamp::schema(), v1::LampSpec::schema(), "shines"),
        (v2beta1::Lamp::schema(), v2beta1::LampSpec::schema(), "brightness"),
        (v2::Lamp::schema(), v2::LampSpec::schema(), "brightness"),
    ] {
        assert!(std::ptr::eq(spec_of(schema), spec));
        assert_eq!(spec.fields[0].name.as_str(), field);
    }
    let Type::Enum(color) = v2::Color::TYPE else { panic!("an enumeration") };
    assert_eq!(color.module.as_str(), concat!(module_path!(), "::v2"));
    assert!(color.closed && color.values[0].value.as_str() == "Red");
    assert_eq!(v2::Color::RED, "Red");
}

#[test]
fn a_kind_has_the_version_of_its_module() {
    let names = |version| ResourceNames {
        short_names: &["la"],
        categories: &["all"],
        ..ResourceNames::namespaced("fun.example.com", version, "lamps", "lamp", "Lamp")
    };
    assert_eq!(v1::Lamp::NAMES, names("v1"));
    assert_eq!(v2beta1::Lamp::NAMES, names("v2beta1"));
    assert_eq!(v2::Lamp::NAMES, names("v2"));
}
