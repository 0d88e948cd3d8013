//! `#[derive(ApiType)]`: reads the tags of a struct and emits its schema as a static, and typed access to it.
//! Guarantees that a tag that is unknown, misplaced or contradicts another is a compile error at the tag. The output
//! is data and inlined code: an unused type must cost nothing in the binary.

mod emit;
mod field;
mod resource;
mod rules;
mod same;
mod shape;
mod tags;
mod words;

#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

/// Makes a struct a type of the API.
///
/// Tags on the struct: `reserved(proto = N, name = "x")` for a removed field, `struct_type = atomic`, `wrapper`,
/// `union` or `union = "discriminator"` for a struct that OpenAPI publishes as a union of its fields, and `json_union = "props_or_bool" | "props_or_array" | "props_or_string_array"`.
///
/// `resource(group = "batch", plural = "cronjobs", short_names("cj"), categories("all"), namespaced)` on the struct of a kind
/// says under which names it is served (`ApiResource`); `cluster` stands in place of `namespaced` for a kind without
/// namespaces. The kind is the name of the struct, the version the module that has the name of one; `version = ".."` and
/// `singular = ".."` (otherwise the kind in lower case) say others.
///
/// Tags on a field: `proto = N`, `name = ".."`, `inline`, `optional` or `required`, `always`, `omitzero`, `nullable`,
/// `list_type = map | set | atomic`, `list_map_keys("a", "b")`, `map_type = atomic | granular`,
/// `struct_type = atomic | granular`, `patch_strategy = ".."`, `patch_merge_key = ".."`, `gate = path::to::GATE` (may be repeated),
/// `default = literal`, `published = default` if OpenAPI publishes the default,
/// `published = required | optional` where OpenAPI says other than the rules, and every tag of the catalogue of validation.
#[proc_macro_derive(ApiType, attributes(k8s))]
pub fn derive_api_type(input: TokenStream) -> TokenStream {
    let declared = proc_macro2::TokenStream::from(input.clone());
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    let mut output = emit::api_type(&input).unwrap_or_else(|error| error.to_compile_error());
    let again = quote::quote! { #[derive(::pintle_schema::ApiType, Clone, Debug, Default, PartialEq)] #declared };
    output.extend(same::declaration(&input.ident, &again));
    output.into()
}

/// Declares types of another module of the crate here, unchanged: the same fields, tags and words.
///
/// A version takes from another what both have in common, and declares the rest itself:
///
/// ```ignore
/// same_as! { super::v1::{Lease, LeaseList} }
/// ```
///
/// The types are this module's own, so that their names in protobuf and OpenAPI are those of this version. The types of
/// their fields are looked up here, under the names that they have there.
#[proc_macro]
pub fn same_as(input: TokenStream) -> TokenStream {
    same::same_as(input.into()).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Called by `string_type!` alone, with what is written in it.
#[doc(hidden)]
#[proc_macro]
pub fn string_type_declaration(input: TokenStream) -> TokenStream {
    same::string_type_declaration(&input.into()).unwrap_or_else(|error| error.to_compile_error()).into()
}
