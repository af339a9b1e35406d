use super::{VERBS, Verb, command, exactly, now, parsed, renewed};
use std::collections::BTreeMap;
use std::ffi::OsString;

/// Whether a command line, with the name of the program, can be understood: by the
/// command and by one of its forms that takes these options.
pub(crate) fn parses(words: &[String]) -> Result<(), String> {
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    if let Some((verb, form, rest)) = renewed(&words[1..]) {
        return parsed(verb, form, &rest).map(|_| ()).map_err(|e| e.to_string());
    }
    let (words, _) = super::with_settings(words);
    let matches = command().try_get_matches_from(&words).map_err(|e| e.to_string())?;
    let (name, given) = matches.subcommand().ok_or("no command")?;
    let (name, given, depth) = match given.subcommand() {
        Some((below, inner)) => (format!("{name} {below}"), inner, 3),
        None => (name.to_string(), given, 2),
    };
    let verb = VERBS.iter().find(|v| v.words == name).ok_or("no such command")?;
    let (mut rest, _) = crate::redact::taken(words[depth..].to_vec(), verb.words);
    if verb.forms.len() > 1 {
        rest = super::without_only(rest);
    }
    let mut why = String::new();
    for form in verb.fitting(given).map_err(|e| e.to_string())? {
        match parsed(verb, form, &rest) {
            Ok(_) => return Ok(()),
            Err(e) => why = e.to_string(),
        }
    }
    Err(why)
}

#[test]
fn the_command_line_is_sound() {
    command().debug_assert();
    for verb in VERBS {
        for form in verb.forms {
            (form.args)(clap::Command::new(verb.words)).debug_assert();
        }
    }
}

/// Options that a person sees in the help of a command.
fn options(verb: &Verb) -> usize {
    let command = verb.command();
    command.get_arguments().filter(|a| a.get_long().is_some() && !a.is_hide_set()).count()
}

/// The size of the surface: commands, options over all of them, schemas. `-- --nocapture`
/// prints it.
#[test]
fn the_surface_is_small() {
    let all: usize = VERBS.iter().map(options).sum();
    for verb in VERBS {
        println!("{:<12} {:>3} options", verb.words, options(verb));
    }
    println!("{} commands, {all} options", VERBS.len());
    assert!(VERBS.len() <= 22, "{} commands", VERBS.len());
    assert!(all <= 130, "{all} options");
}

/// The names of schemas in the sources of all crates. `-- --nocapture` prints them.
#[test]
fn the_schemas_are_few() {
    fn walk(folder: &std::path::Path, out: &mut std::collections::BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(&path, out);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = std::fs::read_to_string(&path).expect("text");
                out.extend(text.split('"').filter(|w| is_schema(w)).map(String::from));
            }
        }
    }
    fn is_schema(word: &str) -> bool {
        let Some((name, version)) = word.split_once('/') else { return false };
        let name = name.strip_prefix("dormouse-").or(name.strip_prefix("dormouse."));
        let plain =
            |n: &str| !n.is_empty() && n.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
        name.is_some_and(plain)
            && !version.is_empty()
            && version.bytes().all(|b| b.is_ascii_digit())
    }
    let mut all = std::collections::BTreeSet::new();
    let crates = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    for entry in std::fs::read_dir(crates).expect("a folder").flatten() {
        let sources = entry.path().join("src");
        if sources.is_dir() {
            walk(&sources, &mut all);
        }
    }
    // Recordings say their format and version in two fields.
    all.insert("dormouse-capture/1".into());
    all.iter().for_each(|s| println!("{s}"));
    assert!(all.contains(dormouse_words::document::SHOW), "{all:?}");
    assert!(all.iter().all(|s| s.starts_with("dormouse-")), "one style of names: {all:?}");
    assert!(all.len() <= 12, "{} schemas: {all:?}", all.len());
}

/// tools/renamed.json, which tools/same-facts and others read, has the words of the table.
#[test]
fn the_table_of_old_words_is_the_file() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/renamed.json");
    let text = std::fs::read_to_string(path).expect("tools/renamed.json");
    let file: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let file: BTreeMap<String, String> =
        serde_json::from_value(file["verbs"].clone()).expect("words");
    let mut table = BTreeMap::new();
    for verb in VERBS {
        for form in verb.forms {
            for old in form.before {
                table.insert(old.to_string(), exactly(verb, form));
            }
        }
    }
    assert_eq!(table, file);
}

/// Every rare setting is one, and is asked for as one.
#[test]
fn rare_settings_are_options_of_their_command() {
    for verb in VERBS {
        for name in super::rare::rare(verb.words) {
            let there = verb.with_all_options();
            assert!(
                there.get_arguments().any(|a| a.get_long() == Some(name)),
                "{}: {name}",
                verb.words
            );
        }
    }
    let words = |line: &str| -> Vec<String> { line.split(' ').map(String::from).collect() };
    assert_eq!(parses(&words("dormouse tune a.board --set seed=7 --set=simulations=9")), Ok(()));
    assert!(parses(&words("dormouse tune a.board --set sed=7")).is_err());
    assert!(parses(&words("dormouse hold --latency 1us -- a --set b")).is_ok());
}

#[test]
fn old_words_name_a_form_wherever_their_flags_stand() {
    let of = |line: &str| {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        renewed(&words).map(|(verb, form, rest)| (now(verb, form), rest.len()))
    };
    let found = |new: &str, rest| Some((new.to_string(), rest));
    assert_eq!(of("idle show a b"), found("show --only idle", 2));
    assert_eq!(of("doctor a --modes --json"), found("show --only modes", 2));
    assert_eq!(of("doctor a"), found("show --only findings", 1));
    assert_eq!(of("storage tune a --p99 1ms"), found("tune", 3));
    assert_eq!(of("show a"), None);
    assert_eq!(of("idle"), None);
}
