//! One field: checks its tags against its type and against each other.
//! Guarantees that a field is consistent after `Field::read`; emitting needs no further checks.

use crate::rules;
use crate::shape::{Shape, generic, shape};
use crate::tags::{self, FieldTags};
use crate::words::camel_case;
use syn::{Expr, ExprLit, Ident, Lit, Type};

pub struct Field<'a> {
    pub ident: &'a Ident,
    pub ty: &'a Type,
    pub doc: String,
    pub tags: FieldTags,
    pub shape: Shape,
    /// Written as `Option<..>`.
    pub pointer: bool,
    pub json: String,
    pub proto: u32,
}

impl<'a> Field<'a> {
    pub fn read(field: &'a syn::Field) -> syn::Result<Self> {
        let ident =
            field.ident.as_ref().ok_or_else(|| syn::Error::new_spanned(field, "fields of an API type have names"))?;
        let mut tags = tags::field_tags(&field.attrs)?;
        let (pointer, inner) = match generic(&field.ty, "Option") {
            Some(inner) => (true, inner),
            None => (false, &field.ty),
        };
        settle_publication(&mut tags);
        let json = match (&tags.name, tags.inline) {
            (Some(name), false) => name.value(),
            (None, true) => String::new(),
            (None, false) => camel_case(ident),
            (Some(name), true) => return Err(syn::Error::new(name.span(), "an inlined struct has no name in JSON")),
        };
        let proto = match &tags.proto {
            Some(number) => number.base10_parse()?,
            None => 0,
        };
        let field = Field {
            ident,
            ty: &field.ty,
            doc: tags::doc(&field.attrs),
            shape: shape(inner),
            pointer,
            json,
            proto,
            tags,
        };
        field.check()?;
        Ok(field)
    }

    /// Whether it is a list of bytes, one value to everything but a published list type.
    pub fn is_bytes(&self) -> bool {
        let Type::Path(path) = self.ty else { return false };
        path.path.segments.last().is_some_and(|last| last.ident == "Bytes")
    }

    fn check(&self) -> syn::Result<()> {
        let tags = &self.tags;
        let fail = |span: proc_macro2::Span, text: &str| Err(syn::Error::new(span, text));
        if let Some(list_type) = &tags.list_type {
            let is_for_bytes = list_type == "atomic" && self.is_bytes();
            if self.shape != Shape::List && !is_for_bytes {
                return fail(list_type.span(), "list_type is for a Vec");
            }
            if (list_type == "map") == tags.list_map_keys.is_empty() {
                return fail(list_type.span(), "list_type = map takes list_map_keys(\"..\"), and only it does");
            }
        } else if let Some(key) = tags.list_map_keys.first() {
            return fail(key.span(), "list_map_keys belongs to list_type = map");
        }
        if let Some(map_type) = &tags.map_type
            && matches!(self.shape, Shape::List | Shape::Bool | Shape::Int)
        {
            return fail(map_type.span(), "map_type is for a map");
        }
        if let Some(struct_type) = &tags.struct_type
            && self.shape != Shape::Other
        {
            return fail(struct_type.span(), "struct_type is for a struct");
        }
        rules::check_field(&tags.rules, self.shape, self.ty)?;
        if tags.always && tags.omitzero {
            return fail(self.ident.span(), "a field is always shown or left out when zero, not both");
        }
        if tags.inline && (tags.always || tags.default.is_some() || self.pointer) {
            return fail(self.ident.span(), "an inlined struct takes no tag about its own presence");
        }
        if let Some(key) = &tags.patch_merge_key
            && self.shape != Shape::List
        {
            return fail(key.span(), "patch_merge_key is for a Vec");
        }
        if tags.default_is_published && tags.default.is_none() {
            return fail(self.ident.span(), "published = default belongs to a field with a default");
        }
        if let Some(default) = &tags.default {
            self.check_default(default)?;
            rules::check_default(&tags.rules, integer(default), self.pointer)?;
        }
        Ok(())
    }

    fn check_default(&self, default: &Expr) -> syn::Result<()> {
        let given = match default {
            Expr::Lit(lit) => match &lit.lit {
                syn::Lit::Bool(_) => Shape::Bool,
                syn::Lit::Int(_) => Shape::Int,
                _ => Shape::String,
            },
            Expr::Unary(_) => Shape::Int,
            _ => Shape::Other,
        };
        let fits = match self.shape {
            Shape::Bool | Shape::Int | Shape::String => given == self.shape,
            Shape::Other => true,
            Shape::List | Shape::Map => given == Shape::Other,
        };
        if fits { Ok(()) } else { Err(syn::Error::new_spanned(default, "the default is not of the field's type")) }
    }
}

/// The number that a default is.
fn integer(default: &Expr) -> Option<i64> {
    match default {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().ok(),
        Expr::Unary(negative) => integer(&negative.expr).map(|number| -number),
        _ => None,
    }
}

/// OpenAPI publishes the rules, unless `published` overrides it.
fn settle_publication(tags: &mut FieldTags) {
    if !tags.optional && !tags.required {
        let has = |name: &str| tags.rules.iter().any(|rule| rule.tag.name == name);
        (tags.optional, tags.required) = (has("optional"), has("required"));
    }
}
