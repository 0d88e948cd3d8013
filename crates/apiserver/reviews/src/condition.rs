//! Match conditions: expressions over a SubjectAccessReview that select the requests for a webhook. Guarantees that a false
//! condition decides, even if others fail. Must never cost more than the limit.

use std::sync::{Arc, LazyLock};

use pintle_auth::{Attributes, Str, UserInfo};
use pintle_cel::environment::CURRENT_MINOR;
use pintle_cel::value::{Entries, Map};
use pintle_cel::{Environment, Program, Type, Value};
use pintle_schema::Value as Data;

/// The cost limit of one evaluation; kube-apiserver has no limit here.
const COST_LIMIT: u64 = 10_000_000;

static ENVIRONMENT: LazyLock<Environment> = LazyLock::new(|| Environment::for_access_review(CURRENT_MINOR));

/// Why an expression is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    #[error("compilation failed: {0}")]
    Compile(String),
    #[error("must evaluate to bool but got {0}")]
    Type(Type),
    /// A constant part of it has no value.
    #[error("program instantiation failed: {0}")]
    Program(String),
}

/// A compiled condition.
#[derive(Clone, Debug)]
pub struct Condition {
    text: Str,
    program: Arc<Program>,
}

impl Condition {
    /// Compiles an expression over `request`.
    ///
    /// # Errors
    /// It does not compile, or is no truth value.
    pub fn compile(text: &str) -> Result<Condition, ConditionError> {
        let checked = ENVIRONMENT.check(text).map_err(|issues| ConditionError::Compile(issues.to_string()))?;
        if checked.output_type() != Type::Bool {
            return Err(ConditionError::Type(checked.output_type()));
        }
        let program = checked.program().map_err(|error| ConditionError::Program(error.to_string()))?;
        Ok(Condition { text: text.into(), program: Arc::new(program) })
    }

    fn evaluate(&self, request: &Value<'static>) -> Result<bool, String> {
        let evaluated = self.program.evaluate(&[("request", request.clone())], COST_LIMIT).value;
        let text = &self.text;
        match evaluated {
            Ok(Value::Bool(value)) => Ok(value),
            Ok(other) => Err(format!(
                "cel evaluation error: expression '{text}' eval result type should be bool but got {}",
                other.type_name()
            )),
            Err(error) => Err(format!("cel evaluation error: expression '{text}' resulted in error: {error}")),
        }
    }
}

/// Whether all conditions hold.
///
/// # Errors
/// None is false, and some cannot be evaluated.
pub(crate) fn all_hold(conditions: &[Condition], request: &Value<'static>) -> Result<bool, String> {
    let mut errors = Vec::new();
    for condition in conditions {
        match condition.evaluate(request) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(error) => errors.push(error),
        }
    }
    match &errors[..] {
        [] => Ok(true),
        [error] => Err(error.clone()),
        errors => Err(format!("[{}]", errors.join(", "))),
    }
}

/// A request as a CEL value: all text fields are present, even empty ones. `selectors` are those of the review.
pub(crate) fn request_value(attributes: &Attributes<'_>, selectors: [Option<&Data>; 2]) -> Value<'static> {
    let UserInfo { name, uid, groups, extra } = attributes.user;
    let extra = extra.iter().map(|(key, values)| (key.clone(), strings(values))).collect();
    let text = |text: &str| Value::string(text);
    let mut fields = vec![
        (Str::new_static("user"), Value::string(name.clone())),
        (Str::new_static("groups"), strings(groups)),
        (Str::new_static("uid"), Value::string(uid.clone())),
        (Str::new_static("extra"), map(extra)),
    ];
    fields.push(match attributes.is_resource {
        false => {
            let path = [("verb", attributes.verb), ("path", attributes.path)];
            let path = path.map(|(name, value)| (Str::new_static(name), text(value)));
            (Str::new_static("nonResourceAttributes"), map(path.into()))
        }
        true => {
            let resource = [
                ("namespace", attributes.namespace),
                ("verb", attributes.verb),
                ("group", attributes.api_group),
                ("version", attributes.api_version),
                ("resource", attributes.resource),
                ("subresource", attributes.subresource),
                ("name", attributes.name),
            ];
            let mut resource: Vec<_> = resource.map(|(name, value)| (Str::new_static(name), text(value))).into();
            for (name, selector) in ["fieldSelector", "labelSelector"].into_iter().zip(selectors) {
                resource.extend(selector.map(|selector| (Str::new_static(name), of_data(selector))));
            }
            (Str::new_static("resourceAttributes"), map(resource))
        }
    });
    map(fields)
}

fn strings(list: &[Str]) -> Value<'static> {
    Value::list(list.iter().map(|text| Value::string(text.clone())).collect())
}

fn map(entries: Vec<(Str, Value<'static>)>) -> Value<'static> {
    let entries = entries.into_iter().map(|(key, value)| (Value::string(key), value)).collect();
    // Keys that are text are always keys.
    Value::Map(Map::Entries(Arc::new(Entries::new(entries).unwrap_or_default())))
}

/// The selector of a review: maps, lists and texts.
fn of_data(data: &Data) -> Value<'static> {
    match data {
        Data::Map(entries) => map(entries.iter().map(|(key, value)| (key.clone(), of_data(value))).collect()),
        Data::List(items) => Value::list(items.iter().map(of_data).collect()),
        Data::String(text) | Data::Raw(text) => Value::string(text.clone()),
        Data::Bool(value) => Value::Bool(*value),
        Data::Int(number) => Value::Int(*number),
        Data::Float(number) => Value::Double(*number),
        Data::Null => Value::Null,
    }
}
