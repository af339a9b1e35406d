//! The invariants that ARCHITECTURE.md states, held against the tree.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask has a parent").to_path_buf()
}

fn tracked() -> Vec<PathBuf> {
    let out = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git lists the files of the tree");
    let list = String::from_utf8(out.stdout).expect("file names are UTF-8");
    let files: Vec<PathBuf> =
        list.lines().map(|l| root().join(l)).filter(|p| p.is_file()).collect();
    assert!(files.len() > 20, "git listed only {} files", files.len());
    files
}

fn is_code(p: &Path) -> bool {
    matches!(p.extension().and_then(|e| e.to_str()), Some("rs" | "ts" | "c" | "h" | "py" | "js"))
}

fn is_text(p: &Path) -> bool {
    is_code(p)
        || matches!(
            p.extension().and_then(|e| e.to_str()),
            Some("md" | "toml" | "txt" | "json" | "sh" | "html" | "css" | "board" | "yml")
        )
        || p.file_name().is_some_and(|n| n == "Makefile" || n == "run")
        || p.parent().is_some_and(|d| d.ends_with("tools"))
}

/// Every crate with the crates of the project that it may depend on. An arrow
/// that is not here does not compile, because Cargo does not know of it; a new
/// one belongs into ARCHITECTURE.md too.
const ARROWS: [(&str, &[&str]); 21] = [
    ("base", &[]),
    ("power", &["base"]),
    ("board", &["base", "power"]),
    ("sleep", &["base", "board"]),
    ("idle", &["base"]),
    ("storage", &["base"]),
    ("doctor", &["base"]),
    ("capture", &["base"]),
    ("read", &["base", "board", "capture", "doctor", "idle", "power", "storage"]),
    ("words", &["base", "board", "doctor", "idle", "power", "sleep", "storage"]),
    ("machine", &["base", "capture"]),
    ("history", &["base", "capture", "doctor", "machine", "read"]),
    ("record", &["base", "board", "capture", "idle", "machine", "read", "words"]),
    ("guest", &["base", "machine", "storage"]),
    ("lab", &["base", "board", "capture", "guest", "machine", "read", "storage"]),
    (
        "app",
        &[
            "base", "board", "doctor", "idle", "lab", "machine", "power", "read", "sleep",
            "storage", "words",
        ],
    ),
    ("dress", &["base"]),
    ("wasm", &["app", "base", "board", "idle", "sleep"]),
    ("report", &["base", "idle", "sleep", "wasm", "words"]),
    (
        "cli",
        &[
            "app", "base", "board", "capture", "guest", "history", "idle", "lab", "machine",
            "read", "record", "report", "sleep", "storage", "words",
        ],
    ),
    (
        "xtask",
        &[
            "base", "board", "doctor", "dress", "idle", "lab", "machine", "power", "read", "sleep",
            "storage",
        ],
    ),
];

/// Crates that only think: no I/O, no threads, no clock, no unsafe code, and
/// nothing from the registry but `libm`, and `serde` for answers that serialise.
const PURE: [&str; 7] = ["base", "power", "board", "sleep", "idle", "storage", "doctor"];

/// Names under `[dependencies]` of a manifest.
fn dependencies(folder: &Path) -> Vec<String> {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let Some(list) = manifest.split("\n[dependencies]").nth(1) else { return Vec::new() };
    list.split("\n[")
        .next()
        .unwrap()
        .lines()
        .map(|l| l.split(['.', ' ', '=']).next().unwrap_or("").to_string())
        .filter(|n| !n.is_empty() && !n.starts_with('#'))
        .collect()
}

/// Folder of a crate of the project.
fn folder(name: &str) -> PathBuf {
    if name == "xtask" { root().join(name) } else { root().join("crates").join(name) }
}

