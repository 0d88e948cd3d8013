//! The slot of a request, which it holds until its response has been sent. Guarantees that it is given back then, or
//! when the request is dropped. Must never take one: flow control does.

use crate::flow::Slot;

/// Holds what flow control gave to a request.
#[derive(Default)]
pub(crate) struct SlotObserver(Option<Slot>);

impl SlotObserver {
    /// The response is made; it keeps the slot.
    pub fn hold(&mut self, slot: Option<Slot>) {
        self.0 = slot;
    }

    pub(super) fn sent(&mut self) {
        self.0 = None;
    }
}
