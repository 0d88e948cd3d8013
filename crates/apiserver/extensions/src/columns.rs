//! Table columns of a definition: a JSONPath each, of which the first value is shown. Guarantees kube-apiserver's cells, in
//! bounded time. Must never fail: a malformed path ends the columns, and a path that does not fit an object shows null.

use crate::json_path::{Found, JsonPath};
use pintle_resource::{CREATION_DESCRIPTION, Column, NAME_DESCRIPTION, Now, Printer};
use pintle_schema::compat;
use pintle_schema::{Str, Time, Value};

/// Shown for an absent time.
const UNKNOWN: &str = "<unknown>";

/// The columns of a version.
pub struct Columns {
    columns: Vec<(Column, JsonPath)>,
}

impl Columns {
    /// The columns of a definition in its stored form; the age if it has none.
    pub fn new(columns: &[Value]) -> Self {
        let text = |value: &Value, name: &str| Str::new(value.get(name).and_then(Value::as_str).unwrap_or_default());
        // kube-apiserver keeps the columns before the first malformed path.
        let stated = columns.iter().map_while(|column| {
            let path = text(column, "JSONPath");
            let parsed = JsonPath::parse(&path)?;
            let description = match text(column, "description") {
                none if none.is_empty() => {
                    Str::from(format!("Custom resource definition column (in JSONPath format): {path}"))
                }
                description => description,
            };
            let priority = column.get("priority").and_then(Value::as_i64).unwrap_or_default();
            let column = Column {
                name: text(column, "name"),
                ty: text(column, "type"),
                format: text(column, "format"),
                description,
                priority: i32::try_from(priority).unwrap_or_default(),
            };
            Some((column, parsed))
        });
        let mut stated: Vec<_> = stated.collect();
        if columns.is_empty() {
            let age = Column {
                name: "Age".into(),
                ty: "date".into(),
                format: Str::default(),
                description: Str::new_static(CREATION_DESCRIPTION),
                priority: 0,
            };
            stated.extend(JsonPath::parse(".metadata.creationTimestamp").map(|path| (age, path)));
        }
        Columns { columns: stated }
    }
}

impl Printer for Columns {
    fn columns(&self) -> Vec<Column> {
        let name = Column {
            name: "Name".into(),
            ty: "string".into(),
            format: "name".into(),
            description: Str::new_static(NAME_DESCRIPTION),
            priority: 0,
        };
        std::iter::once(name).chain(self.columns.iter().map(|(column, _)| column.clone())).collect()
    }

    fn cells(&self, object: &Value, now: &Now) -> Vec<Value> {
        let name = Value::from(object.str_at(&["metadata", "name"]));
        let cell = |(column, path): &(Column, JsonPath)| match path.first(object) {
            Some(found) => cell(&column.ty, found, now),
            None => Value::Null,
        };
        std::iter::once(name).chain(self.columns.iter().map(cell)).collect()
    }
}

fn cell(ty: &str, found: Found<'_>, now: &Now) -> Value {
    match (ty, found) {
        ("string", found) => printed(found),
        ("integer", Found::Value(Value::Int(int))) => (*int).into(),
        ("integer", Found::Value(&Value::Float(float)) | Found::Float(float)) => Value::Int(truncated(float)),
        ("number", Found::Value(Value::Int(int))) => Value::Float(*int as f64),
        ("number", Found::Value(&Value::Float(float)) | Found::Float(float)) => Value::Float(float),
        ("boolean", Found::Value(&Value::Bool(bool)) | Found::Bool(bool)) => bool.into(),
        ("date", found) => match found.text().map(|text| (text, Time::parse(text))) {
            None => Value::Null,
            Some(("" | "null", _)) => UNKNOWN.into(),
            Some((_, Ok(time))) if time.is_zero() => UNKNOWN.into(),
            Some((_, Ok(time))) => now.since(time.civil().seconds()).into(),
            Some((_, Err(_))) => "<invalid>".into(),
        },
        _ => Value::Null,
    }
}

