//! `Answers`: what expressions have asked the authorizer for a request, and what it answered.
//! Guarantees that each question is asked once for a request. An evaluation waits for nothing: it notes what it has to know,
//! the answers are fetched, and it is repeated.

use pintle_auth::{Attributes, Authorizer, UserInfo, users};
use pintle_cel::library::authorization::{self, Decision, Decisions, Question, Resource, Subject, Target};
use pintle_schema::Str;
use pintle_schema::field_selector::FieldSelector;
use std::sync::{Arc, Mutex, PoisonError};

/// The authorizer of a request, as expressions see it.
pub struct Answers<'r> {
    authorizer: &'r dyn Authorizer,
    user: &'r UserInfo,
    known: Arc<Known>,
}

#[derive(Debug, Default)]
struct Known(Mutex<Decisions>);

impl Known {
    fn lock(&self) -> std::sync::MutexGuard<'_, Decisions> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl authorization::Authorizer for Known {
    fn decide(&self, question: &Question) -> Decision {
        self.lock().decide(question)
    }
}

impl<'r> Answers<'r> {
    /// An authorizer that nothing has been asked yet, for requests of this user.
    pub fn new(authorizer: &'r dyn Authorizer, user: &'r UserInfo) -> Self {
        Answers { authorizer, user, known: Arc::default() }
    }

    /// The variable `authorizer`.
    pub(crate) fn variable<'v>(&self) -> pintle_cel::Value<'v> {
        authorization::authorizer(self.known.clone())
    }

    /// The variable `authorizer.requestResource`.
    pub(crate) fn request_resource<'v>(&self, resource: Resource) -> pintle_cel::Value<'v> {
        authorization::request_resource(self.known.clone(), resource)
    }

    /// Answers what the last evaluation asked. Whether there was anything to answer, so that it has to be repeated.
    pub async fn fetch(&self) -> bool {
        let open = self.known.lock().take_open();
        let has_open = !open.is_empty();
        for question in open {
            let decision = self.decide(&question).await;
            self.known.lock().answer(question, decision);
        }
        has_open
    }

    async fn decide(&self, question: &Question) -> Decision {
        let account;
        let user = match &question.subject {
            Subject::Requester => self.user,
            Subject::ServiceAccount { namespace, name } => {
                account = service_account(namespace, name);
                &account
            }
        };
        let fields;
        let attributes = match &question.target {
            Target::Path(path) => Attributes::non_resource(user, &question.verb, path),
            Target::Resource(resource) => {
                fields = selected_fields(&resource.field_selector);
                Attributes {
                    api_version: "*",
                    subresource: &resource.subresource,
                    namespace: &resource.namespace,
                    name: &resource.name,
                    field_selector: fields.as_ref(),
                    ..Attributes::resource(user, &question.verb, &resource.group, &resource.resource)
                }
            }
        };
        let decision = self.authorizer.authorize(&attributes).get().await;
        Decision {
            allowed: decision.is_allowed(),
            reason: Str::from(decision.reason(user)),
            error: decision.error().map(|error| Str::from(error.to_string())),
        }
    }
}

/// What cannot be read selects nothing, so that the whole collection is asked about.
fn selected_fields(text: &str) -> Option<FieldSelector> {
    FieldSelector::parse(text).ok().filter(|selector| !selector.is_everything())
}

fn service_account(namespace: &str, name: &str) -> UserInfo {
    let groups = pintle_auth::groups::of_service_accounts(namespace);
    UserInfo { name: users::service_account(namespace, name), groups, ..UserInfo::default() }
}
