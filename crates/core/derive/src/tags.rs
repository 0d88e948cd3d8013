//! The tags in `#[k8s(...)]` of a struct and of a field, parsed and checked one by one.
//! Must never compare tags: `field` does.

use crate::resource::ResourceTag;
use crate::rules::RuleTag;
use crate::words::{name_of, nearest, one_of, strings};
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Attribute, Expr, ExprLit, Ident, Lit, LitInt, LitStr, Path, Token};

/// The tags of a struct other than validation, for messages.
const STRUCT_TAGS: &[&str] = &["reserved", "struct_type", "wrapper", "json_union", "union", "resource"];

/// The tags of a field other than validation, for messages.
const FIELD_TAGS: &[&str] = &[
    "proto",
    "name",
    "inline",
    "published",
    "always",
    "omitzero",
    "nullable",
    "list_type",
    "list_map_keys",
    "map_type",
    "struct_type",
    "patch_strategy",
    "patch_merge_key",
    "gate",
    "default",
];

/// The tags of a struct.
#[derive(Default)]
pub struct StructTags {
    pub reserved: Vec<Reserved>,
    pub atomic: bool,
    pub wrapper: bool,
    pub json_union: Option<LitStr>,
    /// The JSON name of the discriminator, or "".
    pub union: Option<LitStr>,
    pub resource: Option<ResourceTag>,
    pub rules: Vec<RuleTag>,
}

/// A removed field: its number and name are reserved.
#[derive(Default)]
pub struct Reserved {
    pub proto: Option<u32>,
    pub name: Option<String>,
}

/// The tags of a field.
#[derive(Default)]
pub struct FieldTags {
    pub proto: Option<LitInt>,
    pub name: Option<LitStr>,
    pub inline: bool,
    pub optional: bool,
    pub required: bool,
    pub always: bool,
    pub omitzero: bool,
    pub nullable: bool,
    pub list_type: Option<Ident>,
    pub list_map_keys: Vec<LitStr>,
    pub map_type: Option<Ident>,
    pub struct_type: Option<Ident>,
    pub patch_strategy: Option<LitStr>,
    pub patch_merge_key: Option<LitStr>,
    pub gates: Vec<Path>,
    pub default: Option<Expr>,
    /// OpenAPI publishes the default.
    pub default_is_published: bool,
    pub rules: Vec<RuleTag>,
}

pub fn struct_tags(attributes: &[Attribute]) -> syn::Result<StructTags> {
    let mut tags = StructTags::default();
    each_tag(attributes, |meta| {
        match name_of(&meta)?.as_str() {
            "reserved" => tags.reserved.push(reserved(&meta)?),
            "struct_type" => tags.atomic = one_of(&meta, &["atomic", "granular"])? == "atomic",
            "wrapper" => tags.wrapper = true,
            "json_union" => tags.json_union = Some(meta.value()?.parse()?),
            "union" => {
                let discriminator = match meta.input.peek(Token![=]) {
                    true => meta.value()?.parse()?,
                    false => LitStr::new("", meta.path.span()),
                };
                tags.union = Some(discriminator);
            }
            "resource" => tags.resource = Some(ResourceTag::read(&meta)?),
            other => tags.rules.push(rule(&meta, other).unwrap_or_else(|| {
                let known = nearest(other, STRUCT_TAGS.iter().copied().chain(validation_tags()));
                Err(meta.error(format!("unknown tag `{other}` on a struct; {known}")))
            })?),
        }
        Ok(())
    })?;
    Ok(tags)
}

