//! `same_as!`: the types of one version, declared again in another.
//! Guarantees that a type that is taken has the tokens of the one that it is taken from; names in it mean what they mean
//! where it is taken. Must never look into a declaration.

use proc_macro2::{TokenStream, TokenTree};
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Ident, Token};

/// The macro that declares a type again where it is invoked. It is a name of the type's module, so that paths lead to it.
pub fn declaration(name: &Ident, tokens: &TokenStream) -> TokenStream {
    let name = macro_name(name);
    quote! {
        #[doc(hidden)]
        #[allow(unused_macros)]
        macro_rules! #name { () => { #tokens } }
        #[doc(hidden)]
        #[allow(unused_imports)]
        pub(crate) use #name;
    }
}

/// The same for a string type, whose tokens are those within `string_type!`.
pub fn string_type_declaration(tokens: &TokenStream) -> syn::Result<TokenStream> {
    let mut rest =
        tokens.clone().into_iter().skip_while(|token| !matches!(token, TokenTree::Ident(word) if word == "pub"));
    match rest.nth(1) {
        Some(TokenTree::Ident(name)) => Ok(declaration(&name, &quote!(::pintle_schema::string_type! { #tokens }))),
        _ => Err(syn::Error::new(proc_macro2::Span::call_site(), "a string type is written `pub Name { .. }`")),
    }
}

/// `super::v1::{A, B}`: the declarations of these types.
pub fn same_as(input: TokenStream) -> syn::Result<TokenStream> {
    let (path, types) = parse.parse2(input)?;
    let macros = types.iter().map(macro_name);
    Ok(quote! { #(#path #macros! {})* })
}

fn parse(input: ParseStream) -> syn::Result<(TokenStream, Vec<Ident>)> {
    let mut path = TokenStream::new();
    loop {
        if input.peek(syn::token::Brace) {
            let content;
            syn::braced!(content in input);
            let types = Punctuated::<Ident, Token![,]>::parse_terminated(&content)?;
            return Ok((path, types.into_iter().collect()));
        }
        let segment = Ident::parse_any(input)?;
        if input.is_empty() {
            return Ok((path, vec![segment]));
        }
        let separator: Token![::] = input.parse()?;
        path.extend(quote!(#segment #separator));
    }
}

fn macro_name(name: &Ident) -> Ident {
    format_ident!("__declare_{}", name, span = name.span())
}
