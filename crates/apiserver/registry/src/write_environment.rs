//! The environment of validation rules: empty fields as sent, the namespace, and the writer's permissions.
//!
//! Computed once, when a rule asks. Rules cannot wait: missing permissions are requested between two runs.

use crate::{Registry, RequestContext, Target};
use pintle_resource::convert_now;
use pintle_schema::Value;
use pintle_validation::{Refusal, Right, ValidationEnvironment};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The environment of a written object.
pub(crate) struct WriteEnvironment<'a> {
    registry: &'a Registry,
    target: &'a Target,
    context: &'a RequestContext,
    find_empties: &'a (dyn Fn() -> Option<Value> + Sync),
    other_type: Option<&'a [String; 2]>,
    empties: OnceLock<Option<Value>>,
    rights: Mutex<Vec<AskedRight>>,
}

/// A permission that a rule asked for and whose check has to wait.
struct AskedRight {
    subresource: String,
    namespace: String,
    name: String,
    node: Option<String>,
    /// Why the writer lacks it, once known.
    answer: Option<Option<Refusal>>,
}

impl AskedRight {
    fn new(right: &Right<'_>) -> Self {
        AskedRight {
            subresource: right.subresource.to_owned(),
            namespace: right.namespace.to_owned(),
            name: right.name.to_owned(),
            node: right.node.map(str::to_owned),
            answer: None,
        }
    }

    fn right(&self) -> Right<'_> {
        Right {
            subresource: &self.subresource,
            namespace: &self.namespace,
            name: &self.name,
            node: self.node.as_deref(),
        }
    }
}

impl<'a> WriteEnvironment<'a> {
    /// `find_empties` returns the empty fields of the object as sent, in the target's version.
    pub fn new(
        registry: &'a Registry,
        target: &'a Target,
        context: &'a RequestContext,
        find_empties: &'a (dyn Fn() -> Option<Value> + Sync),
    ) -> Self {
        let (empties, rights) = (OnceLock::new(), Mutex::default());
        WriteEnvironment { registry, target, context, find_empties, other_type: None, empties, rights }
    }

    /// The same for an object that was sent as one of another version or kind, if it was.
    pub fn of_type(self, other_type: Option<&'a [String; 2]>) -> Self {
        WriteEnvironment { other_type, ..self }
    }

    /// Checks the permissions that rules asked for. Returns whether there were any: then the rules have to run again.
    pub async fn ask_missing(&self) -> bool {
        let mut asked = std::mem::take(&mut *self.rights.lock().unwrap_or_else(PoisonError::into_inner));
        let Some(rights) = &self.registry.admission.rights else { return false };
        let mut has_missed = false;
        for right in asked.iter_mut().filter(|right| right.answer.is_none()) {
            right.answer = Some(rights.refusal(self.target, self.context, &right.right()).get().await);
            has_missed = true;
        }
        *self.rights.lock().unwrap_or_else(PoisonError::into_inner) = asked;
        has_missed
    }
}

impl ValidationEnvironment for WriteEnvironment<'_> {
    fn empties(&self) -> Option<&Value> {
        let find = || {
            let mut sent = (self.find_empties)()?;
            let (storage, version) = (self.target.storage(), self.target.resource.api_version());
            if let Some(conversion) = &storage.conversion {
                convert_now(&**conversion, &mut sent, &version, &storage.api_version).ok()?;
            }
            Some(sent)
        };
        self.empties.get_or_init(find).as_ref()
    }

    fn other_type(&self) -> Option<[&str; 2]> {
        self.other_type.map(|found| found.each_ref().map(String::as_str))
    }

    fn namespace_label(&self, key: &str) -> Option<String> {
        let home = self.registry.namespace(&self.target.namespace)?;
        home.get().ok()?.encoded.label(key).map(str::to_owned)
    }

    fn compatibility_minor(&self) -> Option<u32> {
        self.registry.environment.compatibility_minor()
    }

    fn refusal(&self, right: &Right<'_>) -> Option<Refusal> {
        let rights = self.registry.admission.rights.as_ref()?;
        let mut asked = self.rights.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = asked.iter().find(|asked| asked.right() == *right) {
            return known.answer.clone().flatten();
        }
        rights.refusal(self.target, self.context, right).now().unwrap_or_else(|_| {
            asked.push(AskedRight::new(right));
            None
        })
    }
}
