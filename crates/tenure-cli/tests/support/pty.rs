//! A person at a terminal: a real pseudo-terminal with an interactive shell, or any other program, on it.

use super::{DEFAULT_SIGNALS, PATIENCE, code, within};
use std::io::{Read, Write};
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

pub struct Person {
    pty: Arc<pty_process::blocking::Pty>,
    shell: Child,
    screen: Arc<Mutex<String>>,
    /// How much of the screen was read already.
    read: usize,
}

impl Person {
    /// Sits down at an interactive shell with job control.
    pub fn at_shell(url: &str) -> Self {
        let mut person = Self::at("bash", &["--norc", "--noprofile", "--noediting", "-i"], url);
        person.see("ready> ");
        person
    }

    /// Sits down at a program that has the terminal to itself.
    pub fn at(program: &str, args: &[&str], url: &str) -> Self {
        let (pty, pts) = pty_process::blocking::open().expect("a pseudo-terminal");
        pty.resize(pty_process::Size::new(24, 200)).expect("a size");
        let tools = std::path::Path::new(env!("CARGO_BIN_EXE_tenure")).parent().expect("a directory");
        let path = std::env::var("PATH").unwrap_or_default();
        let shell = pty_process::blocking::Command::new("env")
            .args(DEFAULT_SIGNALS)
            .arg(program)
            .args(args)
            .env("PATH", format!("{}:{path}", tools.display()))
            .env("TENURE_URL", url)
            .env_remove("TENURE_OWNER")
            .env("PS1", "ready> ")
            .env("TERM", "xterm")
            .spawn(pts)
            .expect("a program on a terminal");
        let pty = Arc::new(pty);
        let screen = Arc::new(Mutex::new(String::new()));
        let (from, to) = (Arc::clone(&pty), Arc::clone(&screen));
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            // Ends with an error when nobody has the terminal open any more.
            while let Ok(count @ 1..) = (&*from).read(&mut buffer) {
                to.lock().unwrap().push_str(&String::from_utf8_lossy(&buffer[..count]));
            }
        });
        Self { pty, shell, screen, read: 0 }
    }

    /// Types, without a line's end.
    pub fn press(&mut self, keys: &str) {
        (&*self.pty).write_all(keys.as_bytes()).expect("a terminal");
    }

    pub fn type_line(&mut self, line: &str) {
        self.press(&format!("{line}\n"));
    }

    /// Waits until this is on the screen, after what was seen before; what was there up to its end.
    pub fn see(&mut self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen.lock().unwrap().clone();
            if let Some(at) = screen[self.read..].find(text) {
                let end = self.read + at + text.len();
                let seen = screen[self.read..end].to_owned();
                self.read = end;
                return seen;
            }
            assert!(Instant::now() < deadline, "`{text}` is not on the screen:\n{}", &screen[self.read..]);
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits for a word and the number after it.
    pub fn see_number(&mut self, word: &str) -> u32 {
        self.see(&format!("{word}="));
        self.see(";").trim_end_matches(';').parse().expect("a number")
    }

    /// The exit code of the last command that was typed.
    pub fn last_code(&mut self) -> u32 {
        self.type_line("echo co''de=$?';'");
        self.see_number("code")
    }

    /// Waits for the end of the program; its exit code.
    pub fn end(&mut self) -> i32 {
        code(within("the program's end", || self.shell.try_wait().unwrap()))
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}
