//! Deletion of owners: foreground deletion, which waits for dependents, and orphaning, which releases them. Guarantees that
//! only objects whose references name the owner where it is are its dependents. Must never write to other objects: the author
//! of a reference chooses its UID.

use super::graph::Waiting;
use super::references::{self, Place};
use super::{FOREGROUND, GarbageCollector, ORPHAN, PAGE, set_list};
use crate::queue::Outcome;
use crate::requests::{AT_A_TIME, retry_on_failure};
use crate::resource_index::{ObjectKey, waits_for};
use crate::slices::Slices;
use futures_util::StreamExt;
use futures_util::stream;
use pintle_cache::Object;
use pintle_registry::{Result, Target};
use pintle_schema::ViewMut;
use pintle_types::meta::v1::{ObjectMeta, OwnerReference};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

impl GarbageCollector {
    /// Finishes the deletion of an owner once no dependent blocks it. Its dependents are asked once; then the graph follows
    /// their changes.
    pub(super) async fn foreground(
        &self,
        place: &ObjectKey,
        target: &Target,
        owner: &Object,
        slices: &mut Slices<'_>,
    ) -> Outcome {
        let uid = owner.encoded.uid();
        let mut waiting = self.graph.begin_foreground(uid, place);
        let begins = waiting == Waiting::Unknown;
        if begins {
            self.ask_dependents(uid, slices).await;
            waiting = self.graph.complete_foreground(uid);
        }
        match waiting {
            Waiting::Over => self.finish(target, uid, FOREGROUND).await,
            Waiting::Unknown => Outcome::After(Duration::ZERO),
            Waiting::Blocked => {
                if begins {
                    self.queue_dependents(uid, slices).await;
                }
                Outcome::Done
            }
        }
    }

    /// Records the dependents that block an owner.
    async fn ask_dependents(&self, uid: &str, slices: &mut Slices<'_>) {
        let mut after = None;
        loop {
            let page = self.graph.dependents(uid, after.as_ref(), PAGE);
            for place in &page {
                slices.step().await;
                while let Some(dependent) = self.index.object(place) {
                    let blocked = self.blocked_by(&dependent, |named| named == uid, slices).await;
                    let is_current = || self.index.object(place).is_some_and(|now| now.id == dependent.id);
                    if blocked.is_empty() || self.graph.set_blocking_if(uid, place, is_current) {
                        break;
                    }
                }
            }
            match page.into_iter().next_back() {
                Some(last) => after = Some(last),
                None => return,
            }
        }
    }

    /// The uids of the owners that an object blocks, among the chosen ones: it names them where they are.
    pub(super) async fn blocked_by(
        &self,
        dependent: &Object,
        is_chosen: impl Fn(&str) -> bool + Send,
        slices: &mut Slices<'_>,
    ) -> HashSet<String> {
        let mut blocked = HashSet::new();
        for reference in references::of(dependent) {
            slices.step().await;
            if !reference.blocks || !is_chosen(&reference.uid) {
                continue;
            }
            if self.is_there(&Place::named(&self.index, dependent.namespace(), &reference), &reference.uid) {
                blocked.insert(reference.uid.into_owned());
            }
        }
        blocked
    }

    /// Whether the object with a uid is at a place.
    fn is_there(&self, place: &Place, uid: &str) -> bool {
        let Place::At(_, kind, key) = place else { return false };
        kind.target.cache.get(key).is_some_and(|object| object.encoded.uid() == uid)
    }

    /// Whether one of an object's dependents itself waits for its dependents.
    pub(super) async fn may_be_in_a_circle(&self, object: &Object, slices: &mut Slices<'_>) -> bool {
        let uid = object.encoded.uid();
        let mut after = None;
        loop {
            let page = self.graph.dependents(uid, after.as_ref(), PAGE);
            for place in &page {
                slices.step().await;
                let Some(dependent) = self.index.object(place).filter(|dependent| waits_for(dependent, FOREGROUND))
                else {
                    continue;
                };
                for reference in references::of(&dependent) {
                    slices.step().await;
                    let is_owner = reference.uid == uid
                        && self.is_there(&Place::named(&self.index, dependent.namespace(), &reference), uid);
                    if is_owner {
                        return true;
                    }
                }
            }
            match page.into_iter().next_back() {
                Some(last) => after = Some(last),
                None => return false,
            }
        }
    }

    /// Finishes the deletion of an owner once its dependents no longer refer to it.
    pub(super) async fn orphan(&self, target: &Target, owner: &Object, slices: &mut Slices<'_>) -> Outcome {
        let uid = owner.encoded.uid();
        let (mut after, mut has_failed) = (None, false);
        loop {
            let page = self.graph.dependents(uid, after.as_ref(), PAGE);
            let mut releases = Vec::new();
            for place in &page {
                slices.step().await;
                let Some((kind, dependent)) = self.index.kind(place.kind).zip(self.index.object(place)) else {
                    continue;
                };
                // Whether an object may be written decides about its own owners only.
                if self.is_dependent(&dependent, target, owner, slices).await {
                    releases.push(self.release_from(kind.at(&dependent), dependent, target, owner));
                }
            }
            let mut outcomes = stream::iter(releases).buffer_unordered(AT_A_TIME);
            while let Some(outcome) = outcomes.next().await {
                has_failed |= outcome.is_err();
            }
            drop(outcomes);
            match page.into_iter().next_back() {
                Some(last) => after = Some(last),
                None => break,
            }
        }
        if has_failed { Outcome::Retry } else { self.finish(target, uid, ORPHAN).await }
    }

    /// Whether an object names an owner where it is.
    async fn is_dependent(&self, object: &Object, target: &Target, owner: &Object, slices: &mut Slices<'_>) -> bool {
        for reference in references::of(object) {
            slices.step().await;
            let has_uid = reference.uid == owner.encoded.uid();
            if has_uid && references::names(&reference.to_owned(), object.namespace(), &target.resource, owner) {
                return true;
            }
        }
        false
    }

    /// Removes the references to an owner from a dependent.
    async fn release_from(&self, at: Target, dependent: Arc<Object>, target: &Target, owner: &Object) -> Result<()> {
        let is_other =
            |reference: &OwnerReference| !references::names(reference, dependent.namespace(), &target.resource, owner);
        let release = |references: &mut Vec<OwnerReference>| references.retain(is_other);
        self.change_references(&at, dependent.encoded.uid(), release).await
    }

    /// Removes a finalizer.
    async fn finish(&self, target: &Target, uid: &str, finalizer: &str) -> Outcome {
        let change = |metadata: ViewMut<'_, ObjectMeta>| {
            let mut finalizers = metadata.view().field(ObjectMeta::FINALIZERS).get();
            finalizers.retain(|name| name != finalizer);
            set_list(metadata.field(ObjectMeta::FINALIZERS), finalizers);
        };
        retry_on_failure(&self.requests().change_metadata(target, uid, change).await)
    }
}
