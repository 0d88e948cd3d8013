//! JSONPath of printer columns, as client-go evaluates it: fields, indexes, slices, unions, wildcards, recursive descent and filters.
//! A path is parsed once, an evaluation is bounded in the values that it visits.
//! Must never fail on an object: a path that does not fit finds nothing.

mod parse;

use pintle_schema::{Str, Value};
use std::cmp::Ordering;

/// How many values one evaluation visits. Repeated `..` would visit a large object many times otherwise.
const VISITED_MAX: usize = 200_000;

/// A comparison costs one visit for so many bytes.
const COMPARED_BYTES: usize = 64;

/// A parsed path.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    /// Only the first part is printed, but all of them must fit.
    parts: Vec<Vec<Step>>,
}

/// One step from values to values.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(Str),
    Slice(Slice),
    Wildcard,
    Recursive,
    Union(Vec<Vec<Step>>),
    Filter(Vec<Step>, Operator, Vec<Step>),
    Literal(Literal),
    /// A word such as `range`. Columns have no loops, so that it fits no object.
    Identifier,
}

/// A constant in a path.
#[derive(Clone, Debug, PartialEq)]
enum Literal {
    Text(Str),
    Int(i64),
    Float(f64),
    Bool(bool),
}

/// The three numbers of a slice; negative ones count from the end.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Slice {
    start: Option<i64>,
    end: Option<i64>,
    /// Whether the end follows from the start, because a single index was written.
    single: bool,
    step: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operator {
    Exists,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Unknown,
}

/// A value that a path selects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Found<'a> {
    /// A value of the object.
    Value(&'a Value),
    /// A byte of a string.
    Byte(u8),
    /// Text of the path itself.
    Text(&'a str),
    /// An integer of the path itself.
    Int(i64),
    /// A number of the path itself.
    Float(f64),
    /// `true` or `false` of the path itself.
    Bool(bool),
}

/// Why an evaluation ended early.
enum Stop {
    /// The path does not fit the values; whether there were values that it did not fit.
    Misfit { some: bool },
    /// Too many values were visited.
    Exhausted,
}

type Evaluated<'a> = Result<Vec<Found<'a>>, Stop>;

impl JsonPath {
    /// Parses a path of a definition; `None` if it is malformed.
    pub fn parse(path: &str) -> Option<JsonPath> {
        parse::column(path).map(|parts| JsonPath { parts })
    }

    /// The first value that the path leads to.
    pub fn first<'a>(&'a self, object: &'a Value) -> Option<Found<'a>> {
        let mut evaluation = Evaluation { left: VISITED_MAX };
        let mut found = Vec::new();
        for part in self.parts.iter().rev() {
            found = evaluation.steps(vec![Found::Value(object)], part).ok()?;
        }
        found.into_iter().next()
    }
}

struct Evaluation {
    /// How many values may still be visited.
    left: usize,
}

impl Evaluation {
    fn visit(&mut self, values: usize) -> Result<(), Stop> {
        self.left = self.left.checked_sub(values).ok_or(Stop::Exhausted)?;
        Ok(())
    }

    fn steps<'a>(&mut self, mut values: Vec<Found<'a>>, steps: &'a [Step]) -> Evaluated<'a> {
        for step in steps {
            values = self.step(values, step)?;
        }
        Ok(values)
    }

    fn step<'a>(&mut self, values: Vec<Found<'a>>, step: &'a Step) -> Evaluated<'a> {
        self.visit(values.len() + 1)?;
        let some = !values.is_empty();
        let mut found = Vec::new();
        match step {
            Step::Field(name) => found.extend(values.iter().filter_map(|value| value.member(name))),
            Step::Wildcard => {
                for value in values {
                    self.members(value, &mut found)?;
                }
            }
            Step::Recursive => {
                for value in values {
                    self.descend(value, &mut found)?;
                }
            }
            Step::Slice(slice) => {
                for value in values.into_iter().filter(|value| !value.is_null()) {
                    let items = value.items().ok_or(Stop::Misfit { some })?;
                    match slice.of(items).ok_or(Stop::Misfit { some })? {
                        // An empty slice ends the step, also for the values after this one.
                        None => break,
                        Some((items, step)) => {
                            self.visit(items.len() / step)?;
                            found.extend(items.iter().step_by(step).map(Found::Value));
                        }
                    }
                }
            }
            Step::Union(paths) => {
                for path in paths {
                    self.visit(values.len())?;
                    found.extend(self.steps(values.clone(), path).map_err(|stop| stop.of(some))?);
                }
            }
            Step::Filter(left, operator, right) => {
                for value in values {
                    for item in value.items().ok_or(Stop::Misfit { some })? {
                        let passes = self.passes(Found::Value(item), left, *operator, right);
                        if passes.map_err(|stop| stop.of(some))? {
                            found.push(Found::Value(item));
                        }
                    }
                }
            }
            Step::Literal(Literal::Text(text)) => found.push(Found::Text(text)),
            Step::Literal(literal) => found.extend(values.iter().map(|_| literal.found())),
            Step::Identifier => return Err(Stop::Misfit { some }),
        }
        Ok(found)
    }

    /// Appends the items of a list, the values of a map or the bytes of a string.
    fn members<'a>(&mut self, value: Found<'a>, found: &mut Vec<Found<'a>>) -> Result<(), Stop> {
        match value {
            Found::Value(Value::List(items)) => {
                self.visit(items.len())?;
                found.extend(items.iter().map(Found::Value));
            }
            Found::Value(Value::Map(map)) => {
                self.visit(map.len())?;
                found.extend(map.values().map(Found::Value));
            }
            _ => {
                let bytes = value.text().unwrap_or_default().as_bytes();
                self.visit(bytes.len() / COMPARED_BYTES)?;
                found.extend(bytes.iter().copied().map(Found::Byte));
            }
        }
        Ok(())
    }

    /// Appends a value and its descendants, except scalars.
    fn descend<'a>(&mut self, value: Found<'a>, found: &mut Vec<Found<'a>>) -> Result<(), Stop> {
        self.visit(1)?;
        match value {
            Found::Value(Value::List(items)) if !items.is_empty() => {
                found.push(value);
                items.iter().try_for_each(|item| self.descend(Found::Value(item), found))
            }
            Found::Value(Value::Map(map)) if !map.is_empty() => {
                found.push(value);
                map.values().try_for_each(|member| self.descend(Found::Value(member), found))
            }
            _ => {
                found.extend(value.text().is_some_and(|text| !text.is_empty()).then_some(value));
                Ok(())
            }
        }
    }

    fn passes(&mut self, item: Found<'_>, left: &[Step], operator: Operator, right: &[Step]) -> Result<bool, Stop> {
        let left = self.steps(vec![item], left);
        if operator == Operator::Exists {
            return match left {
                Ok(found) => Ok(!found.is_empty()),
                // client-go inspects the input of the failed step.
                Err(Stop::Misfit { some }) => Ok(some),
                Err(stop) => Err(stop),
            };
        }
        let left = match &*left? {
            [] => return Ok(false),
            [one] => *one,
            _ => return Err(Stop::Misfit { some: true }),
        };
        match &*self.steps(vec![item], right)? {
            [] => Ok(false),
            [right] => {
                let length = |found: &Found<'_>| found.text().map_or(0, str::len);
                self.visit(length(&left).min(length(right)) / COMPARED_BYTES)?;
                compare(left, operator, *right).ok_or(Stop::Misfit { some: true })
            }
            _ => Err(Stop::Misfit { some: true }),
        }
    }
}

