//! The output of the derive: the static schema, the conversions from and to `Value`, and the typed field names.
//! Guarantees that everything emitted is a static, a constant or an inlined function. Must never refer to values of
//! other types, because types may be recursive.

use crate::field::Field;
use crate::rules;
use crate::shape::generic;
use crate::tags::{self, StructTags};
use crate::words::literal;
use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::{Data, DeriveInput, Fields, Ident, spanned::Spanned};

pub fn api_type(input: &DeriveInput) -> syn::Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        return Err(syn::Error::new(input.ident.span(), "ApiType is derived for structs"));
    };
    if !input.generics.params.is_empty() {
        return Err(syn::Error::new(input.generics.span(), "an API type has no type parameters"));
    }
    let written = match &data.fields {
        Fields::Named(named) => named.named.iter().collect(),
        Fields::Unit => Vec::new(),
        Fields::Unnamed(_) => return Err(syn::Error::new(input.ident.span(), "fields of an API type have names")),
    };
    let tags = tags::struct_tags(&input.attrs)?;
    let fields = written.into_iter().map(Field::read).collect::<syn::Result<Vec<_>>>()?;
    check_together(&tags, &fields)?;
    rules::check_struct(&tags.rules)?;
    rules::check_unions(&fields.iter().map(|field| field.tags.rules.as_slice()).collect::<Vec<_>>())?;

    let name = &input.ident;
    let schema = schema(name, &tags::doc(&input.attrs), &tags, &fields)?;
    let conversions = conversions(name, &tags, &fields);
    let names = field_names(name, &fields);
    let assertions = fields.iter().map(|field| rules::assertions(&field.tags.rules, field.ty));
    let resource = tags.resource.as_ref().map(|resource| resource.emit(name));
    Ok(quote! { #schema #conversions #names #resource #(#assertions)* })
}

fn check_together(tags: &StructTags, fields: &[Field]) -> syn::Result<()> {
    for (at, field) in fields.iter().enumerate() {
        let before = &fields[..at];
        if field.proto != 0 && before.iter().any(|other| other.proto == field.proto) {
            return Err(syn::Error::new(field.ident.span(), format!("protobuf number {} is taken", field.proto)));
        }
        if !field.json.is_empty() && before.iter().any(|other| other.json == field.json) {
            return Err(syn::Error::new(field.ident.span(), format!("the name {:?} is taken", field.json)));
        }
        for reserved in &tags.reserved {
            // The name of a removed field may be used again with a new number; its number may not.
            if field.proto != 0 && reserved.proto == Some(field.proto) {
                return Err(syn::Error::new(
                    field.ident.span(),
                    format!("protobuf number {} is reserved", field.proto),
                ));
            }
        }
    }
    if tags.wrapper && fields.len() != 1 {
        return Err(syn::Error::new(proc_macro2::Span::call_site(), "a wrapper has one field"));
    }
    Ok(())
}

fn schema(name: &Ident, doc: &str, tags: &StructTags, fields: &[Field]) -> syn::Result<TokenStream> {
    let text = name.to_string();
    let form = match &tags.json_union {
        None if tags.wrapper => quote!(Wrapper),
        None => quote!(Plain),
        Some(word) => match word.value().as_str() {
            "props_or_bool" => quote!(PropsOrBool),
            "props_or_array" => quote!(PropsOrArray),
            "props_or_string_array" => quote!(PropsOrStringArray),
            _ => {
                return Err(syn::Error::new(
                    word.span(),
                    "not one of props_or_bool, props_or_array, props_or_string_array",
                ));
            }
        },
    };
    let mut sorted: Vec<(&str, u16)> = Vec::new();
    for (at, field) in fields.iter().enumerate().filter(|(_, field)| !field.tags.inline) {
        let at = u16::try_from(at).map_err(|_| syn::Error::new(field.ident.span(), "too many fields"))?;
        sorted.push((&field.json, at));
    }
    sorted.sort_unstable();
    let by_name = sorted.iter().map(|(_, at)| at);
    let atomic = tags.atomic;
    let discriminator = tags.union.iter().filter(|name| !name.value().is_empty());
    for name in discriminator {
        if !fields.iter().any(|field| field.json == name.value()) {
            return Err(syn::Error::new(name.span(), "no field has this name in JSON"));
        }
    }
    let rules = rules::emit(&tags.rules);
    let union = match &tags.union {
        Some(discriminator) => quote!(Some(#discriminator)),
        None => quote!(None),
    };
    let fields = fields.iter().map(field_schema);
    Ok(quote! {
        impl ::pintle_schema::ApiType for #name {
            fn schema() -> &'static ::pintle_schema::Struct {
                use ::pintle_schema::derived::*;
                static SCHEMA: Struct = Struct {
                    name: Text::Static(#text),
                    module: Text::Static(::core::module_path!()),
                    doc: Text::Static(#doc),
                    fields: Slice::Static(&[#(#fields),*]),
                    by_name: Slice::Static(&[#(#by_name),*]),
                    atomic: #atomic,
                    form: Form::#form,
                    preserve_unknown: false,
                    rules: #rules,
                    union: #union,
                    compiled: Compiled::new(),
                };
                &SCHEMA
            }
        }
    })
}

fn field_schema(field: &Field) -> TokenStream {
    let (json, proto, doc) = (&field.json, field.proto, &field.doc);
    let tags = &field.tags;
    let ty = field_type(field);
    let presence = match (field.pointer, tags.always, tags.omitzero) {
        (true, true, _) => quote!(PointerAlways),
        (true, false, _) => quote!(Pointer),
        (false, true, _) => quote!(Always),
        (false, false, true) => quote!(OmitZero),
        (false, false, false) => quote!(OmitEmpty),
    };
    let (inline, optional, required, nullable) = (tags.inline, tags.optional, tags.required, tags.nullable);
    let default = match &tags.default {
        None => quote!(None),
        Some(default) => {
            let literal = literal(default);
            match tags.default_is_published {
                true => quote!(Some(FieldDefault::Published(#literal))),
                false => quote!(Some(FieldDefault::Literal(#literal))),
            }
        }
    };
    let text = |word: &Option<syn::LitStr>| word.as_ref().map(syn::LitStr::value).unwrap_or_default();
    let (strategy, merge_key) = (text(&tags.patch_strategy), text(&tags.patch_merge_key));
    let atomic = match tags.map_type.as_ref().or(tags.struct_type.as_ref()).map(|word| word == "atomic") {
        Some(atomic) => quote!(Some(#atomic)),
        None if tags.list_type.is_some() && field.is_bytes() => quote!(Some(true)),
        None => quote!(None),
    };
    // A gate of another type is an error at the tag.
    let gates = tags.gates.iter().map(|gate| quote_spanned!(gate.span() => &#gate));
    let rules = rules::emit(&tags.rules);
    quote! {
        Field {
            name: Text::Static(#json), proto: #proto, ty: #ty, presence: Presence::#presence, inline: #inline,
            optional: #optional, required: #required, nullable: #nullable, default: #default, doc: Text::Static(#doc),
            patch_strategy: #strategy, patch_merge_key: #merge_key, atomic: #atomic, gates: &[#(#gates),*],
            rules: #rules,
        }
    }
}

fn field_type(field: &Field) -> TokenStream {
    let ty = field.ty;
    let (Some(list_type), Some(elem)) = (&field.tags.list_type, generic(ty, "Vec")) else {
        return quote!(<#ty as ApiValue>::TYPE);
    };
    let kind = match list_type.to_string().as_str() {
        "set" => quote!(ListKind::Set),
        "atomic" => quote!(ListKind::Atomic),
        _ => {
            let keys = &field.tags.list_map_keys;
            quote!(ListKind::Map(Keys::Static(&[#(#keys),*])))
        }
    };
    quote! {
        Type::List(Ref::Static({
            fn list() -> &'static List {
                static LIST: List = List { elem: <#elem as ApiValue>::TYPE, kind: #kind, declared: true };
                &LIST
            }
            list
        }))
    }
}

fn conversions(name: &Ident, tags: &StructTags, fields: &[Field]) -> TokenStream {
    let idents: Vec<_> = fields.iter().map(|field| field.ident).collect();
    let (read, write) = if tags.wrapper {
        (quote!(Ok(Self { #(#idents: ApiValue::from_value(value)?),* })), quote!(#(ApiValue::to_value(&self.#idents))*))
    } else if tags.json_union.is_some() {
        // These remain trees: only schemas of custom resources have them, and those are parsed as trees.
        let count = fields.iter().map(|field| field.ident);
        (
            quote!({ let _ = value; Ok(Self { #(#count: Default::default()),* }) }),
            quote!({ #(let _ = &self.#idents;)* Value::Null }),
        )
    } else {
        let reads = fields.iter().map(|field| {
            let (ident, json) = (field.ident, &field.json);
            match field.tags.inline {
                true => quote!(#ident: ApiValue::from_value(value)?),
                false => quote!(#ident: read_field(map, #json)?),
            }
        });
        let writes = fields.iter().map(|field| {
            let (ident, json) = (field.ident, &field.json);
            match field.tags.inline {
                true => quote!(write_inline(&mut map, &self.#ident);),
                false => quote!(write_field(&mut map, #json, &self.#ident);),
            }
        });
        (
            quote!({ let map = fields_of(value)?; let _ = map; Ok(Self { #(#reads),* }) }),
            quote!({ let mut map = Map::new(); #(#writes)* let _ = &mut map; Value::Map(map) }),
        )
    };
    quote! {
        impl ::pintle_schema::ApiValue for #name {
            const TYPE: ::pintle_schema::Type = ::pintle_schema::Type::Struct(::pintle_schema::Ref::Static(
                <#name as ::pintle_schema::ApiType>::schema,
            ));

            #[inline]
            fn from_value(value: &::pintle_schema::Value) -> ::core::result::Result<Self, ::pintle_schema::ShapeError> {
                use ::pintle_schema::derived::*;
                #read
            }

            #[inline]
            fn to_value(&self) -> ::pintle_schema::Value {
                use ::pintle_schema::derived::*;
                #write
            }
        }
    }
}

fn field_names(name: &Ident, fields: &[Field]) -> TokenStream {
    let names = fields.iter().map(|field| {
        let (ty, json) = (field.ty, &field.json);
        let text = field.ident.to_string();
        let constant =
            format_ident!("{}", text.strip_prefix("r#").unwrap_or(&text).to_uppercase(), span = field.ident.span());
        let doc = if json.is_empty() { "The inlined struct.".to_owned() } else { format!("The field `{json}`.") };
        quote! {
            #[doc = #doc]
            pub const #constant: ::pintle_schema::FieldName<#name, #ty> = ::pintle_schema::FieldName::new(#json);
        }
    });
    quote! { impl #name { #(#names)* } }
}
