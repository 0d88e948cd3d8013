//! Recorded cases: reading them, and what of their answers is the engine's.

use pintle_codec::{Strictness, json};
use pintle_schema::{Map, Value};
use std::io::Read;
use std::path::Path;

pub struct Case(Value);

/// The cases of a kind; `None` when there are no recordings.
pub fn load(kind: &str) -> Option<Vec<Case>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../../../shared/cel/{kind}.jsonl.gz"));
    let file = std::fs::File::open(path).ok()?;
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(file).read_to_string(&mut text).expect("recordings are texts");
    let parse = |line: &str| json::parse(line.as_bytes(), Strictness::Ignore).expect("recordings are JSON").value;
    Some(text.lines().map(|line| Case(parse(line))).collect())
}

/// Writes out what is abbreviated: repetitions and ranges.
pub fn grow(value: &Value) -> Value {
    match value {
        Value::Map(map) => {
            if map.len() == 1
                && let Some((key, args)) = map.iter().next()
                && let Some(grown) = grow_abbreviation(key, args)
            {
                return grown;
            }
            let mut grown = Map::new();
            map.iter().for_each(|(key, value)| {
                grown.set(key.clone(), grow(value));
            });
            Value::Map(grown)
        }
        Value::List(items) => Value::List(items.iter().map(grow).collect()),
        other => other.clone(),
    }
}

fn count(value: Option<&Value>) -> usize {
    value.and_then(Value::as_i64).and_then(|count| usize::try_from(count).ok()).unwrap_or(0)
}

fn grow_abbreviation(key: &str, args: &Value) -> Option<Value> {
    let list = args.as_list().unwrap_or(&[]);
    Some(match key {
        "$repeat" => match list.first()? {
            Value::String(text) => Value::from(text.repeat(count(list.get(1)))),
            item => Value::List(vec![grow(item); count(list.get(1))]),
        },
        "$range" => Value::List((0..args.as_i64()?).map(Value::Int).collect()),
        "$keys" => {
            let mut map = Map::new();
            for at in 0..count(list.get(1)) {
                map.set(format!("{}{at}", list.first()?.as_str()?), grow(list.get(2)?));
            }
            Value::Map(map)
        }
        _ => return None,
    })
}

impl Case {
    pub fn id(&self) -> &str {
        self.0.str_at(&["id"])
    }

    pub fn group(&self) -> &str {
        self.id().rsplit_once('-').map_or("", |(group, _)| group)
    }

    pub fn kind(&self) -> &str {
        self.0.str_at(&["kind"])
    }

    pub fn is_root(&self) -> bool {
        self.0.str_at(&["at"]) == "root"
    }

    pub fn get(&self, key: &str) -> Option<Value> {
        self.0.get(key).map(grow)
    }

    /// The schema with the case's rule in it.
    pub fn schema(&self) -> Value {
        let mut schema = self.get("schema").unwrap_or_else(Value::map);
        if let Some(rule) = self.get("rule") {
            let mut added = Value::map();
            added.make_map().set("rule", rule);
            if let Some(Value::Map(extra)) = self.get("extra") {
                extra.iter().for_each(|(key, value)| {
                    added.make_map().set(key.clone(), value.clone());
                });
            }
            let mut rules = schema.get("x-kubernetes-validations").and_then(Value::as_list).unwrap_or(&[]).to_vec();
            rules.push(added);
            schema.make_map().set("x-kubernetes-validations", Value::List(rules));
        }
        schema
    }

    pub fn shown(&self) -> String {
        let mut text = json::to_string(&self.0);
        if text.len() > 1500 {
            let end = (0..=1500).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text.truncate(end);
        }
        text
    }

    /// The messages wanted, sorted, without what the server adds; `None` when some of them are not the engine's.
    pub fn wanted(&self) -> Option<Vec<String>> {
        let want = self.0.get("want")?;
        if want.get("warn").is_some() || want.get("old").is_some() || want.get("code").is_some() {
            return None;
        }
        if let Some(said) = want.get("says").and_then(Value::as_list) {
            let expression = self.0.str_at(&["expression"]);
            let is_beyond = expression.contains("authorizer")
                || expression.contains("managedFields")
                || ["object", "oldObject", "request", "variables"].contains(&expression);
            return (!is_beyond).then(|| said.iter().filter_map(|text| text.as_str().map(str::to_string)).collect());
        }
        let mut all = Vec::new();
        for error in want.get("errors").and_then(Value::as_list).unwrap_or(&[]) {
            let parts: Vec<&str> = error.as_list()?.iter().filter_map(Value::as_str).collect();
            let [reason, field, message] = parts.as_slice() else { return None };
            if self.kind() == "post" {
                let is_of_expression =
                    ["compilation failed", "must evaluate to", "program instantiation", "too complex"]
                        .iter()
                        .any(|part| message.contains(part));
                if !is_of_expression {
                    return None;
                }
                all.push((*message).to_string());
                continue;
            }
            let is_rule = self.kind() != "compile";
            if is_rule && (message.contains("some validation rules were not checked") || message.contains(" in body "))
            {
                return None;
            }
            if message.starts_with("Duplicate value: {")
                || message.contains("Checked value must be of type")
                || reason.starts_with("FieldValueType")
            {
                return None;
            }
            if is_rule {
                all.push((*message).to_string());
                continue;
            }
            if message.contains("contributed to estimated rule cost") {
                continue;
            }
            if field.ends_with(".fieldPath")
                || field.ends_with(".optionalOldSelf")
                || message.starts_with("Internal error")
                || message.contains("oldSelf cannot be used")
                || message.starts_with("Required value")
                || message.contains("must not contain line breaks")
                || message.contains("must be non-empty if specified")
                || message.contains("must be empty to be structural")
                || *reason == "FieldValueNotSupported"
            {
                return None;
            }
            all.push(core(message));
        }
        all.sort();
        Some(all)
    }
}

/// The message behind the rule's JSON.
fn core(message: &str) -> String {
    match message.split_once("\"OptionalOldSelf\":") {
        Some((_, rest)) => rest.split_once("}: ").map_or(rest, |(_, core)| core).to_string(),
        None => message.to_string(),
    }
}
