//! Columns of tables that a definition names: a JSONPath each, of which the first value found is shown.
//!
//! Fields, indexes, wildcards and comparisons in filters are known; a path of another form shows nothing. Must never fail.

use pintle_resource::{Column, Now, Printer};
use pintle_schema::{Str, Time, Value};

/// The columns of a version.
pub struct Columns {
    columns: Vec<(Column, Vec<Step>)>,
}

/// One step down into a value.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    /// From the end when negative.
    Index(i64),
    All,
    /// Items whose value at a path compares so with a literal.
    Filter(Vec<Step>, Comparison, Value),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Comparison {
    Equal,
    NotEqual,
}

impl Columns {
    /// The columns as a definition states them in its stored form; the age where it states none.
    pub fn new(columns: &[Value]) -> Self {
        let text = |value: &Value, name: &str| Str::new(value.get(name).and_then(Value::as_str).unwrap_or_default());
        let stated = columns.iter().map(|column| {
            let path = text(column, "JSONPath");
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
            (column, parse(&path).unwrap_or_else(|| vec![Step::Index(0)]))
        });
        let mut columns: Vec<_> = stated.collect();
        if columns.is_empty() {
            let age = Column {
                name: "Age".into(),
                ty: "date".into(),
                format: Str::default(),
                description: "When the server created the object, in UTC.".into(),
                priority: 0,
            };
            let path = ["metadata", "creationTimestamp"].map(|field| Step::Field(field.to_owned()));
            columns.push((age, path.to_vec()));
        }
        Columns { columns }
    }
}

impl Printer for Columns {
    fn columns(&self) -> Vec<Column> {
        let name = Column {
            name: "Name".into(),
            ty: "string".into(),
            format: "name".into(),
            description: "Name of the object, unique among its kind and namespace.".into(),
            priority: 0,
        };
        std::iter::once(name).chain(self.columns.iter().map(|(column, _)| column.clone())).collect()
    }

    fn cells(&self, object: &Value, now: &Now) -> Vec<Value> {
        let name = Value::from(object.str_at(&["metadata", "name"]));
        let cell = |(column, path): &(Column, Vec<Step>)| match first(object, path) {
            Some(value) => shown(&column.ty, value, now),
            None => Value::Null,
        };
        std::iter::once(name).chain(self.columns.iter().map(cell)).collect()
    }
}

fn shown(ty: &str, value: &Value, now: &Now) -> Value {
    match (ty, value) {
        (_, Value::Null) => Value::Null,
        ("string", Value::String(_)) | ("integer", Value::Int(_)) | ("boolean", Value::Bool(_)) => value.clone(),
        ("number", Value::Int(_) | Value::Float(_)) => value.clone(),
        ("string", other) => pintle_codec::json::to_string(other).into(),
        ("integer", Value::Float(number)) => Value::Int(*number as i64),
        ("date", Value::String(text)) => match Time::parse(text) {
            Ok(time) if time.is_zero() => "<unknown>".into(),
            Ok(time) => now.since(time.civil().seconds()).into(),
            Err(_) => "<invalid>".into(),
        },
        _ => Value::Null,
    }
}

/// The first value that a path leads to.
fn first<'a>(value: &'a Value, path: &[Step]) -> Option<&'a Value> {
    let Some((step, rest)) = path.split_first() else { return Some(value) };
    match step {
        Step::Field(name) => first(value.get(name)?, rest),
        Step::Index(at) => {
            let items = value.as_list()?;
            let at = if *at < 0 { i64::try_from(items.len()).ok()? + at } else { *at };
            first(items.get(usize::try_from(at).ok()?)?, rest)
        }
        Step::All => match value {
            Value::List(items) => items.iter().find_map(|item| first(item, rest)),
            Value::Map(map) => map.values().find_map(|item| first(item, rest)),
            _ => None,
        },
        Step::Filter(path, comparison, literal) => {
            let is = |item: &&Value| {
                first(item, path).is_some_and(|found| (found == literal) == (*comparison == Comparison::Equal))
            };
            value.as_list()?.iter().filter(is).find_map(|item| first(item, rest))
        }
    }
}

/// Reads a path; `None` when it has a form that is not known.
fn parse(path: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let end = closing(inside)?;
            steps.push(bracket(&inside[..end])?);
            rest = &inside[end + 1..];
        } else {
            let (name, after) = field(rest.strip_prefix('.')?)?;
            steps.extend(match name.as_str() {
                "" => None,
                "*" => Some(Step::All),
                _ => Some(Step::Field(name)),
            });
            rest = after;
        }
    }
    Some(steps)
}

/// Where a bracket ends, those in quotes left out.
fn closing(text: &str) -> Option<usize> {
    let (mut quote, mut depth) = (None, 0_usize);
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(open), letter) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(letter),
            (None, '[') => depth += 1,
            (None, ']') if depth == 0 => return Some(at),
            (None, ']') => depth -= 1,
            _ => {}
        }
    }
    None
}

/// A name up to the next step, with what a backslash escapes.
fn field(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '.' | '[' => return Some((name, &text[at..])),
            '\\' => name.push(letters.next()?.1),
            letter => name.push(letter),
        }
    }
    Some((name, ""))
}

fn bracket(inside: &str) -> Option<Step> {
    if inside == "*" {
        return Some(Step::All);
    }
    if let Some(name) = quoted(inside) {
        return Some(Step::Field(name.to_owned()));
    }
    if let Some(filter) = inside.strip_prefix("?(").and_then(|inside| inside.strip_suffix(')')) {
        let (left, comparison, right) = match (filter.split_once("=="), filter.split_once("!=")) {
            (Some((left, right)), _) => (left, Comparison::Equal, right),
            (None, Some((left, right))) => (left, Comparison::NotEqual, right),
            (None, None) => return None,
        };
        let path = parse(left.trim().strip_prefix('@')?)?;
        return Some(Step::Filter(path, comparison, literal(right.trim())?));
    }
    inside.parse().ok().map(Step::Index)
}

fn quoted(text: &str) -> Option<&str> {
    let of = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    of('\'').or(of('"'))
}

fn literal(text: &str) -> Option<Value> {
    if let Some(text) = quoted(text) {
        return Some(Value::from(text));
    }
    match text {
        "true" => Some(true.into()),
        "false" => Some(false.into()),
        number => number.parse::<i64>().map(Value::Int).or_else(|_| number.parse().map(Value::Float)).ok(),
    }
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
                "l": [{"x": "a"}, {"x": "b"}], "o": {"k": "v"}}});
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
            ("string", ".metadata.labels['app.io/x']", value!("lab")),
            ("integer", ".spec.s", Value::Null),
            ("string", ".spec.i", value!("5")),
            ("string", ".spec.none", Value::Null),
            ("string", ".spec.l[?(x)]", Value::Null),
        ];
        for (ty, path, cell) in rows {
            let columns = Columns::new(&[column(ty, path)]);
            assert_eq!(columns.cells(&object, &Now::At(100)), [value!("a"), cell], "{path}");
        }
        let plain = Columns::new(&[]);
        let names: Vec<Str> = plain.columns().into_iter().map(|column| column.name).collect();
        assert_eq!(names, ["Name", "Age"]);
    }
}
