//! Places where no file of ours can be, or not as it should: every one gets one clear error of the right kind, and what
//! was there stays as it was.
//!
//! Some of it needs another umask, no special rights, or a file system of its own. The program then starts itself, in
//! namespaces of its own.

mod support;

use libtest_mimic::{Arguments, Failed, Trial};
use rusqlite::Connection;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use support::{Place, soon, store};
use tenure_core::{Backend, Client, Error, Release};

/// What a child of this program is to do, and to which file.
const JOB: &str = "TENURE_PLACES";

fn main() {
    if let Ok(job) = std::env::var(JOB) {
        let (what, path) = job.split_once(' ').expect("a job and a path");
        return child(what, Path::new(path));
    }
    let trials = vec![
        Trial::test("a_directory_that_is_missing_is_not_made", missing_directory),
        Trial::test("a_path_through_a_file_leads_nowhere", path_through_file),
        Trial::test("a_directory_is_no_file", directory),
        Trial::test("a_link_that_leads_nowhere_is_told", dangling),
        Trial::test("all_names_of_a_link_are_one_file", links),
        Trial::test("a_file_with_two_names_is_refused", hard_links),
        Trial::test("a_file_that_is_no_database_is_left_alone", no_database),
        Trial::test("a_database_of_another_program_is_left_alone", foreign),
        Trial::test("a_file_of_a_later_version_is_left_alone", later_version),
        Trial::test("a_damaged_file_is_told_and_grants_nothing", damaged),
        Trial::test("a_record_of_a_later_version_is_a_conflict", later_record),
        Trial::test("a_path_too_long_for_a_socket_is_none_for_a_file", long_path),
        Trial::test("a_name_too_long_for_what_lies_beside_it_is_refused_first", long_name),
        Trial::test("a_path_too_long_for_sqlite_is_refused_first", too_long_path),
        Trial::test("what_is_no_directory_of_sockets_is_told", no_bells),
        Trial::test("a_directory_where_nothing_can_be_made_is_told", no_files),
        Trial::test("too_many_open_files_are_told", crowded),
        Trial::test("all_that_is_made_is_the_owners_alone_whatever_the_umask", rights),
        Trial::test("a_file_that_may_not_be_written_is_told", unwritable_file),
        Trial::test("a_directory_that_may_not_be_written_is_told", unwritable_directory),
        Trial::test("a_read_only_file_system_is_told", read_only),
        Trial::test("a_full_disk_is_told_grants_nothing_and_is_got_over", full),
        Trial::test("a_file_that_is_mounted_by_itself_is_refused", mounted_alone),
        Trial::test("a_lease_is_the_same_in_every_time_namespace", time_namespace),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// Does something in this process, and says what came of it.
fn on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// Connects, and takes and leaves a lock.
async fn visit(path: &Path) -> Result<(), Error> {
    let url = format!("sqlite:{}", path.display());
    let client = Client::builder().connect_within(Duration::from_secs(2)).connect(store(&url)).await?;
    let guard = client.lock("k")?.lock().await?;
    assert_eq!(guard.release().await?, Release::Released);
    client.close(Duration::from_secs(5)).await
}

fn said(done: Result<(), Error>) -> String {
    done.map_or_else(|error| format!("{:?}: {error}", error.kind()), |()| "fine".to_owned())
}

/// What a visit comes to in this process.
fn visited(path: &Path) -> String {
    said(on(visit(path)))
}

fn expect(said: &str, kind: &str, words: &str) -> Result<(), Failed> {
    println!("{said}");
    if said.starts_with(&format!("{kind}: ")) && said.contains(words) && said.lines().count() == 1 {
        return Ok(());
    }
    Err(format!("expected {kind} with `{words}`, got {said}").into())
}

/// A child of this program, run by another.
fn command(what: &str, path: &Path, wrapper: &[&str]) -> Command {
    let program = std::env::current_exe().expect("this program");
    let mut command = Command::new(wrapper[0]);
    command.args(&wrapper[1..]).arg(program);
    command.env(JOB, format!("{what} {}", path.display())).stdin(Stdio::null());
    command
}

/// What a child says on its last line.
fn run(mut command: Command) -> String {
    let output = command.output().expect("a child");
    let (said, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "a child failed: {}\n{said}{complained}", output.status);
    said.trim().to_owned()
}

/// A namespace in which even root has no rights but those of its files.
const UNPRIVILEGED: [&str; 2] = ["unshare", "--user"];
/// Namespaces in which a child may mount what it likes.
const MOUNTS: [&str; 4] = ["unshare", "--user", "--map-root-user", "--mount"];

fn child(what: &str, path: &Path) {
    match what {
        "visit" => println!("{}", visited(path)),
        "rights" => child_rights(path),
        "read-only" => {
            let directory = path.parent().unwrap();
            mount(&["-t", "tmpfs", "tmpfs", directory.to_str().unwrap()]);
            assert_eq!(visited(path), "fine");
            until_closed(path).unwrap();
            mount(&["-o", "remount,ro", directory.to_str().unwrap()]);
            println!("{}", visited(path));
        }
        "full" => on(child_full(path)),
        "crowded" => on(child_crowded(path)),
        "mounted" => {
            assert_eq!(visited(path), "fine");
            until_closed(path).unwrap();
            mount(&["--bind", path.to_str().unwrap(), path.to_str().unwrap()]);
            println!("{}", visited(path));
        }
        "hold" => on(async {
            let client = Client::builder().connect(store(&format!("sqlite:{}", path.display()))).await.unwrap();
            let guard = client.lock("k").unwrap().lock().await.unwrap();
            println!("holds {}", guard.token());
            std::future::pending::<()>().await;
        }),
        _ => panic!("no such job: {what}"),
    }
}

fn mount(words: &[&str]) {
    let output = Command::new("mount").args(words).output().expect("mount");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn missing_directory() -> Result<(), Failed> {
    let place = Place::new();
    let directory = place.directory.path().join("missing");
    expect(&visited(&directory.join("locks")), "Unavailable", "make it first")?;
    assert!(!directory.exists());
    Ok(())
}

fn path_through_file() -> Result<(), Failed> {
    let place = Place::new();
    fs::write(&place.path, "")?;
    expect(&visited(&place.path.join("locks")), "Unavailable", "leads through a file")
}

fn directory() -> Result<(), Failed> {
    let place = Place::new();
    fs::create_dir(&place.path)?;
    expect(&visited(&place.path), "Unavailable", "name a file")?;
    assert_eq!(fs::read_dir(&place.path)?.count(), 0);
    Ok(())
}

fn dangling() -> Result<(), Failed> {
    let place = Place::new();
    symlink(place.directory.path().join("nowhere"), &place.path)?;
    expect(&visited(&place.path), "Unavailable", "leads nowhere")
}

/// Whoever waits is called when the holder goes: by itself it would look after a second. The fastest of three counts.
async fn is_called(holder: &Client, other: &Client) -> Result<(), Failed> {
    let mut fastest = Duration::MAX;
    for _ in 0..3 {
        let guard = holder.lock("k")?.lock().await?;
        let lock = other.lock("k")?;
        assert!(lock.try_lock().await?.is_none());
        let waiting = tokio::spawn(async move { lock.lock().await });
        support::until_waited_for(&holder.lock("k")?, 1).await;
        let released = std::time::Instant::now();
        guard.release().await?;
        soon("it gets in", waiting).await??.release().await?;
        fastest = fastest.min(released.elapsed());
    }
    assert!(fastest < Duration::from_millis(500), "{fastest:?}");
    Ok(())
}

/// A client that came by a link hears one that came by the file's own name.
fn links() -> Result<(), Failed> {
    let place = Place::new();
    assert_eq!(visited(&place.path), "fine");
    let link = place.directory.path().join("link");
    symlink(&place.path, &link)?;
    on(async {
        let holder = place.client().await;
        let other = Client::builder().connect(support::backend(&link)).await?;
        is_called(&holder, &other).await?;
        assert!(!place.directory.path().join("link-wake").exists());
        Ok(())
    })
}

fn hard_links() -> Result<(), Failed> {
    let place = Place::new();
    assert_eq!(visited(&place.path), "fine");
    fs::hard_link(&place.path, place.directory.path().join("other"))?;
    expect(&visited(&place.path), "Unsupported", "several names")
}

fn no_database() -> Result<(), Failed> {
    for text in ["x", "a shopping list\n", &"words, words, words\n".repeat(500)] {
        let place = Place::new();
        fs::write(&place.path, text)?;
        expect(&visited(&place.path), "Unexpected", "no database")?;
        assert_eq!(fs::read_to_string(&place.path)?, text);
        is_alone(&place)?;
    }
    Ok(())
}

/// Nothing was made beside the file.
fn is_alone(place: &Place) -> Result<(), Failed> {
    let names = fs::read_dir(place.directory.path())?.map(|entry| Ok(entry?.file_name()));
    assert_eq!(names.collect::<std::io::Result<Vec<_>>>()?, ["locks"]);
    Ok(())
}

fn foreign() -> Result<(), Failed> {
    for mode in ["delete", "wal"] {
        let place = Place::new();
        Connection::open(&place.path)?
            .execute_batch(&format!("PRAGMA journal_mode = {mode}; CREATE TABLE recipes (name)"))?;
        let before = fs::read(&place.path)?;
        let said = visited(&place.path);
        expect(&said, "Conflict", "another program's database")?;
        expect(&said, "Conflict", &format!("path=`{}`", place.path.display()))?;
        assert_eq!(fs::read(&place.path)?, before);
        is_alone(&place)?;
    }
    Ok(())
}

fn later_version() -> Result<(), Failed> {
    let place = Place::new();
    assert_eq!(visited(&place.path), "fine");
    place.peek().pragma_update(None, "user_version", 99)?;
    expect(&visited(&place.path), "Unsupported", "version=99")
}

fn damaged() -> Result<(), Failed> {
    for (from, length) in [(4096, 4096), (100, 4000), (4096, 3 * 4096)] {
        let place = Place::new();
        assert_eq!(visited(&place.path), "fine");
        until_closed(&place.path)?;
        let mut bytes = fs::read(&place.path)?;
        bytes[from..from + length].fill(0xA5);
        fs::write(&place.path, &bytes)?;
        expect(&visited(&place.path), "Unexpected", "is damaged, move it away")?;
    }
    let place = Place::new();
    assert_eq!(visited(&place.path), "fine");
    until_closed(&place.path)?;
    fs::OpenOptions::new().write(true).open(&place.path)?.set_len(4096)?;
    expect(&visited(&place.path), "Unexpected", "is damaged, move it away")
}

/// The last to close the file takes its log away.
fn until_closed(path: &Path) -> Result<(), Failed> {
    let log = format!("{}-wal", path.display());
    for _ in 0..1000 {
        if !Path::new(&log).exists() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Err("the file was not closed".into())
}

fn later_record() -> Result<(), Failed> {
    let place = Place::new();
    assert_eq!(visited(&place.path), "fine");
    let record = "tenure 2\nsomething else\n";
    place.peek().execute("INSERT INTO locks VALUES (?1, ?2, ?3)", (b"k", record, i64::MAX))?;
    expect(&visited(&place.path), "Conflict", "upgrade this one")?;
    assert_eq!(place.record("k").as_deref(), Some(record));
    Ok(())
}

fn long_path() -> Result<(), Failed> {
    let place = Place::new();
    let deep = place.directory.path().join("d".repeat(100)).join("e".repeat(100));
    fs::create_dir_all(&deep)?;
    let path = deep.join("locks");
    on(async {
        let (one, other) = (Client::new(support::backend(&path))?, Client::new(support::backend(&path))?);
        is_called(&one, &other).await
    })
}

fn long_name() -> Result<(), Failed> {
    for length in [247, 248, 252, 255, 300] {
        let place = Place::new();
        let said = visited(&place.directory.path().join("n".repeat(length)));
        if length == 247 {
            assert_eq!(said, "fine");
            continue;
        }
        expect(&said, "Unsupported", "name is too long")?;
        assert_eq!(fs::read_dir(place.directory.path())?.count(), 0);
    }
    Ok(())
}

fn too_long_path() -> Result<(), Failed> {
    let place = Place::new();
    let deep = ["d", "e", "f"].iter().fold(place.directory.path().to_owned(), |path, name| path.join(name.repeat(200)));
    fs::create_dir_all(&deep)?;
    expect(&visited(&deep.join("locks")), "Unsupported", "path is too long")?;
    assert_eq!(fs::read_dir(&deep)?.count(), 0);
    Ok(())
}

fn no_bells() -> Result<(), Failed> {
    let place = Place::new();
    let bells = place.directory.path().join("locks-wake");
    assert!(Command::new("mkfifo").arg(&bells).status()?.success());
    for _ in 0..2 {
        let said = visited(&place.path);
        expect(&said, "Unavailable", "no directory, move it away")?;
        assert!(said.contains("locks-wake"), "{said}");
        fs::remove_file(&bells)?;
        fs::write(&bells, "")?;
    }
    fs::remove_file(&bells)?;
    assert_eq!(visited(&place.path), "fine");
    Ok(())
}

fn no_files() -> Result<(), Failed> {
    expect(&visited(Path::new("/proc/tenure")), "Unavailable", "no file can be made in this directory")
}

fn crowded() -> Result<(), Failed> {
    let place = Place::new();
    let said = run(command("crowded", &place.path, &["sh", "-c", "ulimit -n 256; exec \"$0\""]));
    if said == "fine" { Ok(()) } else { Err(said.into()) }
}

/// Leaves room for one more open file each time, until there is enough.
async fn child_crowded(path: &Path) {
    let mut others = Vec::new();
    while let Ok(file) = fs::File::open("/dev/null") {
        others.push(file);
    }
    loop {
        let backend = support::backend(path);
        let Err(error) = backend.reach(support::PATIENCE).await else { break };
        assert!(error.message.contains("limit of open files"), "with room for {}: {error}", 256 - others.len());
        others.pop().expect("a backend needs fewer");
    }
    println!("fine");
}

fn rights() -> Result<(), Failed> {
    for umask in ["000", "022", "277", "777"] {
        let place = Place::new();
        let said = run(command("rights", &place.path, &["sh", "-c", &format!("umask {umask}; exec \"$0\"")]));
        let wanted = "locks 600, locks-shm 600, locks-wake 700, locks-wake/bell 600, locks-wal 600";
        if said != wanted {
            return Err(format!("umask {umask}: {said}").into());
        }
    }
    Ok(())
}

/// Says which rights everything has that lies beside the file.
fn child_rights(path: &Path) {
    on(async {
        let client = Client::builder().connect(support::backend(path)).await.unwrap();
        let _guard = client.lock("k").unwrap().lock().await.unwrap();
        let bells = format!("{}-wake", path.display());
        // It gets its rights right after it is hung.
        let is_hung = || {
            let modes = fs::read_dir(&bells).unwrap().flatten().filter_map(|bell| Some(bell.metadata().ok()?.mode()));
            modes.map(|mode| mode & 0o7777).collect::<Vec<_>>() == [0o600]
        };
        support::eventually("a bell", support::PATIENCE, is_hung).await;
        let mut found = Vec::new();
        for entry in fs::read_dir(path.parent().unwrap()).unwrap().flatten() {
            let mode = entry.metadata().unwrap().mode() & 0o7777;
            found.push(format!("{} {mode:o}", entry.file_name().to_string_lossy()));
        }
        for entry in fs::read_dir(&bells).unwrap().flatten() {
            found.push(format!("locks-wake/bell {:o}", entry.metadata().unwrap().mode() & 0o7777));
        }
        found.sort();
        println!("{}", found.join(", "));
    });
}

fn unwritable_file() -> Result<(), Failed> {
    let place = Place::new();
    assert_eq!(visited(&place.path), "fine");
    until_closed(&place.path)?;
    fs::set_permissions(&place.path, fs::Permissions::from_mode(0o400))?;
    expect(&run(command("visit", &place.path, &UNPRIVILEGED)), "Denied", "must be writable")
}

fn unwritable_directory() -> Result<(), Failed> {
    for made in [false, true] {
        let place = Place::new();
        if made {
            assert_eq!(visited(&place.path), "fine");
            until_closed(&place.path)?;
        }
        fs::set_permissions(place.directory.path(), fs::Permissions::from_mode(0o500))?;
        let said = run(command("visit", &place.path, &UNPRIVILEGED));
        fs::set_permissions(place.directory.path(), fs::Permissions::from_mode(0o700))?;
        expect(&said, "Denied", "must be writable")?;
    }
    Ok(())
}

fn read_only() -> Result<(), Failed> {
    let place = Place::new();
    expect(&run(command("read-only", &place.path, &MOUNTS)), "Denied", "must be writable")
}

fn full() -> Result<(), Failed> {
    let place = Place::new();
    let said = run(command("full", &place.path, &MOUNTS));
    expect(&said, "Unavailable", "the disk is full")
}

/// A disk that is full when the file is made, full when it is used, and emptied again.
async fn child_full(path: &Path) {
    let directory = path.parent().unwrap();
    mount(&["-t", "tmpfs", "-o", "size=256k", "tmpfs", directory.to_str().unwrap()]);
    let ballast = directory.join("ballast");
    fill(&ballast);
    let made = said(visit(path).await);
    assert!(made.starts_with("Unavailable: the disk is full"), "{made}");

    fs::remove_file(&ballast).unwrap();
    let client = Client::builder().connect(support::backend(path)).await.unwrap();
    let kept = client.lock("kept").unwrap().lock().await.unwrap();
    fill(&ballast);
    // The log's last page may have room for one more.
    let mut granted = Vec::new();
    let error = loop {
        let lock = client.lock(&format!("k{}", granted.len())).unwrap();
        match lock.lock_timeout(Duration::from_millis(300)).await {
            Ok(guard) => granted.push(guard),
            Err(error) => break error,
        }
        assert!(granted.len() < 1000, "the disk is never full");
    };
    let refused = format!("k{}", granted.len());
    assert!(kept.is_held());

    fs::remove_file(&ballast).unwrap();
    let other = Client::builder().connect(support::backend(path)).await.unwrap();
    let free = other.lock(&refused).unwrap().try_lock().await.unwrap();
    assert!(free.is_some(), "what was refused was not granted");
    assert!(other.lock("kept").unwrap().try_lock().await.unwrap().is_none());
    assert_eq!(kept.release().await.unwrap(), Release::Released);
    println!("{}", said(Err(error)));
}

fn fill(ballast: &Path) {
    let mut file = fs::File::create(ballast).unwrap();
    // In pages, until not one more fits.
    while std::io::Write::write_all(&mut file, &[1; 4096]).is_ok() {}
}

fn mounted_alone() -> Result<(), Failed> {
    let place = Place::new();
    expect(&run(command("mounted", &place.path, &MOUNTS)), "Unsupported", "mount its whole directory")
}

/// One who lives in a namespace whose clock is a day ahead holds a lock for as long as anybody else does.
fn time_namespace() -> Result<(), Failed> {
    let place = Place::new();
    assert_eq!(visited(&place.path), "fine");
    for ahead in ["86400", "-60"] {
        let wrapper = ["unshare", "--user", "--map-root-user", "--time", "--boottime", ahead, "--fork", "--kill-child"];
        let mut holder = command("hold", &place.path, &wrapper).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        let output = holder.stdout.take().expect("its output");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line)?;
        assert!(line.starts_with("holds "), "{line}");
        let seen = on(async {
            let client = place.client().await;
            let lock = client.lock("k")?;
            assert!(lock.try_lock().await?.is_none(), "it holds");
            let held = lock.inspect().await?.expect("it is held");
            lock.force_release().await?;
            Ok::<_, Error>(held.holder().clone())
        })?;
        holder.kill()?;
        holder.wait()?;
        let (left, held) = (seen.remaining.expect("a lease"), seen.held_for.expect("a time"));
        let minute = Duration::from_secs(60);
        assert!(left <= minute && left > minute / 10 && held < minute / 6, "left {left:?}, held {held:?}");
    }
    Ok(())
}
