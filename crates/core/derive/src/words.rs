//! Words in tags: how names, lists of texts and constants are read and emitted, and which word is meant by one that is unknown.
//! Must never know a tag.

use proc_macro2::TokenStream;
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::punctuated::Punctuated;
use syn::{Expr, Ident, LitStr, Token};

/// A suggestion for a word: the similar name, or all of them.
pub fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let near = names.iter().map(|name| (distance(word, name), name)).min();
    match near.filter(|(distance, _)| *distance <= word.len() / 3) {
        Some((_, name)) => format!("is `{name}` meant?"),
        None => format!("known: {}", names.join(", ")),
    }
}

/// The edit distance of two words.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (column, y) in b.bytes().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[b.len()]
}

/// The JSON name of `ready_replicas`: `readyReplicas`.
pub fn camel_case(ident: &Ident) -> String {
    let text = ident.to_string();
    let text = text.strip_prefix("r#").unwrap_or(&text);
    let mut name = String::with_capacity(text.len());
    let mut upper = false;
    for c in text.chars() {
        match c {
            '_' => upper = true,
            c if upper => {
                name.extend(c.to_uppercase());
                upper = false;
            }
            c => name.push(c),
        }
    }
    name
}

pub fn name_of(meta: &ParseNestedMeta) -> syn::Result<String> {
    meta.path.get_ident().map(Ident::to_string).ok_or_else(|| meta.error("a tag is one word"))
}

pub fn one_of(meta: &ParseNestedMeta, allowed: &[&str]) -> syn::Result<Ident> {
    let word: Ident = meta.value()?.parse()?;
    if allowed.iter().any(|name| word == name) {
        Ok(word)
    } else {
        Err(syn::Error::new(word.span(), format!("`{word}` is not one of {}", allowed.join(", "))))
    }
}

pub fn strings(meta: &ParseNestedMeta) -> syn::Result<Vec<LitStr>> {
    let content;
    syn::parenthesized!(content in meta.input);
    let items = Punctuated::<LitStr, Token![,]>::parse_terminated(&content)?;
    Ok(items.into_iter().collect())
}

/// A constant as the schema has it.
pub fn literal(default: &Expr) -> TokenStream {
    match default {
        Expr::Lit(lit) => match &lit.lit {
            syn::Lit::Bool(value) => quote!(Literal::Bool(#value)),
            syn::Lit::Str(value) => quote!(Literal::String(#value)),
            value => quote!(Literal::Int(#value)),
        },
        Expr::Unary(negative) => quote!(Literal::Int(#negative)),
        _ => quote!(Literal::Empty),
    }
}
