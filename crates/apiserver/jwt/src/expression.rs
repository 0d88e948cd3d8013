//! Expressions over the claims of a token, and over the mapped user. Guarantees a bounded cost. Must never see an unverified
//! claim: the caller provides the values.

use std::sync::{Arc, LazyLock};

use pintle_auth::{Str, UserInfo};
use pintle_cel::environment::CURRENT_MINOR;
use pintle_cel::value::{Entries, Map};
use pintle_cel::{CompileError, Environment, Program, Type, Value};
use pintle_schema::Value as Data;

/// The cost limit of one evaluation; kube-apiserver has no limit here.
const COST_LIMIT: u64 = 10_000_000;

static OVER_CLAIMS: LazyLock<Environment> = LazyLock::new(|| Environment::for_claims(CURRENT_MINOR));
static OVER_USER: LazyLock<Environment> = LazyLock::new(|| Environment::for_user(CURRENT_MINOR));

/// The required type of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returns {
    /// Checked when it is evaluated.
    Anything,
    Bool,
}

/// Why an expression is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    #[error("compilation failed: {0}")]
    Compile(String),
    #[error("must evaluate to {0}")]
    Type(Type),
    /// A constant part of it has no value.
    #[error("program instantiation failed: {0}")]
    Program(String),
}

/// A compiled expression.
#[derive(Clone, Debug)]
pub struct Expression {
    text: Str,
    variable: &'static str,
    program: Arc<Program>,
    reads: [bool; 2],
}

/// A rule that claims or a user must satisfy.
#[derive(Clone, Debug)]
pub struct Rule {
    pub expression: Expression,
    /// The error for a token that does not satisfy it.
    pub message: Str,
}

impl Expression {
    /// Compiles an expression over `claims`.
    ///
    /// # Errors
    /// It does not compile, or never has the type that it must have.
    pub fn over_claims(text: &str, returns: Returns) -> Result<Expression, ExpressionError> {
        Expression::compile(&OVER_CLAIMS, "claims", text, returns)
    }

    /// Compiles a rule over `user`.
    ///
    /// # Errors
    /// It does not compile, or is no truth value.
    pub fn over_user(text: &str) -> Result<Expression, ExpressionError> {
        Expression::compile(&OVER_USER, "user", text, Returns::Bool)
    }

    fn compile(
        environment: &Environment,
        variable: &'static str,
        text: &str,
        returns: Returns,
    ) -> Result<Expression, ExpressionError> {
        let checked = environment.check(text).map_err(|issues| ExpressionError::Compile(issues.to_string()))?;
        if returns == Returns::Bool && checked.output_type() != Type::Bool {
            return Err(ExpressionError::Type(Type::Bool));
        }
        let reads = ["email", "email_verified"].map(|claim| checked.selects("claims", claim));
        let program = checked.program().map_err(|error| ExpressionError::Program(error.to_string()))?;
        Ok(Expression { text: text.into(), variable, program: Arc::new(program), reads })
    }

    /// Whether it reads the claim `email`.
    pub fn reads_email(&self) -> bool {
        self.reads[0]
    }

    /// Whether it reads the claim `email_verified`.
    pub fn reads_email_verified(&self) -> bool {
        self.reads[1]
    }

    /// Its source.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The value for claims or for a user.
    pub(crate) fn evaluate<'a>(&'a self, value: &Value<'a>) -> Result<Value<'a>, String> {
        let evaluated = self.program.evaluate(&[(self.variable, value.clone())], COST_LIMIT);
        evaluated.value.map_err(|error| format!("expression '{}' resulted in error: {error}", self.text))
    }
}

impl From<CompileError> for ExpressionError {
    fn from(error: CompileError) -> Self {
        match error {
            CompileError::Issues(issues) => ExpressionError::Compile(issues.to_string()),
            CompileError::Program(error) => ExpressionError::Program(error.to_string()),
        }
    }
}

/// Claims as expressions see them. All numbers are doubles, as Go decodes JSON.
pub(crate) fn claims_value(data: &Data) -> Value<'static> {
    match data {
        Data::Null => Value::Null,
        Data::Bool(value) => Value::Bool(*value),
        Data::Int(number) => Value::Double(*number as f64),
        Data::Float(number) => Value::Double(*number),
        Data::String(text) | Data::Raw(text) => Value::string(text.clone()),
        Data::List(items) => Value::list(items.iter().map(claims_value).collect()),
        Data::Map(map) => map_value(map.iter().map(|(key, value)| (key.clone(), claims_value(value))).collect()),
    }
}

/// A user as expressions see it.
pub(crate) fn user_value(user: &UserInfo) -> Value<'static> {
    let strings = |list: &[Str]| Value::list(list.iter().map(|text| Value::string(text.clone())).collect());
    let extra = user.extra.iter().map(|(key, values)| (key.clone(), strings(values))).collect();
    let field = Str::new_static;
    map_value(vec![
        (field("username"), Value::string(user.name.clone())),
        (field("uid"), Value::string(user.uid.clone())),
        (field("groups"), strings(&user.groups)),
        (field("extra"), map_value(extra)),
    ])
}

fn map_value(entries: Vec<(Str, Value<'static>)>) -> Value<'static> {
    let entries = entries.into_iter().map(|(key, value)| (Value::string(key), value)).collect();
    // Keys that are text are always keys.
    let entries = Entries::new(entries).unwrap_or_default();
    Value::Map(Map::Entries(Arc::new(entries.taking_identifiers())))
}
