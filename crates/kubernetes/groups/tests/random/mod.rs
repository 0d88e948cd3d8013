//! Random objects of any kind, made from its schema: near what is valid, and wrong in many small ways.
//! Guarantees the same objects from the same seed. Must never know a kind by name.

use pintle_schema::rules::Rule;
use pintle_schema::{Form, Map, Str, Struct, Type, Value, canonicalize, value};

/// Numbers that only look random (xorshift).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % end.max(1)
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// Whether something happens that does so in one of so many cases.
    pub fn once_in(&mut self, cases: usize) -> bool {
        self.below(cases) == 0
    }
}

const LONG: &str = "0123456789-0123456789-0123456789-0123456789-0123456789-0123456789-0123456789-0123456789";
const TEXTS: &[&str] = &[
    "",
    "a",
    "a",
    "b",
    "web",
    "a.b",
    "example.com/a",
    "A_b",
    "a b",
    "-",
    "..",
    "/x",
    "x/../y",
    "10.0.0.1",
    "010.0.0.1",
    "fd00::1",
    "10.0.0.0/8",
    "80",
    "http",
    "*",
    "*.example.com",
    "Always",
    "None",
    LONG,
];
const NUMBERS: &[i64] = &[0, 0, 1, 1, 2, 5, 80, 600, 65_536, -1, 2_147_483_647];
const QUANTITIES: &[&str] = &["0", "1", "2", "500m", "1Gi", "-1"];

/// How deep objects go. Types may contain themselves.
const DEPTH: usize = 9;

/// More items than most lists may have.
const MANY: usize = 40;

/// A canonical object of a kind, with a name and where it belongs.
pub fn object(schema: &Struct, namespaced: bool, random: &mut Random) -> Value {
    let mut object = structure(schema, DEPTH, random);
    let mut metadata = value!({ "name": "a", "uid": "u", "labels": { "a": "b" } });
    if namespaced {
        metadata.set_at(&["namespace"], "b");
    }
    object.set_at(&["metadata"], metadata);
    canonicalize(schema, &mut object);
    object
}

/// The object with some of its parts replaced by others.
pub fn changed(schema: &Struct, object: &Value, random: &mut Random) -> Value {
    let mut new = object.clone();
    for field in schema.fields.iter().filter(|field| !field.inline && &*field.name != "metadata") {
        change(&field.ty, &field.rules, &mut new, &field.name, random);
    }
    canonicalize(schema, &mut new);
    new
}

/// The object with its invalid fields replaced or removed, if that makes it valid.
///
/// `wrong` reports where the first fault is; what goes is what stands there, or the innermost thing around it.
pub fn mended(
    schema: &Struct,
    object: &Value,
    wrong: impl Fn(&Value) -> Option<String>,
    random: &mut Random,
) -> Option<Value> {
    const FAULTS: usize = 300;
    let mut mended = object.clone();
    for _ in 0..FAULTS {
        let Some(place) = wrong(&mended) else { return Some(mended) };
        let steps: Vec<&str> = place.split(['.', '[', ']']).filter(|step| !step.is_empty()).collect();
        let is_anew =
            steps.first() != Some(&"metadata") && !random.once_in(3) && remake(schema, &mut mended, &steps, random);
        if !is_anew && !drop_at(&mut mended, &steps) {
            return None;
        }
        canonicalize(schema, &mut mended);
    }
    None
}

/// Puts another value where the steps lead to. False when they lead nowhere.
fn remake(schema: &Struct, value: &mut Value, steps: &[&str], random: &mut Random) -> bool {
    let Some((field, rest)) = steps.split_first().and_then(|(name, rest)| Some((schema.field(name)?, rest))) else {
        return false;
    };
    if value.as_map().is_none() {
        *value = Value::map();
    }
    let (mut ty, mut rules, mut rest): (_, &[Rule], _) = (&field.ty, &field.rules, rest);
    if value.get(&field.name).is_none() {
        value.set_at(&[&field.name], Value::Null);
    }
    let Some(mut here) = value.get_mut(&field.name) else { return false };
    while let [step, after @ ..] = rest {
        let inside = match (ty, here) {
            (Type::Struct(schema), here) => return remake(schema, here, rest, random),
            (Type::List(list), Value::List(items)) => {
                step.parse().ok().and_then(|at: usize| items.get_mut(at)).map(|item| (&list.elem, item))
            }
            (Type::Map(map), here) => here.get_mut(step).map(|item| (&map.elem, item)),
            _ => None,
        };
        let Some(inside) = inside else { return false };
        ((ty, here), rules, rest) = (inside, &[], after);
    }
    *here = of_type(ty, rules, DEPTH - 5, random);
    true
}

