//! `Environment`: what an expression may use, and compiling against it.
//!
//! The libraries of a version are collected once and shared; an environment adds variables and types. Stored expressions
//! are compiled against all libraries there are, new ones against those that the oldest compatible version has.

mod libraries;
mod messages;
mod presets;

use crate::error::EvalError;
use crate::function::Function;
use crate::issue::Issues;
use crate::parser::{self, Syntax};
use crate::program::{Checked, Program};
use crate::schema::Decl;
use crate::types::Type;
use pintle_schema::Str;
use std::collections::HashMap;
use std::sync::Arc;

pub use libraries::{CURRENT_MINOR, NEW_EXPRESSIONS_MINOR, OLDEST_MINOR};
pub use presets::Policy;

/// Why an expression is not a program.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CompileError {
    /// It does not parse or does not check.
    #[error("{0}")]
    Issues(Box<Issues>),
    /// A constant part of it cannot be evaluated.
    #[error("{0}")]
    Program(EvalError),
}

/// Objects that expressions can make, besides those of schemas.
#[derive(Clone, Debug)]
enum Struct {
    Declared(Arc<Decl>),
    /// Fields by name.
    Fields(HashMap<Str, Type>),
}

/// Where sizes are looked up.
#[derive(Clone, Debug)]
pub(crate) struct Sizing {
    pub decl: Arc<Decl>,
    /// The only variable whose paths are looked up. kube-apiserver does not look at the variable in rules of custom
    /// resources.
    pub variable: Option<Str>,
}

/// What an expression may use.
#[derive(Clone, Debug)]
pub struct Environment {
    functions: Arc<libraries::Functions>,
    syntax: Syntax,
    variables: HashMap<Str, Type>,
    structs: HashMap<Str, Struct>,
    /// The schema whose objects are known by their places, and the beginning of their names.
    schema: Option<(Str, Arc<Decl>)>,
    /// What bounds the sizes of data.
    sizes: Option<Sizing>,
    /// Whether types are known to the checker by the names that schemas give them.
    has_schema_types: bool,
    /// Whether `Object{}` and `JSONPatch{}` can be made.
    has_mutations: bool,
}

impl Environment {
    /// The libraries that version 1.`minor` enables, without variables.
    pub fn new(minor: u32) -> Environment {
        Environment {
            functions: libraries::of(minor),
            syntax: Syntax { optionals: minor >= 28, two_variables: minor >= 32, sort_by: minor >= 34, bind: false },
            variables: HashMap::new(),
            structs: HashMap::new(),
            schema: None,
            sizes: None,
            has_schema_types: false,
            has_mutations: false,
        }
    }

    /// The environment of new expressions.
    pub fn for_new_expressions() -> Environment {
        Environment::new(NEW_EXPRESSIONS_MINOR)
    }

    /// The environment of expressions that were stored when more may have been allowed.
    pub fn for_stored_expressions() -> Environment {
        Environment::new(CURRENT_MINOR)
    }

    /// Enables `cel.bind`.
    pub fn with_bind(mut self) -> Environment {
        self.syntax.bind = true;
        self
    }

    /// Enables `Object{}` and `JSONPatch{}`.
    pub fn with_mutations(mut self) -> Environment {
        self.has_mutations = true;
        self
    }

    /// Adds functions, in addition to those of the libraries.
    pub fn with_functions(mut self, functions: Vec<Function>) -> Environment {
        let mut all = HashMap::clone(&self.functions);
        libraries::add(&mut all, functions);
        self.functions = Arc::new(all);
        self
    }

    /// Declares a variable.
    pub fn with_variable(mut self, name: &str, ty: Type) -> Environment {
        self.variables.insert(Str::new(name), ty);
        self
    }

    /// Declares a variable whose value a schema describes; `None` of its type means `dyn`.
    pub fn with_declared(mut self, name: &str, decl: &Arc<Decl>) -> Environment {
        let ty = decl.ty.clone().unwrap_or(Type::Dyn);
        self.variables.insert(Str::new(name), ty);
        self.sizes = Some(Sizing { decl: decl.clone(), variable: None });
        self.has_schema_types = true;
        self.declare(decl);
        self
    }

    /// The environment of the rules of one schema, whose types are named after `name`: `self`, and `oldSelf` of the same
    /// type, or an optional of it. Nothing is copied from the declaration, however large it is.
    pub fn with_rule_variables(mut self, decl: &Arc<Decl>, name: &str, is_old_optional: bool) -> Environment {
        let ty = decl.ty.clone().unwrap_or(Type::Dyn);
        let old = if is_old_optional { Type::optional(ty.clone()) } else { ty.clone() };
        self.variables.insert(Str::new_static("self"), ty);
        self.variables.insert(Str::new_static("oldSelf"), old);
        self.sizes = Some(Sizing { decl: decl.clone(), variable: None });
        self.has_schema_types = true;
        self.schema = Some((Str::new(name), decl.clone()));
        self
    }