pub fn field_tags(attributes: &[Attribute]) -> syn::Result<FieldTags> {
    let mut tags = FieldTags::default();
    each_tag(attributes, |meta| {
        match name_of(&meta)?.as_str() {
            "proto" => tags.proto = Some(meta.value()?.parse()?),
            "name" => tags.name = Some(meta.value()?.parse()?),
            "inline" => tags.inline = true,
            "published" => match one_of(&meta, &["optional", "required", "default"])?.to_string().as_str() {
                "required" => tags.required = true,
                "default" => tags.default_is_published = true,
                _ => tags.optional = true,
            },
            "always" => tags.always = true,
            "omitzero" => tags.omitzero = true,
            "nullable" => tags.nullable = true,
            "list_type" => tags.list_type = Some(one_of(&meta, &["map", "set", "atomic"])?),
            "list_map_keys" => tags.list_map_keys = strings(&meta)?,
            "map_type" => tags.map_type = Some(one_of(&meta, &["atomic", "granular"])?),
            "struct_type" => tags.struct_type = Some(one_of(&meta, &["atomic", "granular"])?),
            "patch_strategy" => tags.patch_strategy = Some(meta.value()?.parse()?),
            "patch_merge_key" => tags.patch_merge_key = Some(meta.value()?.parse()?),
            "gate" => tags.gates.push(gate(&meta)?),
            "default" => tags.default = Some(literal(&meta)?),
            other => tags.rules.push(rule(&meta, other).unwrap_or_else(|| {
                let known = nearest(other, FIELD_TAGS.iter().copied().chain(validation_tags()));
                Err(meta.error(format!("unknown tag `{other}` on a field; {known}")))
            })?),
        }
        Ok(())
    })?;
    Ok(tags)
}

fn validation_tags() -> impl Iterator<Item = &'static str> {
    pintle_tags::CATALOGUE.iter().map(|tag| tag.name)
}

/// A validation tag; `None` if it is not in the catalogue.
fn rule(meta: &ParseNestedMeta, name: &str) -> Option<syn::Result<RuleTag>> {
    let tag = pintle_tags::find(name)?;
    Some(meta.path.require_ident().and_then(|ident| RuleTag::read(ident, tag, meta.input)))
}

/// The text of the doc comments, joined as a paragraph.
pub fn doc(attributes: &[Attribute]) -> String {
    let mut text = String::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("doc")) {
        let syn::Meta::NameValue(pair) = &attribute.meta else { continue };
        let Expr::Lit(ExprLit { lit: Lit::Str(line), .. }) = &pair.value else { continue };
        let line = line.value();
        let line = line.trim();
        if !text.is_empty() && !line.is_empty() {
            text.push(' ');
        }
        text.push_str(line);
    }
    text
}

fn each_tag(attributes: &[Attribute], mut read: impl FnMut(ParseNestedMeta) -> syn::Result<()>) -> syn::Result<()> {
    let ours = attributes.iter().filter(|attribute| attribute.path().is_ident("k8s"));
    ours.into_iter().try_for_each(|attribute| attribute.parse_nested_meta(&mut read))
}

fn reserved(meta: &ParseNestedMeta) -> syn::Result<Reserved> {
    let mut reserved = Reserved::default();
    meta.parse_nested_meta(|inner| {
        match name_of(&inner)?.as_str() {
            "proto" => reserved.proto = Some(inner.value()?.parse::<LitInt>()?.base10_parse()?),
            "name" => reserved.name = Some(inner.value()?.parse::<LitStr>()?.value()),
            other => return Err(inner.error(format!("unknown word `{other}` in reserved(proto = N, name = \"x\")"))),
        }
        Ok(())
    })?;
    Ok(reserved)
}

fn gate(meta: &ParseNestedMeta) -> syn::Result<Path> {
    let input = meta.value()?;
    let span = input.span();
    input.parse().map_err(|_| syn::Error::new(span, "a gate is a constant; written `gate = gates::NAME`"))
}

fn literal(meta: &ParseNestedMeta) -> syn::Result<Expr> {
    let input = meta.value()?;
    if input.peek(syn::token::Brace) {
        let content;
        let brace = syn::braced!(content in input);
        return if content.is_empty() {
            Ok(syn::parse_quote_spanned!(brace.span.join() => ()))
        } else {
            Err(content.error("a struct's default is `{}`; give its fields defaults of their own"))
        };
    }
    let negative = input.parse::<Option<Token![-]>>()?;
    let lit: Lit = input.parse()?;
    match (&lit, negative) {
        (Lit::Int(_), Some(minus)) => Ok(syn::parse_quote_spanned!(minus.span() => -#lit)),
        (Lit::Int(_) | Lit::Str(_) | Lit::Bool(_), None) => Ok(syn::parse_quote_spanned!(lit.span() => #lit)),
        _ => Err(syn::Error::new(lit.span(), "a default is an integer, a string, true, false or {}")),
    }
}
