//! Columns of runtime classes.

use crate::printing::cells::*;
use crate::printing::{AGE, NAME, printers, string};
use pintle_types::node::v1::RuntimeClass;

printers! {
    RUNTIME_CLASS: RuntimeClass |class, now| {
        NAME => name(class),
        string("Handler", "Name by which nodes know the runtime.") => text(class.to(RuntimeClass::HANDLER)),
        AGE => age(class, now),
    }
}