    /// Declares a variable, the only one whose declaration bounds sizes.
    fn with_sized(self, name: &str, decl: &Arc<Decl>) -> Environment {
        let mut environment = self.with_declared(name, decl);
        environment.sizes = Some(Sizing { decl: decl.clone(), variable: Some(Str::new(name)) });
        environment
    }

    fn with_schema_types(mut self) -> Environment {
        self.has_schema_types = true;
        self
    }

    /// Makes the objects of a declaration known by their names.
    fn declare(&mut self, decl: &Arc<Decl>) {
        match &decl.shape {
            crate::schema::Shape::Object { fields } => {
                if let Some(Type::Struct(name)) = &decl.ty
                    && self.structs.insert(name.clone(), Struct::Declared(decl.clone())).is_none()
                {
                    fields.iter().for_each(|field| self.declare(&field.decl));
                }
            }
            crate::schema::Shape::Map { values } => self.declare(values),
            crate::schema::Shape::List(items) => self.declare(items.shared()),
            _ => {}
        }
    }

    /// Declares a type with fields, such as the request of an admission.
    pub fn with_struct(mut self, name: &str, fields: Vec<(&str, Type)>) -> Environment {
        let fields = fields.into_iter().map(|(name, ty)| (Str::new(name), ty)).collect();
        self.structs.insert(Str::new(name), Struct::Fields(fields));
        self
    }

    /// Adds a field to a type that was declared with its fields.
    fn add_field(&mut self, name: &str, field: &str, ty: Type) {
        if let Some(Struct::Fields(fields)) = self.structs.get_mut(name) {
            fields.insert(Str::new(field), ty);
        }
    }

    /// Parses and checks an expression.
    ///
    /// # Errors
    ///
    /// What is wrong with it, with positions.
    pub fn check(&self, text: &str) -> Result<Checked<'_>, Box<Issues>> {
        let ast = parser::parse(text, self.syntax)?;
        Checked::new(ast, text, self).map_err(Box::new)
    }

    /// Parses, checks and plans an expression.
    ///
    /// # Errors
    ///
    /// What is wrong with it, with positions; or why a constant part of it has no value.
    pub fn compile(&self, text: &str) -> Result<Program, CompileError> {
        let checked = self.check(text).map_err(CompileError::Issues)?;
        checked.program().map_err(CompileError::Program)
    }

    pub(crate) fn function(&self, name: &str) -> Option<&Arc<Function>> {
        self.functions.get(name)
    }

    /// The type of a variable, or of the type that a name is.
    pub(crate) fn identifier(&self, name: &str) -> Option<Type> {
        if let Some(ty) = self.variables.get(name) {
            return Some(ty.clone());
        }
        if let Some(ty) = messages::named_type(name) {
            return Some(Type::type_of(ty));
        }
        if let Some(ty) = self.type_without_value(name) {
            return Some(Type::type_of(ty));
        }
        let is_made = self.structs.contains_key(name)
            || self.object_of_schema(name).is_some()
            || (self.has_mutations && messages::is_mutation(name));
        is_made.then(|| Type::type_of(Type::Struct(Str::new(name))))
    }

    /// A type that a schema makes known to the checker alone: there is no value for the name.
    pub(crate) fn type_without_value(&self, name: &str) -> Option<Type> {
        match name {
            "timestamp" if self.has_schema_types => Some(Type::Timestamp),
            "duration" if self.has_schema_types => Some(Type::Duration),
            _ => None,
        }
    }

    /// Whether a name is a variable, rather than a type.
    pub(crate) fn is_variable(&self, name: &str) -> bool {
        self.variables.contains_key(name)
    }

    fn object_of_schema(&self, name: &str) -> Option<&Decl> {
        let (prefix, decl) = self.schema.as_ref()?;
        decl.object_named(prefix, name)
    }

    /// Whether a name is that of an object with fields.
    pub(crate) fn has_struct(&self, name: &str) -> bool {
        self.structs.contains_key(name)
            || self.object_of_schema(name).is_some()
            || messages::fields(name).is_some()
            || (self.has_mutations && messages::is_mutation(name))
    }

    /// The type of a field of an object.
    pub(crate) fn field_type(&self, name: &str, field: &str) -> Option<Type> {
        if let Some(decl) = self.object_of_schema(name) {
            return decl.fields()?.by_escaped(field)?.decl.ty.clone();
        }
        match self.structs.get(name) {
            Some(Struct::Declared(decl)) => decl.fields()?.by_escaped(field)?.decl.ty.clone(),
            Some(Struct::Fields(fields)) => fields.get(field).cloned(),
            None if self.has_mutations && messages::is_mutation(name) => messages::mutation_field(name, field),
            None => messages::fields(name)?.iter().find(|(other, _)| *other == field).map(|(_, ty)| ty.clone()),
        }
    }

    /// The name under which fields of a type that is made are looked up.
    pub(crate) fn message_name(&self, ty: &Type) -> Option<Str> {
        match ty {
            Type::Struct(name) => Some(name.clone()),
            other => messages::well_known_name(other).map(Str::new_static),
        }
    }

    /// What bounds sizes.
    pub(crate) fn sizing(&self) -> Option<&Sizing> {
        self.sizes.as_ref()
    }
}
