//! What a subscriber of `tracing` sees: a span for the wait, one for the hold, and the safety alarm.

use std::sync::{Arc, Mutex};
use std::time::Duration;
use tenure_core::{Client, ManualClock, Memory, Options, What};
use tracing::Event;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};

/// Writes down which spans began and ended, with their keys.
#[derive(Clone, Default)]
struct Diary(Arc<Mutex<Vec<String>>>);

struct Key(String);

impl Visit for Key {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "key" {
            self.0 = format!("{value:?}");
        }
    }
}

impl<S: tracing::Subscriber + for<'a> tracing_subscriber::registry::LookupSpan<'a>> Layer<S> for Diary {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        let mut key = Key(String::new());
        attributes.record(&mut key);
        self.0.lock().unwrap().push(format!("{} {}", attributes.metadata().name(), key.0));
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut key = Key(String::new());
        event.record(&mut key);
        let fields: Vec<&str> = event.metadata().fields().iter().map(|field| field.name()).collect();
        self.0.lock().unwrap().push(format!("{} {} {}", event.metadata().level(), key.0, fields.join(",")));
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let name = context.span(&id).map_or("", |span| span.name());
        self.0.lock().unwrap().push(format!("{name} ends"));
    }
}

#[tokio::test]
async fn a_wait_and_a_hold_are_spans_that_name_the_key() {
    let diary = Diary::default();
    let _default = tracing::subscriber::set_default(tracing_subscriber::registry().with(diary.clone()));
    let store = Memory::new();
    let (holder, waiter) = (Client::new(store.clone()).unwrap(), Client::new(store).unwrap());
    let held = holder.lock("a").unwrap().lock().await.unwrap();
    let mut events = waiter.events();
    let lock = waiter.lock("a").unwrap();
    let (guard, ()) = tokio::join!(async { lock.lock().await.unwrap() }, async {
        while !matches!(events.next().await.unwrap().what, What::Waiting { .. }) {}
        held.release().await.unwrap();
    });
    drop(guard);
    let seen = diary.0.lock().unwrap().clone();
    let first = ["tenure.hold a", "tenure.wait a", "tenure.hold ends", "tenure.wait ends"];
    assert_eq!(seen.first().map(String::as_str), Some(first[0]));
    for wanted in first {
        assert!(seen.iter().any(|seen| seen == wanted), "{wanted} is missing: {seen:?}");
    }
    assert_eq!(seen.iter().filter(|seen| *seen == "tenure.hold ends").count(), 2, "{seen:?}");
}

#[tokio::test]
async fn a_section_that_outlived_its_lease_is_an_error_in_the_log_that_says_whose() {
    let diary = Diary::default();
    let _default = tracing::subscriber::set_default(tracing_subscriber::registry().with(diary.clone()));
    let clock = ManualClock::new();
    let client = Client::new(Memory::with_clock(clock.clone())).unwrap();
    let guard = client.lock("a").unwrap().lock_with(Options::new().no_renew()).await.unwrap();
    clock.advance(Duration::from_secs(31));
    guard.release().await.unwrap_err();
    let seen = diary.0.lock().unwrap().clone();
    assert!(seen.iter().any(|seen| seen == "ERROR a message,key,owner,held,lease"), "{seen:?}");
}
