//! Defaults in definitions: each must be what its own schema accepts, without unknown fields.

use super::rules::RuleCompiler;
use crate::json_schema::JsonSchema;
use crate::object;
use crate::values::{Purpose, ValueSchema};
use pintle_validation::{ErrorList, FieldPath};

/// What is wrong with the defaults of a structural schema of an object.
pub(super) fn validate(
    schema: &JsonSchema,
    require_pruned: bool,
    compiler: Option<&dyn RuleCompiler>,
    path: &FieldPath<'_>,
) -> ErrorList {
    let mut walk = Walk { require_pruned, compiler, errors: ErrorList::default() };
    walk.schema(schema, true, false, path);
    walk.errors
}

struct Walk<'a> {
    require_pruned: bool,
    compiler: Option<&'a dyn RuleCompiler>,
    errors: ErrorList,
}

impl Walk<'_> {
    fn schema(&mut self, schema: &JsonSchema, is_root: bool, inside_meta: bool, path: &FieldPath<'_>) {
        let is_object = is_root || schema.embedded_resource;
        let inside_meta = inside_meta && !is_object;
        if let Some(default) = &schema.default {
            let at = path.child("default");
            let before = self.errors.0.len();
            if self.require_pruned && !inside_meta {
                let mut pruned = default.clone();
                object::prune(&mut pruned, schema, is_object);
                if pruned != *default {
                    self.errors.invalid(at, default.clone(), "must not have unknown fields");
                }
            }
            let mut found = ErrorList::default();
            if !inside_meta {
                object::validate_embedded(default, schema, is_object, &at, &mut found);
            }
            if found.is_empty() {
                found = ValueSchema::new(schema, Purpose::Defaults).validate(default, None, Some(&at));
            }
            self.errors.0.extend(found.0);
            if let Some(compiler) = self.compiler.filter(|_| self.errors.0.len() == before) {
                compiler.validate_default(schema, is_object, &at, &mut self.errors);
            }
        }
        if let Some(item) = schema.item() {
            self.schema(item, false, inside_meta, &path.child("items"));
        }
        for (name, property) in &schema.properties {
            let of_meta = inside_meta || is_object && object::META_FIELDS.contains(&name.as_str());
            self.schema(property, false, of_meta, &path.child("properties").key(name));
        }
    }
}

/// Whether a schema has a default with fields that the schema does not know.
pub(super) fn has_unpruned(schema: &JsonSchema) -> bool {
    schema.any(&mut |schema| {
        schema.default.as_ref().is_some_and(|default| {
            let mut pruned = default.clone();
            object::prune(&mut pruned, schema, schema.embedded_resource);
            pruned != *default
        })
    })
}
