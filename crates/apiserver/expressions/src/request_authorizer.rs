//! `RequestAuthorizer`: the authorizer for expressions of one request, with its cached decisions. Guarantees that each check is
//! made once for a request. An evaluation never waits: it notes missing decisions, which are fetched before it is repeated.

use pintle_auth::{Attributes, Authorizer, UserInfo, users};
use pintle_cel::library::authorization::{self, Decision, Decisions, Question, Resource, Subject, Target};
use pintle_schema::Str;
use pintle_schema::field_selector::FieldSelector;
use std::sync::{Arc, Mutex, PoisonError};

/// The authorizer of a request, as expressions see it.
pub struct RequestAuthorizer<'r> {
    authorizer: &'r dyn Authorizer,
    user: &'r UserInfo,
    known: Arc<KnownDecisions>,
}

#[derive(Debug, Default)]
struct KnownDecisions(Mutex<Decisions>);

impl KnownDecisions {
    fn lock(&self) -> std::sync::MutexGuard<'_, Decisions> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl authorization::Authorizer for KnownDecisions {
    fn decide(&self, question: &Question) -> Decision {
        self.lock().decide(question)
    }
}

impl<'r> RequestAuthorizer<'r> {
    /// An authorizer without decisions, for requests of this user.
    pub fn new(authorizer: &'r dyn Authorizer, user: &'r UserInfo) -> Self {
        RequestAuthorizer { authorizer, user, known: Arc::default() }
    }

    /// The variable `authorizer`.
    pub(crate) fn variable<'v>(&self) -> pintle_cel::Value<'v> {
        authorization::authorizer(self.known.clone())
    }

    /// The variable `authorizer.requestResource`.
    pub(crate) fn request_resource<'v>(&self, resource: Resource) -> pintle_cel::Value<'v> {
        authorization::request_resource(self.known.clone(), resource)
    }

    /// Fetches the decisions that the last evaluation missed. Returns whether there were any, so that it has to be
    /// repeated.
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

/// A malformed selector is ignored, so that the whole collection is checked.
fn selected_fields(text: &str) -> Option<FieldSelector> {
    FieldSelector::parse(text).ok().filter(|selector| !selector.is_everything())
}

fn service_account(namespace: &str, name: &str) -> UserInfo {
    let groups = pintle_auth::groups::of_service_accounts(namespace);
    UserInfo { name: users::service_account(namespace, name), groups, ..UserInfo::default() }
}
