//! The driver on redis-rs: the one place that opens connections and sends on them.

mod failure;
mod setup;
mod tongue;

use super::{Answer, Driver, Ear, Failure, Link, Message};
use crate::error::{unanswered, unreachable};
use failure::{failure, told};
use futures_util::StreamExt;
use redis::aio::{MultiplexedConnection, PubSubSink, PubSubStream};
use redis::{AsyncConnectionConfig, Client, Cmd, ConnectionAddr, Pipeline, RedisError, Value};
use std::time::Duration;
use tenure_core::StoreError;

pub(crate) struct RedisRs {
    client: Client,
}

/// Many requests at a time over one connection, by a task on the runtime that opened it.
#[derive(Clone)]
pub(crate) struct Multiplexed(MultiplexedConnection);

pub(crate) struct PubSub {
    sink: PubSubSink,
    stream: PubSubStream,
}

impl RedisRs {
    /// Takes over a client's settings. Nothing is sent.
    pub(crate) fn new(client: Client) -> Self {
        Self { client }
    }

    /// Waits for a connection and its greeting. Nothing else was sent, so whatever went wrong, nothing was done.
    async fn reached<T>(
        &self,
        opening: impl Future<Output = Result<T, RedisError>>,
        within: Duration,
    ) -> Result<T, StoreError> {
        match tokio::time::timeout(within, opening).await {
            Ok(Ok(opened)) => Ok(opened),
            Ok(Err(error)) => {
                let told = told(&error);
                Err(if told.is_transient() { unreachable(&self.address(), &told.message) } else { told })
            }
            Err(_) => Err(unreachable(&self.address(), "no answer in time")),
        }
    }
}

impl Driver for RedisRs {
    type Link = Multiplexed;
    type Ear = PubSub;

    fn address(&self) -> String {
        let info = self.client.get_connection_info();
        let database = match info.redis_settings().db() {
            0 => String::new(),
            number => format!("/{number}"),
        };
        match info.addr() {
            ConnectionAddr::Tcp(host, port) => format!("{host}:{port}{database}"),
            ConnectionAddr::TcpTls { host, port, .. } => format!("{host}:{port}{database} (tls)"),
            ConnectionAddr::Unix(path) => format!("{}{database}", path.display()),
            _ => "elsewhere".to_owned(),
        }
    }

    async fn open(&self, within: Duration) -> Result<Multiplexed, StoreError> {
        let config = AsyncConnectionConfig::new()
            // The library's own limit covers the connecting, but not every step of the greeting.
            .set_connection_timeout(Some(within))
            // Room for as many tasks as ask at once: who finds it full is put to sleep and woken once more per request.
            .set_pipeline_buffer_size(1024)
            // Every request brings its own limit.
            .set_response_timeout(None);
        let opening = self.client.get_multiplexed_async_connection_with_config(&config);
        self.reached(opening, within).await.map(Multiplexed)
    }

    async fn mistaken(&self, within: Duration) -> Option<&'static str> {
        tongue::mistaken(self.client.get_connection_info().addr(), within).await
    }

    async fn listen(&self, within: Duration) -> Result<PubSub, StoreError> {
        let (sink, stream) = self.reached(self.client.get_async_pubsub(), within).await?.split();
        Ok(PubSub { sink, stream })
    }
}

impl Link for Multiplexed {
    async fn send(&mut self, command: &Cmd, within: Duration) -> Answer {
        self.0.set_response_timeout(within);
        answer(self.0.send_packed_command(command).await)
    }

    async fn send_all(&mut self, commands: Vec<Cmd>, within: Duration) -> Result<Vec<Answer>, Failure> {
        self.0.set_response_timeout(within);
        let count = commands.len();
        let mut pipeline = Pipeline::with_capacity(count);
        for command in commands {
            pipeline.add_command(command);
        }
        let answers = self.0.send_packed_commands(&pipeline, 0, count).await.map_err(|error| failure(&error))?;
        Ok(answers.into_iter().map(|value| answer(Ok(value))).collect())
    }
}

/// The library hands an error of the server's over as a value.
fn answer(answer: Result<Value, RedisError>) -> Answer {
    answer.and_then(Value::extract_error).map_err(|error| failure(&error))
}

impl Ear for PubSub {
    async fn subscribe(&mut self, channels: &[String], within: Duration) -> Result<(), StoreError> {
        in_time(self.sink.subscribe(channels), within).await
    }

    async fn unsubscribe(&mut self, channels: &[String], within: Duration) -> Result<(), StoreError> {
        in_time(self.sink.unsubscribe(channels), within).await
    }

    async fn ping(&mut self, within: Duration) -> Result<(), StoreError> {
        in_time(self.sink.ping::<Value>(), within).await
    }

    async fn hear(&mut self) -> Option<Message> {
        let message = self.stream.next().await?;
        Some(Message { channel: message.get_channel_name().to_owned(), payload: message.get_payload_bytes().to_vec() })
    }
}

/// The library's connection for subscriptions knows no limits.
async fn in_time<T>(call: impl Future<Output = Result<T, RedisError>>, within: Duration) -> Result<(), StoreError> {
    match tokio::time::timeout(within, call).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(told(&error)),
        Err(_) => Err(unanswered()),
    }
}
