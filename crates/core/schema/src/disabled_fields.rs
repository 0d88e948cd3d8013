//! Fields behind feature gates: which fields of a schema are disabled, and how they are dropped from an object.
//! Guarantees that an update keeps the fields that the stored object uses, and that only parts of an object that can
//! contain such fields are visited.
//! Must never validate, nor change a field whose gates are on.

use crate::gates::GateSet;
use crate::schema::{Form, Struct, Type};
use crate::value::{Str, Value};
use std::collections::HashMap;

/// The fields of a schema whose gates are off, and the paths to them.
pub struct DisabledFields {
    /// What to visit in each struct on a path; the first one is the object.
    nodes: Vec<Vec<Step>>,
    /// The number of disabled fields.
    fields: usize,
}

struct Step {
    name: Str,
    target: Target,
}

enum Target {
    /// A disabled field, by its number.
    Off(usize),
    /// A struct, by its index among the nodes; for a list, and for a map if it is `keyed`, each item.
    Inside { node: usize, keyed: bool },
}

impl DisabledFields {
    /// The disabled fields of a schema; `None` if there are none. A field is enabled if all its gates are on.
    pub fn of(schema: &Struct, gates: &GateSet) -> Option<DisabledFields> {
        let mut found = DisabledFields { nodes: Vec::new(), fields: 0 };
        found.visit(schema, gates, &mut HashMap::new());
        found.keep_ways();
        (!found.nodes.first()?.is_empty()).then_some(found)
    }

    /// The index of a struct. Schemas may be recursive, so each struct is visited once.
    fn visit(&mut self, schema: &Struct, gates: &GateSet, known: &mut HashMap<usize, usize>) -> usize {
        let address = std::ptr::from_ref(schema).addr();
        if let Some(place) = known.get(&address) {
            return *place;
        }
        let place = self.nodes.len();
        known.insert(address, place);
        self.nodes.push(Vec::new());
        let mut steps = Vec::new();
        schema.each_field(&mut |field| {
            let on = field.gates.iter().all(|gate| gates.is_on(gate));
            let target = match inside(&field.ty) {
                _ if !on => {
                    self.fields += 1;
                    Target::Off(self.fields - 1)
                }
                Some((schema, keyed)) => Target::Inside { node: self.visit(schema, gates, known), keyed },
                None => return,
            };
            steps.push(Step { name: field.name.to_key(), target });
        });
        self.nodes[place] = steps;
        place
    }

    /// Removes the steps that do not lead to a disabled field.
    fn keep_ways(&mut self) {
        let mut leads: Vec<bool> = vec![false; self.nodes.len()];
        let is_way = |step: &Step, leads: &[bool]| match step.target {
            Target::Off(_) => true,
            Target::Inside { node, .. } => leads[node],
        };
        loop {
            let now: Vec<bool> = self.nodes.iter().map(|steps| steps.iter().any(|step| is_way(step, &leads))).collect();
            if now == leads {
                break;
            }
            leads = now;
        }
        self.nodes.iter_mut().for_each(|steps| steps.retain(|step| is_way(step, &leads)));
    }

    /// Drops the disabled fields from an object, except those that the stored object, if any, uses anywhere.
    pub fn drop_from(&self, object: &mut Value, stored: Option<&Value>) {
        let mut unwanted = vec![false; self.fields];
        self.mark(0, object, true, &mut unwanted);
        if let Some(stored) = stored
            && unwanted.contains(&true)
        {
            self.mark(0, stored, false, &mut unwanted);
        }
        if unwanted.contains(&true) {
            self.remove(0, object, &unwanted);
        }
    }