/// Takes away what the steps lead to, or as much of the way as there is. False when that is nothing.
fn drop_at(value: &mut Value, steps: &[&str]) -> bool {
    let Some((step, rest)) = steps.split_first() else { return false };
    match value {
        Value::List(items) => {
            let Some(at) = step.parse().ok().filter(|at| *at < items.len()) else { return false };
            if !drop_at(&mut items[at], rest) {
                items.remove(at);
            }
            true
        }
        Value::Map(_) => match value.get_mut(step) {
            Some(inside) => drop_at(inside, rest) || value.remove_at(&[step]).is_some(),
            None => false,
        },
        _ => false,
    }
}

fn change(ty: &Type, rules: &[Rule], owner: &mut Value, name: &str, random: &mut Random) {
    let inside = owner.get(name).and_then(Value::as_map).is_some_and(|map| !map.is_empty());
    match ty.as_struct().filter(|schema| inside && schema.form == Form::Plain) {
        Some(schema) => {
            let Some(value) = owner.get_mut(name) else { return };
            for field in schema.fields.iter().filter(|field| !field.inline) {
                if random.once_in(3) {
                    change(&field.ty, &field.rules, value, &field.name, random);
                }
            }
        }
        None if random.once_in(3) => {
            let value = of_type(ty, rules, DEPTH - 4, random);
            owner.set_at(&[name], value);
        }
        None => {}
    }
}

fn structure(schema: &Struct, depth: usize, random: &mut Random) -> Value {
    let mut map = Map::new();
    for field in schema.fields.iter() {
        if field.inline {
            if let Some(inlined) = field.ty.as_struct().filter(|inlined| &*inlined.name != "TypeMeta") {
                let inlined = structure(inlined, depth, random);
                map.entries_mut()
                    .extend(inlined.as_map().into_iter().flat_map(Map::iter).map(|(k, v)| (k.clone(), v.clone())));
            }
            continue;
        }
        let required = field.rules.iter().any(|rule| matches!(rule, Rule::Required(_)));
        let present = if required { !random.once_in(8) } else { random.once_in(3) };
        if present && &*field.name != "metadata" {
            map.push(field.name.to_key(), of_type(&field.ty, &field.rules, depth, random));
        }
    }
    Value::Map(map)
}

fn of_type(ty: &Type, rules: &[Rule], depth: usize, random: &mut Random) -> Value {
    match ty {
        Type::Bool => Value::Bool(random.once_in(2)),
        Type::Int32 | Type::Int64 => Value::Int(random.one_of(NUMBERS)),
        Type::Float64 => Value::Float(0.5),
        Type::Enum(named) if !random.once_in(8) && !named.values.is_empty() => {
            let at = random.below(named.values.len());
            named.values[at].value.as_str().into()
        }
        Type::String | Type::Enum(_) => {
            match rules.iter().find(|rule| matches!(rule, Rule::Enum(values) if !values.is_empty())) {
                Some(Rule::Enum(values)) if !random.once_in(4) => random.one_of(values).into(),
                _ => random.one_of(TEXTS).into(),
            }
        }
        Type::Bytes => random.one_of(&["", "YQ=="]).into(),
        Type::IntOrString if random.once_in(2) => Value::Int(random.one_of(NUMBERS)),
        Type::IntOrString => random.one_of(&["50%", "101%", "http", "a b"]).into(),
        Type::Quantity => random.one_of(QUANTITIES).into(),
        Type::Time => "2025-01-01T00:00:00Z".into(),
        Type::MicroTime => "2025-01-01T00:00:00.000000Z".into(),
        Type::Duration => "1s".into(),
        Type::Any | Type::Json | Type::RawExtension | Type::FieldsV1 => Value::map(),
        Type::Struct(_) | Type::List(_) | Type::Map(_) if depth == 0 => Value::Null,
        Type::Struct(schema) => match schema.form {
            Form::Plain => structure(schema, depth - 1, random),
            Form::Wrapper => {
                schema.fields.first().map_or(Value::Null, |only| of_type(&only.ty, &[], depth - 1, random))
            }
            _ => Value::Null,
        },
        Type::List(list) => {
            let (count, depth) = match random.once_in(150) {
                true => (MANY, depth.min(3)),
                false => (random.one_of(&[0, 1, 1, 1, 2, 3]), depth),
            };
            Value::List((0..count).map(|_| of_type(&list.elem, &[], depth - 1, random)).collect())
        }
        Type::Map(map) => {
            let keys = ["a", "cpu", "example.com/b", "a b"];
            let mut out = Map::new();
            for key in keys {
                if random.once_in(3) {
                    out.push(Str::new_static(key), of_type(&map.elem, &[], depth - 1, random));
                }
            }
            Value::Map(out)
        }
    }
}