/// A value in a column of strings: structures as JSON, the rest as Go prints it.
fn printed(found: Found<'_>) -> Value {
    match found {
        Found::Value(Value::Null) => "<no value>".into(),
        Found::Value(Value::String(text)) => text.clone().into(),
        Found::Value(Value::Float(float)) => compat::float::print_value(*float).into(),
        Found::Value(other) => pintle_codec::json::to_string(other).into(),
        Found::Text(text) => text.into(),
        Found::Byte(byte) => byte.to_string().into(),
        Found::Int(int) => int.to_string().into(),
        Found::Float(float) => compat::float::print_value(float).into(),
        Found::Bool(bool) => bool.to_string().into(),
    }
}

/// The integer part, the least integer if it has none: what Go's conversion gives on amd64.
fn truncated(float: f64) -> i64 {
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&float) { float as i64 } else { i64::MIN }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    #[test]
    fn cells_are_what_paths_lead_to() {
        let column = |ty: &str, path: &str| value!({"name": "C", "type": (ty), "JSONPath": (path)});
        let object = value!({"metadata": {"name": "a", "labels": {"app.io/x": "lab"}},
            "spec": {"s": "hey", "i": 5, "n": 1.5, "b": true, "d": "1970-01-01T00:00:10Z",
                "l": [{"x": "a"}, {"x": "b"}], "o": {"k": "v"}, "null": null, "huge": 1e21, "tiny": 1e-5,
                "html": {"a": "<"}, "empty": ""}});
        let rows = [
            ("string", ".spec.s", value!("hey")),
            ("integer", ".spec.i", value!(5)),
            ("number", ".spec.n", value!(1.5)),
            ("boolean", ".spec.b", value!(true)),
            ("date", ".spec.d", value!("90s")),
            ("date", ".spec.s", value!("<invalid>")),
            ("string", ".spec.l[0].x", value!("a")),
            ("string", ".spec.l[-1].x", value!("b")),
            ("string", ".spec.l[*].x", value!("a")),
            ("string", ".spec.o", value!("{\"k\":\"v\"}")),
            ("string", ".spec.l[?(@.x==\"b\")].x", value!("b")),
            ("string", ".metadata.labels.app\\.io/x", value!("lab")),
            ("string", ".metadata.labels['app\\.io/x']", value!("lab")),
            ("string", ".metadata.labels['app.io/x']", Value::Null),
            ("integer", ".spec.s", Value::Null),
            ("string", ".spec.i", value!("5")),
            ("string", ".spec.none", Value::Null),
            ("string", ".spec.l[?(x)]", value!("{\"x\":\"a\"}")),
            ("string", ".spec.l range", Value::Null),
            ("string", ".spec.null", value!("<no value>")),
            ("integer", ".spec.null", Value::Null),
            ("integer", ".spec.n", value!(1)),
            ("integer", ".spec.huge", value!(i64::MIN)),
            ("number", ".spec.i", Value::Float(5.0)),
            ("string", ".spec.huge", value!("1e+21")),
            ("string", ".spec.tiny", value!("1e-05")),
            ("string", ".spec.html", value!("{\"a\":\"\\u003c\"}")),
            ("date", ".spec.empty", value!("<unknown>")),
            ("date", ".spec.i", Value::Null),
            ("string", ".spec.s.*", value!("104")),
            ("integer", ".spec.s.*", Value::Null),
            ("string", ". 'text'", value!("text")),
            ("integer", ".metadata 5", Value::Null),
            ("number", ".metadata 5.5", value!(5.5)),
        ];
        for (ty, path, cell) in rows {
            let columns = Columns::new(&[column(ty, path)]);
            assert_eq!(columns.cells(&object, &Now::At(100)), [value!("a"), cell], "{path}");
        }
        let names = |columns: &[Value]| -> Vec<Str> {
            Columns::new(columns).columns().into_iter().map(|column| column.name).collect()
        };
        assert_eq!(names(&[]), ["Name", "Age"]);
        assert_eq!(names(&[column("string", ".a"), column("string", ".a[b]"), column("string", ".c")]), ["Name", "C"]);
        assert_eq!(names(&[column("string", ".a[b]")]), ["Name"]);
    }
}