impl Stop {
    /// The same of a step that contains the one that failed.
    fn of(self, some: bool) -> Stop {
        match self {
            Stop::Misfit { .. } => Stop::Misfit { some },
            Stop::Exhausted => Stop::Exhausted,
        }
    }
}

impl<'a> Found<'a> {
    /// The text of a string.
    pub fn text(self) -> Option<&'a str> {
        match self {
            Found::Value(Value::String(text)) => Some(text),
            Found::Text(text) => Some(text),
            _ => None,
        }
    }

    fn is_null(self) -> bool {
        matches!(self, Found::Value(Value::Null))
    }

    fn member(self, name: &str) -> Option<Found<'a>> {
        match self {
            Found::Value(value) => value.get(name).map(Found::Value),
            _ => None,
        }
    }

    fn items(self) -> Option<&'a [Value]> {
        match self {
            Found::Value(value) => value.as_list(),
            _ => None,
        }
    }

    /// The value in a comparison; `None` if it cannot be compared.
    fn scalar(self) -> Option<Found<'a>> {
        Some(match self {
            Found::Value(Value::String(text)) => Found::Text(text),
            Found::Value(Value::Int(int)) => Found::Int(*int),
            Found::Value(Value::Float(float)) => Found::Float(*float),
            Found::Value(Value::Bool(bool)) => Found::Bool(*bool),
            Found::Value(_) => return None,
            Found::Byte(byte) => Found::Int(byte.into()),
            other => other,
        })
    }
}

impl Literal {
    fn found(&self) -> Found<'_> {
        match self {
            Literal::Text(text) => Found::Text(text),
            Literal::Int(int) => Found::Int(*int),
            Literal::Float(float) => Found::Float(*float),
            Literal::Bool(bool) => Found::Bool(*bool),
        }
    }
}

impl Slice {
    /// The items and their step, `Some(None)` if none are selected; `None` if the bounds do not fit.
    fn of<'a>(&self, items: &'a [Value]) -> Option<Option<(&'a [Value], usize)>> {
        let length = i64::try_from(items.len()).ok()?;
        let from_end = |at: i64| if at < 0 { at.saturating_add(length) } else { at };
        let start = from_end(self.start.unwrap_or_default());
        let end = match self.end.unwrap_or(length) {
            // The last item, as -1, ends where the list does.
            0 if self.single => length,
            end => from_end(end),
        };
        if start == end {
            return Some(None);
        }
        let step = self.step.unwrap_or(1);
        if start < 0 || end > length || start > end || step <= 0 {
            return None;
        }
        let items = items.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)?;
        Some(Some((items, usize::try_from(step).ok()?)))
    }
}

/// Compares two scalars of one type; `None` if they cannot be compared.
fn compare(left: Found<'_>, operator: Operator, right: Found<'_>) -> Option<bool> {
    let order = match (left.scalar()?, right.scalar()?) {
        (Found::Text(left), Found::Text(right)) => Some(left.cmp(right)),
        (Found::Int(left), Found::Int(right)) => Some(left.cmp(&right)),
        (Found::Float(left), Found::Float(right)) => left.partial_cmp(&right),
        (Found::Bool(left), Found::Bool(right)) if matches!(operator, Operator::Equal | Operator::NotEqual) => {
            Some(left.cmp(&right))
        }
        _ => return None,
    };
    let less_or_equal = matches!(order, Some(Ordering::Less | Ordering::Equal));
    Some(match operator {
        Operator::Equal => order == Some(Ordering::Equal),
        Operator::NotEqual => order != Some(Ordering::Equal),
        Operator::Less => order == Some(Ordering::Less),
        Operator::LessOrEqual => less_or_equal,
        Operator::Greater => !less_or_equal,
        Operator::GreaterOrEqual => order != Some(Ordering::Less),
        Operator::Exists | Operator::Unknown => return None,
    })
}

#[cfg(test)]
mod tests;
