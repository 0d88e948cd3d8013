//! Functions of URLs.
//!
//! Two URLs are equal if they print the same. What parses a text costs as much as reading it.

use super::args::{Result, failed, maps_argument, no_overload, one, texts, track_one, track_read};
use super::url::{Url, check_request_uri};
use crate::function::{Call, Function, Overload};
use crate::types::Type;
use crate::value::{Opaque, Value};

const TYPE: &str = "kubernetes.URL";

impl Opaque for Url {
    fn type_name(&self) -> &'static str {
        TYPE
    }

    fn type_of(&self) -> Type {
        Type::object(TYPE)
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref::<Url>().is_some_and(|other| self.to_string() == other.to_string())
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

/// The functions of the library.
pub fn functions() -> Vec<Function> {
    let url = || Type::object(TYPE);
    let get = |name, id, result, call: Call| {
        Function::new(name, vec![Overload::member(id, vec![url()], result, call)]).costing(one, track_one)
    };
    let parameters = Type::map(Type::String, Type::list(Type::String));
    vec![
        Function::new("url", vec![Overload::global("string_to_url", vec![Type::String], url(), parse)])
            .costing(maps_argument, track_read),
        Function::new("isURL", vec![Overload::global("is_url_string", vec![Type::String], Type::Bool, is_url)]),
        get("getScheme", "url_get_scheme", Type::String, |args| part(args, |url| url.scheme().to_owned())),
        get("getHost", "url_get_host", Type::String, |args| part(args, |url| url.host().into_owned())),
        get("getHostname", "url_get_hostname", Type::String, |args| part(args, |url| url.hostname().into_owned())),
        get("getPort", "url_get_port", Type::String, |args| part(args, |url| url.port().into_owned())),
        get("getEscapedPath", "url_get_escaped_path", Type::String, |args| part(args, Url::escaped_path)),
        get("getQuery", "url_get_query", parameters, query),
    ]
}

fn parse<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [Value::String(text)] = args else { return no_overload() };
    Url::parse(text)
        .map(Value::opaque)
        .map_err(|why| failed(format!("URL parse error during conversion from string: {why}")))
}

fn is_url<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [Value::String(text)] = args else { return no_overload() };
    Ok(Value::Bool(check_request_uri(text).is_ok()))
}

fn part<'a>(args: &[Value<'a>], part: impl Fn(&Url) -> String) -> Result<'a> {
    let [value] = args else { return no_overload() };
    value.as_opaque().map_or_else(no_overload, |url| Ok(Value::string(part(url))))
}

fn query<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [value] = args else { return no_overload() };
    let Some(url) = value.as_opaque::<Url>() else { return no_overload() };
    Value::map(url.query().into_iter().map(|(key, values)| (Value::string(key), texts(values))).collect())
}
