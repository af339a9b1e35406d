//! One vocabulary of options over all verbs: a name takes the same kind of value
//! everywhere, and says it with the same word.

use clap::{Arg, Command};
use std::collections::BTreeMap;

/// What may follow an option, where that differs between verbs.
const SEVERAL: [(&str, &[&str]); 9] = [
    // How many a machine has, or which of them.
    ("cpus", &["N", "LIST"]),
    // One of several, or the median of all.
    ("cycle", &["N", "N|median"]),
    // The kernel that runs, whose rules are used, or whose governors decide.
    ("from-kernel", &["V", "V|POLICY"]),
    ("kernel", &["K", "V", "V|POLICY"]),
    ("output", &["DIR", "FILE"]),
    // Of each idle state, or of each mode of sleep.
    ("power", &["KEY=VALUE,…", "POWER"]),
    // A device of the kernel, or what services bring.
    ("ready", &["PATTERN=TIME", "WHAT=TIME"]),
    // No recording is replayed as a hibernation.
    (
        "sleep",
        &[
            "devices|platform|core|s2idle|deep",
            "devices|platform|core|s2idle|deep|hibernate|rollback",
        ],
    ),
    // A driver by the name of what it serves, or devices.
    ("without", &["NAME", "PATTERN"]),
];

/// The word for the value of an option; empty for one that takes none.
fn value(option: &Arg) -> String {
    let takes = option.get_num_args().is_none_or(|n| n.takes_values());
    let names = option.get_value_names().filter(|_| takes).unwrap_or_default();
    names.iter().map(|n| n.as_str()).collect::<Vec<_>>().join(" ")
}

fn collect(command: &Command, path: &str, all: &mut BTreeMap<String, Vec<(String, String)>>) {
    for option in command.get_arguments() {
        if let Some(name) = option.get_long() {
            all.entry(name.into()).or_default().push((value(option), path.into()));
        }
    }
    for verb in command.get_subcommands() {
        collect(verb, &format!("{path} {}", verb.get_name()), all);
    }
}

#[test]
fn an_option_takes_the_same_kind_of_value_in_every_verb() {
    let mut command = super::surface::command();
    command.build();
    let mut all = BTreeMap::new();
    collect(&command, "dormouse", &mut all);
    assert!(all.len() > 120, "{} options", all.len());
    let mut wrong = Vec::new();
    for (name, uses) in &all {
        let allowed = SEVERAL.iter().find(|(n, _)| n == name).map(|(_, list)| *list);
        for (value, verb) in uses {
            let fits = match allowed {
                Some(list) => list.contains(&value.as_str()),
                None => *value == uses[0].0,
            };
            if !fits {
                wrong
                    .push(format!("{verb} --{name} {value}, {} --{name} {}", uses[0].1, uses[0].0));
            }
        }
    }
    for (name, list) in SEVERAL {
        let used = all.get(name).map_or(&[][..], Vec::as_slice);
        for word in list {
            if !used.iter().any(|(value, _)| value == word) {
                wrong.push(format!("nobody uses --{name} {word}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
