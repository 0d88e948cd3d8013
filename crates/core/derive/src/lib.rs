//! `#[derive(ApiType)]`: reads the tags of a struct and emits its schema as a static, and typed access to it.
//! Guarantees that a tag that is unknown, misplaced or contradicts another is a compile error at the tag. The output
//! is data and inlined code: an unused type must cost nothing in the binary.

mod emit;
mod field;
mod rules;
mod tags;

#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

/// Makes a struct a type of the API.
///
/// Tags on the struct: `reserved(proto = N, name = "x")` for a removed field, `struct_type = atomic`, `wrapper`,
/// `validation_order("a", "b")`, `union` or `union = "discriminator"` for a struct that OpenAPI publishes as a union of its
/// fields, and `json_union = "props_or_bool" | "props_or_array" | "props_or_string_array"`.
///
/// Tags on a field: `proto = N`, `name = ".."`, `inline`, `optional` or `required`, `always`, `omitzero`, `nullable`,
/// `list_type = map | set | atomic`, `list_map_keys("a", "b")`, `map_type = atomic | granular`,
/// `struct_type = atomic | granular`, `patch_strategy = ".."`, `patch_merge_key = ".."`, `gate = "X"` (may be repeated),
/// `default = literal`, `published = default` if OpenAPI publishes the default,
/// `published = required | optional` where OpenAPI says other than the rules, and every tag of the catalogue of validation.
#[proc_macro_derive(ApiType, attributes(k8s))]
pub fn derive_api_type(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    emit::api_type(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}
