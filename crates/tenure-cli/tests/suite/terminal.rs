//! A person at a real terminal: Ctrl-C, Ctrl-Z, jobs, pipelines, and what is shown while waiting.

use crate::support::pty::Person;
use crate::support::{Store, eventually, gone, parent, state};

crate::on_every_store!(
    the_command_has_the_terminal,
    ctrl_c_reaches_the_command,
    ctrl_c_is_the_commands_to_handle,
    ctrl_c_ends_a_script_as_well,
    ctrl_c_while_waiting,
    ctrl_z_and_fg,
    ctrl_z_and_bg,
    a_command_that_sleeps_through_its_lease_is_killed,
    a_job_in_the_background_stops_when_it_reads,
    a_job_brought_to_the_foreground_has_the_terminal,
    a_pager_gets_the_terminal_when_it_asks,
    an_interactive_shell_can_be_the_command,
    without_a_shell_ctrl_z_does_nothing,
    who_waits_sees_for_whom,
    a_quiet_wait_shows_nothing,
    colours_are_for_terminals_that_want_them,
);

const CTRL_C: &str = "\u{3}";
const CTRL_Z: &str = "\u{1a}";

fn the_command_has_the_terminal(store: &Store) {
    let mut person = Person::at_shell(&store.url());
    person.type_line(r#"tenure run k -- sh -c 'echo u""p; read line; echo "g""ot $line"'"#);
    person.see("up");
    person.type_line("hello");
    person.see("got hello");
    assert_eq!(person.last_code(), 0);
    // And the shell has it back.
    person.type_line("read line; echo \"o\"\"h $line\"");
    person.type_line("dear");
    person.see("oh dear");
}

fn ctrl_c_reaches_the_command(store: &Store) {
    let mut person = Person::at_shell(&store.url());
    person.type_line("tenure run k -- sh -c 'echo pi\"\"d=$$\";\"; exec sleep 1000'");
    let command = person.see_number("pid");
    person.press(CTRL_C);
    person.see("ready> ");
    assert_eq!(person.last_code(), 130);
    gone(command);
    assert!(!store.is_held("k"));
}

fn ctrl_c_is_the_commands_to_handle(store: &Store) {
    let mut person = Person::at_shell(&store.url());
    person.type_line(
        "tenure run k -- bash -c 'trap \"echo ca\"\"ught; exit 4\" INT; echo u\"\"p; while :; do sleep 0.02; done'",
    );
    person.see("up");
    person.press(CTRL_C);
    person.see("caught");
    assert_eq!(person.last_code(), 4);
}

fn ctrl_c_ends_a_script_as_well(store: &Store) {
    let mut person = Person::at_shell(&store.url());
    person.type_line(
        "bash -c 'for i in 1 2 3; do tenure run k -- sh -c \"echo u\\\"\\\"p; exec sleep 1000\"; done; echo o\"\"n'",
    );
    person.see("up");
    person.press(CTRL_C);
    let seen = person.see("ready> ");
    assert!(!seen.contains("up") && !seen.contains("on\r"), "the script went on: {seen:?}");
    assert_eq!(person.last_code(), 130);
}

fn ctrl_c_while_waiting(store: &Store) {
    let _holder = store.hold("k");
    let mut person = Person::at_shell(&store.url());
    person.type_line("tenure run k -- echo never");
    person.see("held by");
    person.press(CTRL_C);
    person.see("ready> ");
    assert_eq!(person.last_code(), 130);
}

fn ctrl_z_and_fg(store: &Store) {
    let mut person = Person::at_shell(&store.url());
    person.type_line(r#"tenure run k -- sh -c 'echo pi""d=$$";"; read line; echo "g""ot $line"; exit 6'"#);
    let command = person.see_number("pid");
    person.press(CTRL_Z);
    person.see("Stopped");
    eventually("the command is stopped", || state(command) == Some('T'));
    person.type_line("jobs");
    person.see("tenure run k");
    for _ in 0..2 {
        person.type_line("fg");
        eventually("the command goes on", || state(command) == Some('S'));
        person.press(CTRL_Z);
        person.see("Stopped");
        eventually("the command is stopped", || state(command) == Some('T'));
    }
    person.type_line("fg");
    person.type_line("hello");
    person.see("got hello");
    assert_eq!(person.last_code(), 6);
    assert!(!store.is_held("k"));
}

fn ctrl_z_and_bg(store: &Store) {
    let mut person = Person::at_shell(&store.url());
    person.type_line(r#"tenure run k -- sh -c 'echo pi""d=$$";"; exec sleep 1000'"#);
    let command = person.see_number("pid");
    person.press(CTRL_Z);
    person.see("Stopped");
    eventually("the command is stopped", || state(command) == Some('T'));
    person.type_line("bg");
    eventually("the command goes on", || matches!(state(command), Some('S' | 'R')));
    // The shell has the terminal meanwhile.
    person.type_line("echo st\"\"ill here");
    person.see("still here");
    person.type_line("kill %1; wait %1; echo co''de=$?';'");
    assert_eq!(person.see_number("code"), 143);
    gone(command);
}

fn a_command_that_sleeps_through_its_lease_is_killed(store: &Store) {
    let mut person = Person::at_shell(&store.url());
    person.type_line(
        r#"tenure run --lease 1s --on-lost 'echo "lo""st: $TENURE_LOST"' k -- sh -c 'echo pi""d=$$";"; read line'"#,
    );
    let command = person.see_number("pid");
    person.press(CTRL_Z);
    person.see("Stopped");
    gone(command);
    person.type_line("fg");
    person.see("lost: its lease ended");
    person.see("the lock was lost");
    let code = person.last_code();
    assert_eq!(code, 73);
}

fn a_job_in_the_background_stops_when_it_reads(store: &Store) {
    let mut person = Person::at_shell(&store.url());
    person.type_line(r#"tenure run k -- sh -c 'echo pi""d=$$";"; read line; echo "g""ot $line"' &"#);
    let command = person.see_number("pid");
    let tenure = parent(command);
    eventually("the command is stopped", || state(command) == Some('T'));
    eventually("so are we", || state(tenure) == Some('T'));
    // Until every thread has stopped, the shell does not see it.
    person.type_line("until jobs | grep Stopped; do :; done");
    person.see("Stopped  ");
    person.type_line("fg");
    person.type_line("hello");
    person.see("got hello");
    assert_eq!(person.last_code(), 0);
}

fn a_job_brought_to_the_foreground_has_the_terminal(store: &Store) {
    let mut person = Person::at_shell(&store.url());
    let fifo = tempfile::tempdir().unwrap();
    let fifo = fifo.path().join("go");
    person.type_line(&format!("mkfifo {}", fifo.display()));
    person.type_line(&format!(
        r#"tenure run k -- sh -c 'echo pi""d=$$";"; read go <{}; read line; echo "g""ot $line"' &"#,
        fifo.display()
    ));
    person.see_number("pid");
    // It runs, so the shell sends it no SIGCONT.
    person.type_line("fg");
    person.see("tenure run k");
    std::fs::write(&fifo, "go\n").unwrap();
    person.type_line("hello");
    person.see("got hello");
    assert_eq!(person.last_code(), 0);
}

fn a_pager_gets_the_terminal_when_it_asks(store: &Store) {
    let mut person = Person::at_shell(&store.url());
    person.type_line(
        "tenure run k -- sh -c 'echo text; exec sleep 1000' | bash -c 'read text; echo p\"\"ager; read line </dev/tty; echo \"sh\"\"ows $text $line\"; kill 0'",
    );
    person.see("pager");
    person.type_line("more");
    person.see("shows text more");
    person.see("ready> ");
    eventually("the lock is free", || !store.is_held("k"));
}

fn an_interactive_shell_can_be_the_command(store: &Store) {
    let mut person = Person::at_shell(&store.url());
    person.type_line("tenure run k -- bash --norc --noprofile --noediting -i");
    person.type_line("PS1=in'ner> '");
    person.see("inner> ");
    for key in [CTRL_C, CTRL_Z] {
        person.type_line("sh -c 'echo u\"\"p; exec sleep 1000'");
        // Before that, the shell would get it.
        person.see("up");
        person.press(key);
        if key == CTRL_C {
            person.see("inner> ");
        }
    }
    person.see("Stopped");
    person.type_line("kill -9 %1; exec sh -c 'exit 8'");
    person.see("ready> ");
    assert_eq!(person.last_code(), 8);
}

fn without_a_shell_ctrl_z_does_nothing(store: &Store) {
    // As in a container: nobody is there who could continue what stops.
    let script = r#"echo pi""d=$$";"; read line; echo "g""ot $line"; exit 3"#;
    let tenure = env!("CARGO_BIN_EXE_tenure");
    let mut person = Person::at(tenure, &["run", "k", "--", "sh", "-c", script], &store.url());
    let command = person.see_number("pid");
    person.press(CTRL_Z);
    person.type_line("hello");
    person.see("got hello");
    gone(command);
    assert_eq!(person.end(), 3);
}

fn who_waits_sees_for_whom(store: &Store) {
    let holder = store.hold("k");
    let mut person = Person::at_shell(&store.url());
    person.type_line("tenure run k -- echo mi''ne");
    let seen = person.see("held by sh on ");
    assert!(seen.contains("waiting for `k`"), "{seen:?}");
    person.see(&format!("pid {} for ", holder.child.id()));
    drop(holder);
    if !store.is_freed_by_death() {
        // The lease of a killed holder has to end first.
        assert_eq!(store.run(&["release", "--force", "k"]).code, 0);
    }
    person.see("mine");
    assert_eq!(person.last_code(), 0);
}

fn a_quiet_wait_shows_nothing(store: &Store) {
    let holder = store.hold("k");
    let mut person = Person::at_shell(&store.url());
    person.type_line("tenure -q run --wait 800ms k -- echo never; echo do''ne");
    let seen = person.see("done");
    assert!(!seen.contains("waiting for"), "{seen:?}");
    assert!(seen.contains("error: ") || seen.contains("error:\u{1b}"), "{seen:?}");
    drop(holder);
}

fn colours_are_for_terminals_that_want_them(store: &Store) {
    let mut person = Person::at_shell(&store.url());
    person.type_line("tenure release --force k; echo do''ne");
    assert!(person.see("done").contains("\u{1b}[1m"), "no colour on a terminal");
    person.type_line("NO_COLOR=1 tenure release --force k; echo do''ne");
    let plain = person.see("done");
    assert!(plain.contains("error: nobody holds the lock"), "{plain:?}");
}
