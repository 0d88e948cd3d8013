//! The CEL declarations of a definition's schema.
//!
//! Reads the parsed schema in place. Must be equivalent to the schema in JSON.

use crate::json_schema::JsonSchema;
use pintle_cel::OpenApi;
use pintle_schema::{Str, Value};

fn bound(bound: Option<i64>) -> Option<u64> {
    bound.map(|bound| u64::try_from(bound).unwrap_or_default())
}

impl OpenApi for JsonSchema {
    fn kind(&self) -> &str {
        &self.kind
    }

    fn format(&self) -> &str {
        &self.format
    }

    fn is_nullable(&self) -> bool {
        self.nullable
    }

    fn is_int_or_string(&self) -> bool {
        self.int_or_string
    }

    fn is_embedded(&self) -> bool {
        self.embedded_resource
    }

    fn has_default(&self) -> bool {
        self.default.is_some()
    }

    fn max_length(&self) -> Option<u64> {
        bound(self.max_length)
    }

    fn max_items(&self) -> Option<u64> {
        bound(self.max_items)
    }

    fn max_properties(&self) -> Option<u64> {
        bound(self.max_properties)
    }

    fn longest_of_enum(&self) -> Option<u64> {
        let longest = || self.values.iter().filter_map(Value::as_str).map(str::len).max().unwrap_or(0);
        (!self.values.is_empty()).then(|| longest() as u64)
    }

    fn requires(&self, property: &str) -> bool {
        self.required.iter().any(|name| name == property)
    }

    fn list_type(&self) -> &str {
        self.list_type.as_deref().unwrap_or_default()
    }

    fn list_map_keys(&self) -> Vec<Str> {
        self.list_map_keys.clone()
    }

    fn items(&self) -> Option<&Self> {
        self.item()
    }

    fn additional(&self) -> Option<&Self> {
        JsonSchema::additional(self)
    }

    fn property(&self, name: &str) -> Option<&Self> {
        JsonSchema::property(self, name)
    }

    fn each_property<'s>(&'s self, each: &mut dyn FnMut(&Str, &'s Self)) {
        self.properties.iter().for_each(|(name, schema)| each(name, schema));
    }
}
