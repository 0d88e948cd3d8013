//! `resource(..)` on a struct: the names under which its kind is served.
//! Guarantees that a kind says its group, its plural and its scope. Must never know how a kind is stored.

use crate::words::{name_of, strings};
use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Ident, LitStr};

/// What is written in the tag.
pub struct ResourceTag {
    group: LitStr,
    /// Otherwise that of the module.
    version: Option<LitStr>,
    plural: LitStr,
    /// Otherwise the kind in lower case.
    singular: Option<LitStr>,
    short_names: Vec<LitStr>,
    categories: Vec<LitStr>,
    namespaced: bool,
}

impl ResourceTag {
    pub fn read(meta: &ParseNestedMeta) -> syn::Result<Self> {
        let span: Span = meta.path.span();
        let (mut group, mut version, mut plural, mut singular, mut namespaced) = (None, None, None, None, None);
        let (mut short_names, mut categories) = (Vec::new(), Vec::new());
        meta.parse_nested_meta(|inner| {
            match name_of(&inner)?.as_str() {
                "group" => group = Some(inner.value()?.parse()?),
                "version" => version = Some(inner.value()?.parse()?),
                "plural" => plural = Some(inner.value()?.parse()?),
                "singular" => singular = Some(inner.value()?.parse()?),
                "short_names" => short_names = strings(&inner)?,
                "categories" => categories = strings(&inner)?,
                "namespaced" => namespaced = Some(true),
                "cluster" => namespaced = Some(false),
                other => return Err(inner.error(format!("unknown word `{other}` in `resource`; {WRITTEN}"))),
            }
            Ok(())
        })?;
        let missing = |word: &str| syn::Error::new(span, format!("`resource` lacks {word}; {WRITTEN}"));
        Ok(ResourceTag {
            group: group.ok_or_else(|| missing("`group`"))?,
            version,
            plural: plural.ok_or_else(|| missing("`plural`"))?,
            singular,
            short_names,
            categories,
            namespaced: namespaced.ok_or_else(|| missing("`namespaced` or `cluster`"))?,
        })
    }

    /// The names as a constant of the type.
    pub fn emit(&self, name: &Ident) -> TokenStream {
        let ResourceTag { group, plural, short_names, categories, namespaced, .. } = self;
        let kind = name.to_string();
        let version = match &self.version {
            Some(version) => quote!(#version),
            None => quote!(::pintle_schema::resource_names::version_in(::core::module_path!())),
        };
        let singular = self.singular.as_ref().map_or_else(|| kind.to_lowercase(), LitStr::value);
        quote! {
            impl ::pintle_schema::ApiResource for #name {
                const NAMES: ::pintle_schema::ResourceNames = ::pintle_schema::ResourceNames {
                    group: #group,
                    version: #version,
                    kind: #kind,
                    plural: #plural,
                    singular: #singular,
                    short_names: &[#(#short_names),*],
                    categories: &[#(#categories),*],
                    namespaced: #namespaced,
                };
            }
        }
    }
}

/// The form of the tag, for messages.
const WRITTEN: &str =
    "written `resource(group = \"g\", plural = \"ps\", short_names(\"p\"), categories(\"all\"), namespaced)`";
