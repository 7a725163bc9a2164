//! Nobody is left for others to bury: the first process of many a container reaps no orphans.

mod support;

use rustix::process::{getpid, set_child_subreaper};
use support::{Store, parent};

#[test]
fn a_run_leaves_no_process_behind() {
    set_child_subreaper(Some(getpid())).unwrap();
    for store in [Store::sqlite, Store::redis] {
        let store = store();
        let before = children();
        for _ in 0..5 {
            let said = store.run(&["run", "k", "--", "true"]);
            assert_eq!(said.code, 0, "{said:?}");
        }
        assert_eq!(children(), before, "processes were left to us");
    }
}

/// All that we would have to reap.
fn children() -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| std::fs::metadata(format!("/proc/{pid}")).is_ok() && parent(*pid) == std::process::id()).collect()
}
