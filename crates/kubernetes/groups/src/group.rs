//! Helpers with which the modules of the groups define them.
//!
//! Must not know a kind, nor a group.

use crate::defaulting::{DatedRule, Rule};
use crate::rules::internal_form;
use pintle_resource::{DefaultFunction, DefaultFunctions, GroupVersion, Resource};
use pintle_schema::{Str, Struct};
use pintle_validation::Validator;
use std::sync::Arc;

/// A version and how it ranks in its group.
pub(crate) fn version(name: &'static str, priority: i32) -> GroupVersion {
    GroupVersion { name: Str::new_static(name), priority }
}

/// A table of rules.
type Rules = &'static pintle_validation::Group;

/// Functions for the types that the objects of a group consist of, those of other groups included.
#[derive(Default)]
pub(crate) struct TypeFunctions {
    rules: Vec<Rules>,
    defaults: Vec<(&'static Struct, DefaultFunction)>,
}

impl TypeFunctions {
    /// With validation that no tag expresses.
    pub fn rules(mut self, rules: &[Rules]) -> Self {
        self.rules.extend(rules);
        self
    }

    /// With defaults that are no constants. Those of one type run in the order in which they are given.
    pub fn defaults(mut self, defaults: &[Rule]) -> Self {
        self.defaults.extend(defaults.iter().map(|(schema, fill)| (schema(), DefaultFunction::Plain(*fill))));
        self
    }

    /// With defaults that are the time.
    pub fn dated_defaults(mut self, defaults: &[DatedRule]) -> Self {
        self.defaults.extend(defaults.iter().map(|(schema, fill)| (schema(), DefaultFunction::Dated(*fill))));
        self
    }

    /// Gives the functions to the resources of a group.
    pub fn complete(self, resources: Vec<Resource>) -> Vec<Arc<Resource>> {
        let rules = Arc::new(Validator::new(&self.rules).showing(internal_form::full));
        let defaults = Arc::new(self.default_functions());
        let complete = |resource| Arc::new(Resource { rules: rules.clone(), defaults: defaults.clone(), ..resource });
        resources.into_iter().map(complete).collect()
    }

    pub fn default_functions(self) -> DefaultFunctions {
        DefaultFunctions::new(self.defaults)
    }
}