#[test]
fn crates_depend_only_along_the_allowed_arrows() {
    let mut listed: Vec<String> = ARROWS.iter().map(|(name, _)| (*name).to_string()).collect();
    let mut present: Vec<String> = fs::read_dir(root().join("crates"))
        .unwrap()
        .map(|d| d.unwrap().file_name().to_string_lossy().into_owned())
        .chain(["xtask".to_string()])
        .collect();
    listed.sort();
    present.sort();
    assert_eq!(listed, present, "every crate has a row in ARROWS");
    let mut wrong = Vec::new();
    for (name, allowed) in ARROWS {
        for d in dependencies(&folder(name)) {
            if let Some(other) = d.strip_prefix("dormouse-")
                && !allowed.contains(&other)
            {
                wrong.push(format!("{name} -> {other}"));
            }
        }
    }
    assert!(wrong.is_empty(), "arrows that ARCHITECTURE.md does not allow: {wrong:?}");
    let doc = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for (name, allowed) in ARROWS {
        let mut row = format!("| `{name}` | ");
        row += &if allowed.is_empty() { "nothing".into() } else { allowed.join(", ") };
        assert!(doc.contains(&row), "ARCHITECTURE.md has no row {row:?} of allowed arrows");
    }
}

#[test]
fn pure_crates_are_pure() {
    for name in PURE {
        for d in dependencies(&folder(name)) {
            let pure = d.strip_prefix("dormouse-").is_some_and(|d| PURE.contains(&d));
            assert!(pure || d == "libm" || d == "serde", "{name} depends on {d}");
        }
        let lib = fs::read_to_string(folder(name).join("src/lib.rs")).unwrap();
        assert!(lib.contains("#![forbid(unsafe_code)]"), "crates/{name} forbids unsafe code");
        // Clippy reads it: no file, thread, clock or environment outside of tests.
        let rules = fs::read_link(folder(name).join("clippy.toml")).unwrap();
        assert_eq!(rules, Path::new("../../pure-clippy.toml"), "crates/{name}/clippy.toml");
    }
}

#[test]
fn files_hold_one_noun() {
    let long: Vec<String> = tracked()
        .iter()
        .filter(|p| is_code(p))
        .filter_map(|p| {
            let lines = fs::read_to_string(p).unwrap_or_default().lines().count();
            (lines > 800).then(|| format!("{} has {lines} lines", p.display()))
        })
        .collect();
    assert!(long.is_empty(), "look for the second noun:\n{}", long.join("\n"));
}

