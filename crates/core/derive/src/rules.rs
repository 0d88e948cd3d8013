//! Validation tags: parses them by the catalogue, checks their places, and writes them as static rules.
//! Must never know a tag by name, except for the spelling of payloads: `pintle_tags` defines the tags.

use crate::shape::{Shape, generic, shape};
use crate::words::{camel_case, literal, nearest};
use pintle_tags::{Payload, Place, Tag, formats};
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::punctuated::Punctuated;
use syn::{Expr, ExprLit, Ident, Lit, LitInt, LitStr, Path, Token, Type, parenthesized};

/// A tag as written.
pub struct RuleTag {
    pub tag: &'static Tag,
    pub span: Span,
    payload: TokenStream,
    inner: Vec<RuleTag>,
    /// The tag's places, or those that its payload allows.
    places: Place,
    /// Contradictory bounds are detected by their numbers.
    pub number: Option<i64>,
    /// The union that it belongs to.
    union: String,
}

impl RuleTag {
    /// Parses the text after the tag's name.
    pub fn read(name: &Ident, tag: &'static Tag, input: ParseStream) -> syn::Result<Self> {
        let fail = |text: String| syn::Error::new(name.span(), text);
        let wrong = || fail(format!("`{}` is written `{}`", tag.name, tag.example));
        let (mut number, mut places, mut union) = (None, tag.places, String::new());
        let payload = match tag.payload {
            Payload::None => quote!(),
            Payload::Int | Payload::Size => {
                input.parse::<Token![=]>().map_err(|_| wrong())?;
                let negative = input.parse::<Option<Token![-]>>()?.is_some();
                let digits: LitInt = input.parse().map_err(|_| wrong())?;
                let value = digits.base10_parse::<i64>()?;
                if negative && tag.payload == Payload::Size {
                    return Err(syn::Error::new(digits.span(), format!("`{}` cannot be negative", tag.name)));
                }
                number = Some(if negative { -value } else { value });
                if negative { quote!(-#digits) } else { quote!(#digits) }
            }
            Payload::Format => {
                input.parse::<Token![=]>().map_err(|_| wrong())?;
                let name: LitStr = input.parse().map_err(|_| wrong())?;
                let names = || formats::FORMATS.iter().map(|format| format.name);
                let format = formats::find(&name.value()).ok_or_else(|| {
                    let known = nearest(&name.value(), names());
                    syn::Error::new(name.span(), format!("unknown format {:?}; {known}", name.value()))
                })?;
                places = format.places;
                quote!(#name)
            }
            Payload::Pattern => {
                input.parse::<Token![=]>().map_err(|_| wrong())?;
                let pattern: LitStr = input.parse().map_err(|_| wrong())?;
                if let Err(error) = regex_lite::Regex::new(&format!("^(?:{})$", pattern.value())) {
                    return Err(syn::Error::new(pattern.span(), format!("this is no regular expression: {error}")));
                }
                quote!(::pintle_schema::Text::Static(#pattern))
            }
            Payload::Detail | Payload::OptionalText => {
                let text = match input.parse::<Option<Token![=]>>()? {
                    Some(_) => input.parse::<LitStr>().map_err(|_| wrong())?.value(),
                    None => String::new(),
                };
                union.clone_from(&text);
                quote!(#text)
            }
            Payload::Texts => {
                let texts: Vec<LitStr> = match input.peek(syn::token::Paren) {
                    true => in_brackets(input)?,
                    false => Vec::new(),
                };
                quote!(&[#(#texts),*])
            }
            Payload::Changes => {
                let words: Vec<Ident> = if input.peek(syn::token::Paren) { in_brackets(input)? } else { Vec::new() };
                if words.is_empty() {
                    return Err(wrong());
                }
                let changes = words.iter().map(change).collect::<syn::Result<Vec<_>>>()?;
                quote!(&[#(#changes),*])
            }
            Payload::Literal => {
                input.parse::<Token![=]>().map_err(|_| wrong())?;
                let value: Expr = input.parse().map_err(|_| wrong())?;
                places = literal_places(&value).ok_or_else(wrong)?;
                literal(&value)
            }
            Payload::Member => {
                let payload;
                (union, payload) = member(input, tag)?;
                payload
            }
            Payload::Pairs => {
                let pairs: Vec<Pair> = if input.peek(syn::token::Paren) { in_brackets(input)? } else { Vec::new() };
                if pairs.is_empty() {
                    return Err(wrong());
                }
                let pairs = pairs.iter().map(|Pair(key, value)| {
                    let key = camel_case(key);
                    quote!((#key, #value))
                });
                quote!(&[#(#pairs),*])
            }
            Payload::Field => {
                let Word(name) = one_in_brackets(input, &wrong)?;
                let name = camel_case(&name);
                quote!(#name)
            }
            Payload::Gate => {
                let gate: Path = one_in_brackets(input, &wrong)?;
                quote!(&#gate)
            }
            Payload::Since => {
                let since: LitStr = one_in_brackets(input, &wrong)?;
                let is_release = |text: &str| {
                    let parts = text.split_once('.').map(|(major, minor)| (major.parse::<u16>(), minor.parse::<u16>()));
                    matches!(parts, Some((Ok(_), Ok(_))))
                };
                if !is_release(&since.value()) {
                    let text = format!("{:?} is no release; written `{}`", since.value(), tag.example);
                    return Err(syn::Error::new(since.span(), text));
                }
                quote!(#since)
            }
            Payload::Path => {
                input.parse::<Token![=]>().map_err(|_| wrong())?;
                let path: Path = input.parse().map_err(|_| wrong())?;
                quote!(#path)
            }
            Payload::External => external(input, &wrong)?,
        };
        let inner = if tag.chained { chain(input, &wrong)? } else { Vec::new() };
        Ok(RuleTag { tag, span: name.span(), payload, inner, places, number, union })
    }

    /// Checks the tag against its type; `None` if the type is another struct's.
    fn check(&self, place: Option<Place>, ty: Option<&Type>) -> syn::Result<()> {
        let tag = self.tag;
        let fail = |text: String| Err(syn::Error::new(self.span, text));
        if let Some(place) = place
            && !self.places.meets(place)
        {
            return match place {
                Place::TYPE => fail(format!("`{}` belongs to a field, and this is a struct", tag.name)),
                place => fail(format!("`{}` is for {}, and this is {}", tag.name, self.places.words(), place.words())),
            };
        }
        if tag.name == "enum" && place == Some(Place::STRING) && self.names_nothing() {
            return fail("a `String` has no values of its own; written `enum(\"a\", \"b\")`".to_owned());
        }
        for inner in &self.inner {
            // Unions are collected from the fields of the struct; only stages and items are searched.
            let of_union = matches!(inner.tag.payload, Payload::Member | Payload::OptionalText);
            let member = matches!(inner.tag.name, "union_member" | "zero_or_one_of");
            let looked_into = tag.payload == Payload::Since || member && tag.name == "item";
            if of_union && !looked_into {
                let text =
                    format!("`{}` stands beside the field's other tags, not inside `{}`", inner.tag.name, tag.name);
                return Err(syn::Error::new(inner.span, text));
            }
            if tag.payload == Payload::Since && inner.tag.payload == Payload::Since {
                let text = format!("`{}` inside `{}`: a rule is in one stage", inner.tag.name, tag.name);
                return Err(syn::Error::new(inner.span, text));
            }
        }
        let inner = match tag.name {
            "each_key" | "each_entry_key" => (Some(Place::STRING), None),
            "each_val" | "item" => {
                let elem = ty.and_then(|ty| generic(ty, "Vec").or_else(|| generic(ty, "BTreeMap")));
                (elem.and_then(place_of), elem)
            }
            "subfield" => (None, None),
            _ => (place, ty),
        };
        check_all(&self.inner, inner.0, inner.1)
    }

    /// Whether a payload of texts is empty.
    fn names_nothing(&self) -> bool {
        self.payload.to_string().replace(' ', "") == "&[]"
    }

    /// A named type is known to the compiler only, so the emitted code checks it.
    fn assert(&self, ty: &Type, out: &mut TokenStream) {
        let inner = match self.tag.name {
            "each_key" | "each_entry_key" | "subfield" => return,
            "each_val" | "item" => generic(ty, "Vec").or_else(|| generic(ty, "BTreeMap")),
            _ => Some(ty),
        };
        // Sibling fields have other types than this field.
        if let Some(inner) = inner {
            self.inner.iter().for_each(|rule| rule.assert(inner, out));
        }
        if place_of(ty).is_some() || self.places.0 & Place::ANY.0 == Place::ANY.0 {
            return;
        }
        let (places, written) = (self.places.0, quote!(#ty).to_string().replace(' ', ""));
        let text = format!("`{}` is for {}, and this is a `{written}`", self.tag.name, self.places.words());
        out.extend(quote_spanned! { self.span =>
            const _: () = {
                const TYPE: &::pintle_schema::Type = &<#ty as ::pintle_schema::ApiValue>::TYPE;
                ::core::assert!(::pintle_schema::rules::may_stand(TYPE, #places), #text);
            };
        });
    }

    /// The tag, or its inner tags if it only states their stage.
    fn staged(&self) -> impl Iterator<Item = &RuleTag> {
        match self.tag.payload {
            Payload::Since => self.inner.iter(),
            _ => std::slice::from_ref(self).iter(),
        }
    }

    fn emit(&self) -> TokenStream {
        let variant = Ident::new(self.tag.variant, self.span);
        let inner = emit(&self.inner);
        match (self.payload.is_empty(), self.tag.chained) {
            (true, false) => quote!(::pintle_schema::rules::Rule::#variant),
            (false, false) => {
                let payload = &self.payload;
                quote!(::pintle_schema::rules::Rule::#variant(#payload))
            }
            (true, true) => quote!(::pintle_schema::rules::Rule::#variant(#inner)),
            (false, true) => {
                let payload = &self.payload;
                quote!(::pintle_schema::rules::Rule::#variant(#payload, #inner))
            }
        }
    }
}

/// A list of rules as an expression.
pub fn emit(rules: &[RuleTag]) -> TokenStream {
    let rules = rules.iter().map(RuleTag::emit);
    quote!(::pintle_schema::Slice::Static(&[#(#rules),*]))
}

/// The checks of a field with a named type, for the compiler.
pub fn assertions(rules: &[RuleTag], ty: &Type) -> TokenStream {
    let mut out = TokenStream::new();
    rules.iter().for_each(|rule| rule.assert(generic(ty, "Option").unwrap_or(ty), &mut out));
    out
}

/// Checks the rules of fields that refer to each other.
pub fn check_unions(fields: &[&[RuleTag]]) -> syn::Result<()> {
    let all = || fields.iter().flat_map(|rules| rules.iter()).flat_map(RuleTag::staged);
    let has = |name: &str, union: &str| all().any(|rule| rule.tag.name == name && rule.union == union);
    for rule in all() {
        let needed = match rule.tag.name {
            "member" => "discriminator",
            "discriminator" => "member",
            "union_discriminator" => "union_member",
            _ => continue,
        };
        if !has(needed, &rule.union) {
            let text = format!("`{}` needs a field tagged `{needed}` beside it", rule.tag.name);
            return Err(syn::Error::new(rule.span, text));
        }
    }
    Ok(())
}

/// Checks the rules of a field against its default.
pub fn check_default(rules: &[RuleTag], number: Option<i64>, pointer: bool) -> syn::Result<()> {
    let lenient = !pointer && rules.iter().any(|rule| rule.tag.name == "optional") && number == Some(0);
    for rule in rules {
        let refused = match (rule.tag.name, rule.number, number) {
            ("forbidden", ..) => true,
            ("minimum", Some(least), Some(number)) => number < least && !lenient,
            ("maximum", Some(most), Some(number)) => number > most && !lenient,
            _ => false,
        };
        if refused {
            return Err(syn::Error::new(rule.span, format!("`{}` refuses the field's default", rule.tag.name)));
        }
    }
    Ok(())
}

/// Checks the rules of a field against its type and against each other.
pub fn check_field(rules: &[RuleTag], shape: Shape, ty: &Type) -> syn::Result<()> {
    check_all(rules, place(shape), Some(generic(ty, "Option").unwrap_or(ty)))
}

/// Checks the rules of a struct against each other.
pub fn check_struct(rules: &[RuleTag]) -> syn::Result<()> {
    check_all(rules, Some(Place::TYPE), None)
}

fn check_all(rules: &[RuleTag], place: Option<Place>, ty: Option<&Type>) -> syn::Result<()> {
    for (at, rule) in rules.iter().enumerate() {
        rule.check(place, ty)?;
        for before in &rules[..at] {
            if rule.tag.excludes.contains(&before.tag.name) {
                let text = match rule.tag.name == before.tag.name {
                    true => format!("`{}` stands twice: one of them must go", rule.tag.name),
                    false => format!("`{}` contradicts `{}`: one of them must go", rule.tag.name, before.tag.name),
                };
                return Err(syn::Error::new(rule.span, text));
            }
            let bounds = [("minimum", "maximum"), ("min_length", "max_length"), ("min_items", "max_items")];
            for (low, high) in bounds {
                let (low, high) = match (before.tag.name, rule.tag.name) {
                    (b, r) if b == low && r == high => (before.number, rule.number),
                    (b, r) if b == high && r == low => (rule.number, before.number),
                    _ => continue,
                };
                if low > high {
                    let text = format!("`{}` contradicts `{}`: no value meets both", rule.tag.name, before.tag.name);
                    return Err(syn::Error::new(rule.span, text));
                }
            }
        }
    }
    Ok(())
}

fn place_of(ty: &Type) -> Option<Place> {
    place(shape(generic(ty, "Option").unwrap_or(ty)))
}

fn place(shape: Shape) -> Option<Place> {
    Some(match shape {
        Shape::List => Place::LIST,
        Shape::Map => Place::MAP,
        Shape::Bool => Place::BOOL,
        Shape::Int => Place::INT,
        Shape::String => Place::STRING,
        // A struct, or a named string or list: known when rules are compiled.
        Shape::Other => return None,
    })
}

/// A name, which may be a Rust keyword.
struct Word(Ident);

impl syn::parse::Parse for Word {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        Ident::parse_any(input).map(Word)
    }
}

struct Pair(Ident, LitStr);

impl syn::parse::Parse for Pair {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let key = Ident::parse_any(input)?;
        input.parse::<Token![=]>()?;
        Ok(Pair(key, input.parse()?))
    }
}

fn in_brackets<T: syn::parse::Parse>(input: ParseStream) -> syn::Result<Vec<T>> {
    let content;
    parenthesized!(content in input);
    Ok(Punctuated::<T, Token![,]>::parse_terminated(&content)?.into_iter().collect())
}

fn one_in_brackets<T: syn::parse::Parse>(input: ParseStream, wrong: &dyn Fn() -> syn::Error) -> syn::Result<T> {
    if !input.peek(syn::token::Paren) {
        return Err(wrong());
    }
    let content;
    parenthesized!(content in input);
    let one = content.parse().map_err(|_| wrong())?;
    if content.is_empty() { Ok(one) } else { Err(wrong()) }
}

fn chain(input: ParseStream, wrong: &dyn Fn() -> syn::Error) -> syn::Result<Vec<RuleTag>> {
    if !input.peek(syn::token::Paren) {
        return Err(wrong());
    }
    let content;
    parenthesized!(content in input);
    let read = |input: ParseStream| {
        let name = Ident::parse_any(input)?;
        let tag = pintle_tags::find(&name.to_string()).ok_or_else(|| unknown(&name))?;
        RuleTag::read(&name, tag, input)
    };
    let rules: Vec<RuleTag> =
        Punctuated::<RuleTag, Token![,]>::parse_terminated_with(&content, read)?.into_iter().collect();
    if rules.is_empty() { Err(wrong()) } else { Ok(rules) }
}

/// The error for an unknown tag.
fn unknown(name: &Ident) -> syn::Error {
    let known = nearest(&name.to_string(), pintle_tags::CATALOGUE.iter().map(|tag| tag.name));
    syn::Error::new(name.span(), format!("unknown rule `{name}`; {known}"))
}

/// The comparable value of a literal.
fn literal_places(value: &Expr) -> Option<Place> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(_), .. }) => Some(Place::STRING),
        Expr::Lit(ExprLit { lit: Lit::Bool(_), .. }) => Some(Place::BOOL),
        Expr::Lit(ExprLit { lit: Lit::Int(_), .. }) | Expr::Unary(_) => Some(Place::INT),
        _ => None,
    }
}

fn change(word: &Ident) -> syn::Result<TokenStream> {
    match word.to_string().as_str() {
        "no_set" => Ok(quote!(::pintle_schema::rules::Change::NoSet)),
        "no_unset" => Ok(quote!(::pintle_schema::rules::Change::NoUnset)),
        "no_modify" => Ok(quote!(::pintle_schema::rules::Change::NoModify)),
        _ => Err(syn::Error::new(word.span(), format!("`{word}` is not one of no_set, no_unset, no_modify"))),
    }
}

/// The union, and both names as an expression.
fn member(input: ParseStream, tag: &Tag) -> syn::Result<(String, TokenStream)> {
    let (mut union, mut value) = (String::new(), String::new());
    if input.peek(syn::token::Paren) {
        for Pair(key, text) in in_brackets::<Pair>(input)? {
            match key.to_string().as_str() {
                "union" => union = text.value(),
                "value" => value = text.value(),
                _ => {
                    let text = format!("unknown word `{key}` in `{}`; written `{}`", tag.name, tag.example);
                    return Err(syn::Error::new(key.span(), text));
                }
            }
        }
    }
    let payload = quote!(::pintle_schema::rules::Member { union: #union, value: #value });
    Ok((union, payload))
}

fn external(input: ParseStream, wrong: &dyn Fn() -> syn::Error) -> syn::Result<TokenStream> {
    if !input.peek(syn::token::Paren) {
        return Err(wrong());
    }
    let content;
    parenthesized!(content in input);
    let path: Path = content.parse().map_err(|_| wrong())?;
    let payload = match content.parse::<Option<Token![,]>>()? {
        Some(_) if content.peek(LitStr) => {
            let texts: Vec<LitStr> = Punctuated::<LitStr, Token![,]>::parse_terminated(&content)?.into_iter().collect();
            match texts.as_slice() {
                [text] => quote!(::pintle_schema::rules::Payload::Text(#text)),
                texts => quote!(::pintle_schema::rules::Payload::Texts(&[#(#texts),*])),
            }
        }
        Some(_) if !content.is_empty() => {
            let number: Expr = content.parse()?;
            quote!(::pintle_schema::rules::Payload::Int(#number))
        }
        _ => quote!(::pintle_schema::rules::Payload::None),
    };
    Ok(quote!(&#path, #payload))
}
