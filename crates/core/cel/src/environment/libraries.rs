//! Which libraries each version enables.

use crate::function::Function;
use crate::library::LIBRARIES;
use crate::standard;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

/// The version that stored expressions are compiled for.
pub const CURRENT_MINOR: u32 = 36;
/// The oldest version that expressions are compiled for.
pub const OLDEST_MINOR: u32 = 33;
/// The version that new expressions are compiled for by default: the one before the current.
pub const NEW_EXPRESSIONS_MINOR: u32 = 35;

/// Functions by their names.
pub(super) type Functions = HashMap<&'static str, Arc<Function>>;

/// The functions of a version, collected once.
pub(super) fn of(minor: u32) -> Arc<Functions> {
    static COLLECTED: OnceLock<Mutex<HashMap<u32, Arc<Functions>>>> = OnceLock::new();
    // What was introduced before the oldest version that anyone asks for, or after the current, makes no difference.
    let minor = minor.clamp(0, CURRENT_MINOR);
    let collected = COLLECTED.get_or_init(Mutex::default);
    let mut collected = collected.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let functions = collected.entry(minor).or_insert_with(|| {
        let mut functions = HashMap::new();
        add(&mut functions, standard::functions());
        for library in LIBRARIES.iter().filter(|library| library.since <= minor) {
            add(&mut functions, (library.functions)());
        }
        Arc::new(functions)
    });
    functions.clone()
}

/// Adds functions; those of a name that is there already become more overloads of it.
pub(super) fn add(all: &mut Functions, functions: Vec<Function>) {
    for function in functions {
        match all.get_mut(function.name) {
            None => {
                all.insert(function.name, Arc::new(function));
            }
            Some(known) => {
                let known = Arc::make_mut(known);
                for overload in function.overloads {
                    if !known.overloads.iter().any(|other| other.id == overload.id) {
                        known.overloads.push(overload);
                    }
                }
                known.estimate = known.estimate.or(function.estimate);
                known.track = known.track.or(function.track);
                known.validate = known.validate.or(function.validate);
            }
        }
    }
}
