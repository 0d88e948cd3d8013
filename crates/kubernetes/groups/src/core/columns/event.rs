//! Events, which two groups serve and the core group stores.
//!
//! Times and counts come from the fields of old, from the series or from the event's own time, in that order of age.

use crate::printing::cells::*;
use crate::printing::{Column, NAME, printers, string, wide};
use pintle_resource::Now;
use pintle_schema::{Value, View};
use pintle_types::core::v1::{Event, EventSeries, EventSource, ObjectReference};

printers! {
    EVENT: Event |event, now| {
        string("Last Seen", "How long ago it last happened.") => last_seen(event, now).into(),
        string("Type", "Normal or Warning.") => text(event.to(Event::TYPE)),
        string("Reason", "What happened, in a word.") => text(event.to(Event::REASON)),
        string("Object", "Object that it happened to.") => object(event),
        wide("Subobject", "Part of the object.")
            => text(event.to(Event::INVOLVED_OBJECT).to(ObjectReference::FIELD_PATH)),
        wide("Source", "Who reported it.") => source(event),
        string("Message", "What happened.") => event.to(Event::MESSAGE).as_str().trim().into(),
        wide("First Seen", "How long ago it first happened.") => first_seen(event, now).into(),
        wide("Count", "How often it happened.") => times(event),
        Column { priority: 1, ..NAME } => name(event),
    }
}

fn first_seen(event: View<'_, Event>, now: &Now) -> String {
    match event.to(Event::FIRST_TIMESTAMP).seconds() {
        Some(seconds) => now.since(seconds),
        None => since(event.to(Event::EVENT_TIME), now),
    }
}

fn last_seen(event: View<'_, Event>, now: &Now) -> String {
    if let Some(series) = event.to(Event::SERIES).some() {
        return since(series.to(EventSeries::LAST_OBSERVED_TIME), now);
    }
    match event.to(Event::LAST_TIMESTAMP).seconds() {
        Some(seconds) => now.since(seconds),
        None => first_seen(event, now),
    }
}

fn times(event: View<'_, Event>) -> Value {
    match event.to(Event::SERIES).some() {
        Some(series) => number(series.to(EventSeries::COUNT)),
        // An event that counts nothing still happened once.
        None => Some(int_of(event.to(Event::COUNT))).filter(|count| *count != 0).unwrap_or(1).into(),
    }
}

fn object(event: View<'_, Event>) -> Value {
    let object = event.to(Event::INVOLVED_OBJECT);
    let kind = str_of(object.to(ObjectReference::KIND)).to_lowercase();
    let name = str_of(object.to(ObjectReference::NAME));
    if name.is_empty() { kind.into() } else { format!("{kind}/{name}").into() }
}

fn source(event: View<'_, Event>) -> Value {
    let source = event.to(Event::SOURCE);
    let component = str_or(source.to(EventSource::COMPONENT), str_of(event.to(Event::REPORTING_COMPONENT)));
    let host = str_or(source.to(EventSource::HOST), str_of(event.to(Event::REPORTING_INSTANCE)));
    if host.is_empty() { component.into() } else { format!("{component}, {host}").into() }
}
