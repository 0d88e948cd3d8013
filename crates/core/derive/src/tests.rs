//! The messages for misplaced tags. Each says what is wrong, and what would be right.

use crate::emit::api_type;
use quote::quote;

fn refusal(field: proc_macro2::TokenStream) -> String {
    let input = syn::parse2(quote! { struct Spec { #field } }).expect("a struct");
    match api_type(&input) {
        Ok(_) => "accepted".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn right_tags_are_accepted() {
    for field in [
        quote!(#[k8s(proto = 1, optional, minimum = -1, maximum = 5, default = 0)] count: Option<i32>),
        quote!(#[k8s(proto = 1, required = "why", published = optional)] name: String),
        quote!(#[k8s(proto = 1, published = optional, default = "a", published = default)] name: String),
        quote!(#[k8s(proto = 1, list_type = atomic)] bundle: Bytes),
        quote!(#[k8s(proto = 1, max_items = 3, each_val(max_length = 5, enum("a", "b")))] names: Vec<String>),
        quote!(#[k8s(proto = 1, each_key(format = "k8s-label-key"), each_val(pattern = "x+"))] map: BTreeMap<String, String>),
        quote!(#[k8s(proto = 1, subfield(node_name)(each_val(subfield(type)(required))))] inner: Inner),
        quote!(#[k8s(proto = 1, item(type = "Approved")(zero_or_one_of))] conditions: Vec<Condition>),
        quote!(#[k8s(proto = 1, if_enabled(gates::X)(immutable), if_disabled(X)(forbidden))] inner: Inner),
        quote!(#[k8s(proto = 1, gate = crate::gates::X, gate = Y)] inner: Inner),
        quote!(#[k8s(proto = 1, alpha("1.36")(minimum = 0), update(no_set, no_unset))] count: i32),
        quote!(#[k8s(proto = 1, union_member(union = "u", value = "V"), opaque_type)] inner: Option<Inner>),
        quote!(#[k8s(proto = 1, custom = crate::rules::odd, rule(crate::EVEN, 4), neq = "x")] name: String),
    ] {
        assert_eq!(refusal(field), "accepted");
    }
}

#[test]
fn wrong_tags_are_told() {
    let rows = [
        (quote!(#[k8s(proto = 1, minimum = 0)] a: String), "`minimum` is for an integer, and this is a string"),
        (
            quote!(#[k8s(proto = 1, each_val(max_length = 1))] a: Vec<i32>),
            "`max_length` is for a string, and this is an integer",
        ),
        (
            quote!(#[k8s(proto = 1, each_key(minimum = 1))] a: BTreeMap<String, i32>),
            "`minimum` is for an integer, and this is a string",
        ),
        (quote!(#[k8s(proto = 1, list_type = set)] a: Bytes), "list_type is for a Vec"),
        (quote!(#[k8s(proto = 1, minimum = "0")] a: i32), "`minimum` is written `minimum = 0`"),
        (quote!(#[k8s(proto = 1, max_items = -1)] a: Vec<i32>), "`max_items` cannot be negative"),
        (quote!(#[k8s(proto = 1, each_val)] a: Vec<i32>), "`each_val` is written `each_val(required)`"),
        (
            quote!(#[k8s(proto = 1, optional, required)] a: i32),
            "`required` contradicts `optional`: one of them must go",
        ),
        (
            quote!(#[k8s(proto = 1, minimum = 5, maximum = 4)] a: i32),
            "`maximum` contradicts `minimum`: no value meets both",
        ),
        (quote!(#[k8s(proto = 1, update(no_change))] a: i32), "`no_change` is not one of no_set, no_unset, no_modify"),
        (
            quote!(#[k8s(proto = 1, union_member(name = "x"))] a: i32),
            "unknown word `name` in `union_member`; written `union_member or union_member(union = \"u\", value = \"V\")`",
        ),
        (
            quote!(#[k8s(proto = 1, published = default)] a: i32),
            "published = default belongs to a field with a default",
        ),
        (quote!(#[k8s(proto = 1, gate = "X")] a: i32), "a gate is a constant; written `gate = gates::NAME`"),
        (
            quote!(#[k8s(proto = 1, if_enabled("X")(minimum = 0))] a: i32),
            "`if_enabled` is written `if_enabled(gates::NAME)(required)`",
        ),
        (quote!(#[k8s(proto = 1, minimal = 0)] a: i32), "unknown tag `minimal` on a field; is `minimum` meant?"),
    ];
    for (field, text) in rows {
        assert_eq!(refusal(field), text);
    }
    assert!(
        refusal(quote!(#[k8s(proto = 1, each_val(need))] a: Vec<i32>))
            .starts_with("unknown rule `need`; known: optional, required,")
    );
}

#[test]
fn kinds_say_how_they_are_served() {
    let refusal = |tag: proc_macro2::TokenStream| {
        let input = syn::parse2(quote! { #[k8s(resource(#tag))] struct Lamp {} }).expect("a struct");
        api_type(&input).map_or_else(|error| error.to_string(), |_| "accepted".to_owned())
    };
    for (tag, text) in [
        (quote!(group = "g", plural = "lamps", namespaced), "accepted"),
        (
            quote!(group = "", version = "v1", plural = "lamps", singular = "light", short_names("la"), cluster),
            "accepted",
        ),
        (quote!(plural = "lamps", cluster), "`resource` lacks `group`; written `resource("),
        (quote!(group = "g", cluster), "`resource` lacks `plural`; "),
        (quote!(group = "g", plural = "lamps"), "`resource` lacks `namespaced` or `cluster`; "),
        (quote!(group = "g", plural = "lamps", global), "unknown word `global` in `resource`; "),
    ] {
        let found = refusal(tag);
        assert!(found.starts_with(text), "{found}");
    }
}
