//! What this backend needs of a Redis client's connections, and nothing more: the one place that opens them and sends.
//!
//! The terms, each kept by a test in `tests/driver.rs`: no request is ever sent twice by the driver itself; an
//! unanswered one fails in time and may have been applied; a dead subscription says so; errors keep their codes.

use crate::error::{from_driver, unanswered};
use futures_util::StreamExt;
use redis::aio::{MultiplexedConnection, PubSubSink, PubSubStream};
use redis::{AsyncConnectionConfig, Client, Cmd, RedisError, Value};
use std::time::Duration;
use tenure_core::StoreError;

/// Opens connections to one server.
#[derive(Clone)]
pub(crate) struct Driver {
    client: Client,
}

/// A connection for commands, shared by all tasks of a runtime.
#[derive(Clone)]
pub(crate) struct Link(MultiplexedConnection);

/// A connection for subscriptions, and nothing else.
pub(crate) struct Ear {
    sink: PubSubSink,
    stream: PubSubStream,
}

/// One thing heard.
pub(crate) struct Message {
    pub(crate) channel: String,
    pub(crate) payload: Vec<u8>,
}

impl Driver {
    pub(crate) fn new(client: Client) -> Self {
        Self { client }
    }

    /// Where the server is, without user or password.
    pub(crate) fn address(&self) -> String {
        crate::error::address(&self.client)
    }

    /// The server cannot be reached: where it should be, and why not.
    pub(crate) fn unreachable(&self, why: &str) -> StoreError {
        crate::error::unreachable(&self.client, why)
    }

    /// Opens a connection for commands. It lives on the runtime it was opened on.
    pub(crate) async fn open(&self, within: Duration) -> Result<Link, StoreError> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(within))
            // Room for as many tasks as ask at once: who finds it full is put to sleep and woken once more per request.
            .set_pipeline_buffer_size(1024)
            // Every request brings its own limit.
            .set_response_timeout(None);
        // The driver's own limit covers the connecting, but not every step of the greeting.
        let opening = self.client.get_multiplexed_async_connection_with_config(&config);
        match tokio::time::timeout(within, opening).await {
            Ok(Ok(connection)) => Ok(Link(connection)),
            Ok(Err(error)) => Err(self.not_reached(&error)),
            Err(_) => Err(self.unreachable("no answer in time")),
        }
    }

    /// Opens a connection for subscriptions.
    pub(crate) async fn listen(&self, within: Duration) -> Result<Ear, StoreError> {
        match tokio::time::timeout(within, self.client.get_async_pubsub()).await {
            Ok(Ok(pubsub)) => {
                let (sink, stream) = pubsub.split();
                Ok(Ear { sink, stream })
            }
            Ok(Err(error)) => Err(self.not_reached(&error)),
            Err(_) => Err(self.unreachable("no answer in time")),
        }
    }

    /// Nothing but a greeting was sent, so whatever went wrong, nothing was done.
    fn not_reached(&self, error: &RedisError) -> StoreError {
        let told = from_driver(error);
        if told.is_transient() { self.unreachable(&told.message) } else { told }
    }
}

impl Link {
    /// Sends one request and waits for its answer.
    pub(crate) async fn send(&mut self, command: &Cmd, within: Duration) -> Result<Value, RedisError> {
        self.0.set_response_timeout(within);
        self.0.send_packed_command(command).await?.extract_error()
    }

    /// Sends several at once and waits for their answers.
    pub(crate) async fn send_all(
        &mut self,
        commands: &redis::Pipeline,
        within: Duration,
    ) -> Result<Vec<Value>, RedisError> {
        self.0.set_response_timeout(within);
        commands.query_async(&mut self.0).await
    }
}

impl Ear {
    /// Listens to more channels; when this returns, no message on them is missed.
    pub(crate) async fn subscribe(&mut self, channels: &[String], within: Duration) -> Result<(), StoreError> {
        Self::in_time(self.sink.subscribe(channels), within).await
    }

    /// Listens to fewer.
    pub(crate) async fn unsubscribe(&mut self, channels: &[String], within: Duration) -> Result<(), StoreError> {
        Self::in_time(self.sink.unsubscribe(channels), within).await
    }

    /// Makes sure that somebody is still there.
    pub(crate) async fn ping(&mut self, within: Duration) -> Result<(), StoreError> {
        Self::in_time(self.sink.ping::<Value>(), within).await
    }

    /// The next message; none when the connection is gone.
    pub(crate) async fn hear(&mut self) -> Option<Message> {
        let message = self.stream.next().await?;
        Some(Message { channel: message.get_channel_name().to_owned(), payload: message.get_payload_bytes().to_vec() })
    }

    async fn in_time<T>(call: impl Future<Output = Result<T, RedisError>>, within: Duration) -> Result<(), StoreError> {
        match tokio::time::timeout(within, call).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(from_driver(&error)),
            Err(_) => Err(unanswered()),
        }
    }
}