    /// Marks the disabled fields that a value uses.
    fn mark(&self, node: usize, value: &Value, to: bool, marks: &mut [bool]) {
        for step in &self.nodes[node] {
            let Some(value) = value.get(&step.name).filter(|value| !value.is_null()) else { continue };
            match (&step.target, value) {
                (Target::Off(field), _) => marks[*field] = to,
                (Target::Inside { node, .. }, Value::List(items)) => {
                    items.iter().for_each(|item| self.mark(*node, item, to, marks));
                }
                (Target::Inside { node, keyed: true }, Value::Map(map)) => {
                    map.values().for_each(|item| self.mark(*node, item, to, marks));
                }
                (Target::Inside { node, .. }, value) => self.mark(*node, value, to, marks),
            }
        }
    }

    fn remove(&self, node: usize, value: &mut Value, marks: &[bool]) {
        let Some(map) = value.as_map_mut() else { return };
        for step in &self.nodes[node] {
            match (&step.target, map.get_mut(&step.name)) {
                (Target::Off(field), Some(_)) if marks[*field] => drop(map.remove(&step.name)),
                (Target::Off(_), _) | (_, None) => {}
                (Target::Inside { node, .. }, Some(Value::List(items))) => {
                    items.iter_mut().for_each(|item| self.remove(*node, item, marks));
                }
                (Target::Inside { node, keyed: true }, Some(Value::Map(map))) => {
                    map.iter_mut().for_each(|(_, item)| self.remove(*node, item, marks));
                }
                (Target::Inside { node, .. }, Some(value)) => self.remove(*node, value, marks),
            }
        }
    }
}

/// The struct that a value of the type is or consists of, and whether it is a map.
fn inside(ty: &Type) -> Option<(&Struct, bool)> {
    match ty {
        Type::Struct(schema) if schema.form == Form::Plain => Some((schema, false)),
        Type::List(list) => inside(&list.elem),
        Type::Map(map) => inside(&map.elem).map(|(schema, _)| (schema, true)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::DisabledFields;
    use crate::gates::{Gate, GateSet, alpha};
    use crate::{ApiType, Value, value};

    const A: Gate = Gate::new("A", &[alpha(36)]);
    const B: Gate = Gate::new("B", &[alpha(36)]);

    /// The content of the object.
    #[derive(ApiType)]
    struct Inner {
        /// On or off.
        #[k8s(proto = 1, optional, gate = A)]
        new: Option<String>,
        /// Off while one of the two gates is off.
        #[k8s(proto = 2, optional, gate = A, gate = B)]
        newer: Option<String>,
        /// No gate.
        #[k8s(proto = 3, optional)]
        old: Option<String>,
    }

    /// An object.
    #[derive(ApiType)]
    struct Outer {
        /// One.
        #[k8s(proto = 1, optional)]
        one: Option<Inner>,
        /// Some.
        #[k8s(proto = 2, optional, list_type = atomic)]
        list: Vec<Inner>,
        /// Some with names.
        #[k8s(proto = 3, optional)]
        map: std::collections::BTreeMap<String, Inner>,
    }

    fn dropped(on: &[&'static Gate], mut object: Value, stored: Option<Value>) -> Value {
        if let Some(off) = DisabledFields::of(Outer::schema(), &GateSet::only(on.iter().copied())) {
            off.drop_from(&mut object, stored.as_ref());
        }
        object
    }

    #[test]
    fn what_is_off_goes_unless_it_is_in_use() {
        let inner = || value!({"new": "", "newer": "n", "old": "o"});
        let object = || value!({"one": (inner()), "list": [(inner())], "map": {"k": (inner()), "none": null}});
        let all = |inner: Value| value!({"one": (inner.clone()), "list": [(inner.clone())], "map": {"k": (inner), "none": null}});
        assert_eq!(dropped(&[&A, &B], object(), None), object());
        assert_eq!(dropped(&[&A], object(), None), all(value!({"new": "", "old": "o"})));
        assert_eq!(dropped(&[&B], object(), None), all(value!({"old": "o"})));
        let stored = value!({"map": {"other": {"new": "", "newer": null}}});
        assert_eq!(dropped(&[], object(), Some(stored)), all(value!({"new": "", "old": "o"})));
        assert!(DisabledFields::of(Outer::schema(), &GateSet::all_but([])).is_none());
    }
}