#[test]
fn nothing_of_the_workshop_is_left_in_the_tree() {
    // Written in pieces, so that this file passes its own test.
    let words = [
        concat!("/wor", "k/"),
        concat!("/ro", "ot/"),
        concat!("deb.", "debian.org"),
        concat!("registry.", "npmjs"),
        concat!("files.python", "hosted"),
        concat!("static.crates", ".io"),
    ];
    let mut found = Vec::new();
    for p in tracked().iter().filter(|p| is_text(p)) {
        let text = fs::read_to_string(p).unwrap_or_default();
        for w in words {
            if let Some(i) = text.lines().position(|l| l.contains(w)) {
                found.push(format!("{}:{}: {w}", p.display(), i + 1));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn architecture_names_every_room() {
    let doc = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for dir in fs::read_dir(root().join("crates")).unwrap() {
        let crate_dir = dir.unwrap().path();
        let room = format!("crates/{}", crate_dir.file_name().unwrap().to_string_lossy());
        assert!(doc.contains(&room), "ARCHITECTURE.md does not mention {room}");
        for sub in fs::read_dir(crate_dir.join("src")).unwrap() {
            let sub = sub.unwrap().path();
            if sub.is_dir() {
                let name = sub.file_name().unwrap().to_string_lossy().into_owned();
                assert!(
                    doc.contains(&format!("`{name}/`")) || doc.contains(&format!("`{name}`")),
                    "ARCHITECTURE.md does not mention {room}/src/{name}"
                );
            }
        }
    }
}

#[test]
fn every_make_target_says_what_it_does() {
    let text = fs::read_to_string(root().join("Makefile")).unwrap();
    for line in text.lines().filter(|l| l.starts_with(".PHONY: ")) {
        let name = line.trim_start_matches(".PHONY: ");
        assert!(
            text.lines().any(|l| l.starts_with(&format!("{name}:")) && l.contains("## ")),
            "make {name} has no line of help"
        );
    }
}

/// The package for Python is a workspace of its own, which cannot take the version of another.
#[test]
fn the_package_for_python_has_the_version_of_the_command() {
    let version = |file: &str| {
        let text = fs::read_to_string(root().join(file)).unwrap();
        let line = text.lines().find(|l| l.starts_with("version = "));
        line.unwrap_or_else(|| panic!("{file} has no version")).to_string()
    };
    assert_eq!(version("python/Cargo.toml"), version("Cargo.toml"));
    let project = fs::read_to_string(root().join("python/pyproject.toml")).unwrap();
    assert!(project.contains("\ndynamic = [\"version\"]\n"), "pyproject.toml takes Cargo's");
}

#[test]
fn every_command_is_documented() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let table = fs::read_to_string(root().join("crates/cli/src/surface/table.rs")).unwrap();
    let quoted = |line: &str| line.split('"').nth(1).map(str::to_string);
    let lines = || table.lines().map(str::trim);
    let named = lines().filter(|l| l.starts_with("words: \"")).filter_map(quoted);
    let short = lines()
        .zip(lines().skip(1))
        .filter(|(l, _)| l.starts_with("verb!("))
        .filter_map(|(l, next)| quoted(l).or_else(|| quoted(next)));
    let words: Vec<String> = named.chain(short).collect();
    assert!(words.len() >= 15, "{words:?}");
    for word in words {
        // A group is named by one of its commands.
        let first = word.split(' ').next().unwrap();
        assert!(
            readme.contains(&format!("dormouse {first}")) || readme.contains(&format!("`{first}`")),
            "README.md does not mention `dormouse {word}`"
        );
    }
}

/// Times of a guest that does not count instructions are the load of the host.
/// One place starts QEMU, and there is one way to ask it for the host's time,
/// which only the command line may take.
#[test]
fn no_test_depends_on_the_load_of_the_host() {
    // Written in pieces, so that this file passes its own test.
    let emulator = concat!("qemu-", "system-");
    let host_time = [
        concat!("Accel::", "Tcg"),
        concat!("Accel::", "Kvm"),
        concat!("--accel ", "tcg"),
        concat!("--accel ", "kvm"),
        concat!("\"--accel\", \"", "tcg"),
        concat!("\"--accel\", \"", "kvm"),
    ];
    let mut found = Vec::new();
    for p in tracked().iter().filter(|p| is_text(p)) {
        let name = p.strip_prefix(root()).unwrap().display().to_string();
        // Packages are installed by that name, and documents are read.
        // One tool asks whether it has UFS, one brings another, a package recommends it;
        // none starts a guest.
        let others = [
            "crates/lab/src/qemu.rs",
            "tools/setup",
            "tools/storage-devices",
            "tools/newer-qemu",
            "tools/release",
        ];
        if others.contains(&&*name) || name.ends_with(".md") {
            continue;
        }
        let text = fs::read_to_string(p).unwrap_or_default();
        // A test may expect the message of a missing QEMU.
        let text = text.replace(concat!("qemu-", "system-x86_64 is not installed"), "");
        if text.contains(emulator) {
            found.push(format!("{name} names {emulator}: start guests with dormouse_lab::qemu"));
        }
        let judges = name.contains("/tests/")
            || name.contains("/examples/")
            || name.starts_with("tools/")
            || name.starts_with("xtask/");
        // Power cuts: QEMU holds the disk back by the host's clock, and files are
        // judged there, not times.
        let judges = judges && name != "xtask/src/cuts.rs";
        for word in host_time.iter().filter(|w| judges && text.contains(**w)) {
            found.push(format!("{name} has {word}: guests that judge times count instructions"));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    let qemu = fs::read_to_string(root().join("crates/lab/src/qemu.rs")).unwrap();
    assert!(qemu.contains("\"-icount\", \"shift=0,sleep=off\""), "qemu.rs counts instructions");
}

/// Linking is most of the cost of a small test, so the tests of a crate are one
/// program. A file that its `tests/all.rs` does not name would never run.
#[test]
fn the_tests_of_a_crate_are_one_binary() {
    for dir in fs::read_dir(root().join("crates")).unwrap() {
        let tests = dir.unwrap().path().join("tests");
        let Ok(files) = fs::read_dir(&tests) else { continue };
        let names: Vec<String> = files
            .map(|f| f.unwrap().path())
            .filter(|p| p.extension().is_some_and(|e| e == "rs"))
            .map(|p| p.file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        if names.len() < 2 {
            continue;
        }
        let all = fs::read_to_string(tests.join("all.rs")).unwrap_or_default();
        for name in names.iter().filter(|n| *n != "all") {
            assert!(
                all.contains(&format!("mod {name};\n")),
                "{} does not name {name}",
                tests.join("all.rs").display()
            );
        }
    }
}
