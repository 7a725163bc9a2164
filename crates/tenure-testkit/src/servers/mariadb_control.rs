//! The connection on which a `MariaDbServer` talks to its own process.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error, Opts, Row, Value};
use tokio::runtime::{Builder, Runtime};

/// The rows of an answer, every column as text, or why there are none.
type Answer = Result<Vec<Vec<String>>, String>;

/// A connection with a thread and a runtime of its own: tests ask from plain code and from inside
/// of their own runtimes, which allow nobody to wait for a future on their threads.
pub(super) struct Control {
    /// The thread ends when this is dropped.
    questions: mpsc::Sender<Question>,
}

struct Question {
    sql: String,
    answer: mpsc::Sender<Answer>,
}

impl Control {
    /// Connects with the first question, and anew after one that got no answer.
    pub(super) fn start(options: Opts, patience: Duration) -> Self {
        let (questions, asked) = mpsc::channel::<Question>();
        let work = move || {
            let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime can be made");
            let mut connection = None;
            for Question { sql, answer } in asked {
                // Nobody waits for an answer after a panic.
                let _ = answer.send(ask(&runtime, &mut connection, &options, &sql, patience));
            }
        };
        thread::Builder::new().name("mariadb-control".to_owned()).spawn(work).expect("a thread can be started");
        Self { questions }
    }

    /// Runs one statement and returns its rows.
    pub(super) fn ask(&self, sql: &str) -> Answer {
        let (answer, answered) = mpsc::channel();
        let question = Question { sql: sql.to_owned(), answer };
        self.questions.send(question).map_err(|_| "the control thread is gone".to_owned())?;
        answered.recv().map_err(|_| "the control thread is gone".to_owned())?
    }
}

fn ask(runtime: &Runtime, connection: &mut Option<Conn>, options: &Opts, sql: &str, patience: Duration) -> Answer {
    let asking = async {
        let mut open = match connection.take() {
            Some(open) => open,
            None => Conn::new(options.clone()).await?,
        };
        let rows: Result<Vec<Row>, Error> = open.query(sql).await;
        // A refusal is an answer; after any other failure the next one may belong to this question.
        if matches!(rows, Ok(_) | Err(Error::Server(_))) {
            *connection = Some(open);
        }
        rows
    };
    let rows = runtime
        .block_on(async { tokio::time::timeout(patience, asking).await })
        .map_err(|_| format!("no answer within {patience:?}"))?
        .map_err(|error| error.to_string())?;
    Ok(rows.into_iter().map(|row| row.unwrap().into_iter().map(text).collect()).collect())
}

fn text(value: Value) -> String {
    match value {
        Value::NULL => "NULL".to_owned(),
        // The text protocol, which statements without parameters use, has no other type.
        Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        other => other.as_sql(true),
    }
}
