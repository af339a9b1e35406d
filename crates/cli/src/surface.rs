//! The surface: every command, what it takes in, and the words it had before.
//!
//! A command has one form for each subject that it takes in. A form is a set of
//! options and a function; the command's help shows the options of all its forms.
//! Which form answers is told by the options that are given, else by the input;
//! `--only` chooses. The words of before 1.0 name a form and answer as they did.

use crate::{exit, redact, terminal};
use anyhow::Result;
use clap::builder::{PossibleValuesParser, ValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use dormouse_app::failure::Usage;
use dormouse_read::Given;
use std::ffi::OsString;
use std::path::PathBuf;

mod all;
mod rare;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use table::VERBS;
#[cfg(test)]
pub(crate) use tests::parses;

/// A command.
pub(crate) struct Verb {
    /// Its words: `show`, `lab run`.
    pub words: &'static str,
    /// What it is for.
    pub group: Group,
    /// What it answers, in one line of the list of commands.
    pub does: &'static str,
    /// The same at length, with examples; empty where the one form says it.
    pub about: &'static str,
    /// Two commands that can be typed.
    pub examples: &'static str,
    /// What it takes in.
    pub forms: &'static [Form],
    /// Whether all forms answer that find something, one section each.
    pub all: bool,
}

/// What a command is for, as the README has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    See,
    Predict,
    Prove,
    Improve,
    Help,
}

impl Group {
    const ALL: [(Group, &'static str); 5] = [
        (Group::See, "See"),
        (Group::Predict, "Predict"),
        (Group::Prove, "Prove"),
        (Group::Improve, "Improve"),
        (Group::Help, "Help"),
    ];
}

/// A command of one subject.
pub(crate) struct Form {
    /// The subject: what `--only` takes.
    pub subject: &'static str,
    /// The heading of its options and of its section.
    pub heading: &'static str,
    /// Words that named this form before; flags among them may stand anywhere.
    pub before: &'static [&'static str],
    /// Adds its options.
    pub args: fn(Command) -> Command,
    /// Answers.
    pub run: fn(&ArgMatches, &Given) -> Result<()>,
    /// What its section of several is.
    pub section: Section,
    /// Whether an input is of this form, if options do not tell.
    pub holds: fn(&Given) -> bool,
}

/// What a form's section of several is.
#[derive(Clone, Copy)]
pub(crate) enum Section {
    /// Shown if there is something; its document is a member of this name.
    Member(&'static str),
    /// As [`Section::Member`], told by its own function whether there is something.
    MemberIf(&'static str, fn(&ArgMatches, &Given) -> Result<()>),
    /// The same, but its document's members stand at the top.
    Top,
    /// As [`Section::Top`], told by its own function whether there is something.
    TopIf(fn(&ArgMatches, &Given) -> Result<()>),
    /// Shown only if it is asked for.
    Asked(&'static str),
}

/// The option that chooses a form.
const ONLY: &str = "only";

impl Verb {
    /// The last of its words.
    fn name(&self) -> &'static str {
        self.words.rsplit(' ').next().unwrap_or(self.words)
    }

    /// Its options and help. Rare ones are hidden behind `--set`, as ssh hides its
    /// own behind -o: the help lists them last.
    pub(crate) fn command(&self) -> Command {
        let mut command = self.with_all_options();
        let (mut list, mut any) = (String::from("Rare settings; may be repeated:"), false);
        for name in rare::rare(self.words) {
            let found = command.get_arguments().find(|a| a.get_long() == Some(name));
            let Some(arg) = found.cloned() else { continue };
            let value = arg.get_value_names().filter(|_| arg.get_action().takes_values());
            let value = value.and_then(|v| v.first()).map_or(String::new(), |v| format!("={v}"));
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            list += &format!("\n- {name}{value}: {help}");
            any = true;
            command = command.mut_arg(arg.get_id().clone(), |a| a.hide(true));
        }
        if !any {
            return command;
        }
        let set = Arg::new("set").long("set").value_name("NAME=VALUE").action(ArgAction::Append);
        command.arg(set.help("A rare setting; --help lists them").long_help(list))
    }

    fn with_all_options(&self) -> Command {
        let mut command = Command::new(self.name());
        if redact::is_for(self.words) {
            command = command.arg(redact::option(self.words));
        }
        if let [form] = self.forms {
            command = (form.args)(command);
            return if self.examples.is_empty() {
                command
            } else {
                command.after_help(self.examples)
            };
        }
        command = command.about(self.does).long_about(self.about).after_help(self.examples).arg(
            Arg::new("input")
                .num_args(0..)
                .value_name("INPUT")
                .value_parser(ValueParser::os_string())
                .help("Files or folders, recognised by what is in them; `-` is standard input"),
        );
        let subjects: Vec<&str> = self.forms.iter().map(|f| f.subject).collect();
        let only = Arg::new(ONLY)
            .long(ONLY)
            .value_name("SUBJECT")
            .value_parser(PossibleValuesParser::new(subjects))
            .help("Only this subject, where options and input do not tell");
        command = command.arg(if self.all {
            only.value_delimiter(',').action(ArgAction::Append).help("Only these subjects")
        } else {
            only
        });
        let mut there: Vec<String> = vec![ONLY.into(), "help".into()];
        let all: Vec<Vec<Arg>> = self.forms.iter().map(options).collect();
        let forms_with = |name: &str| all.iter().filter(|of| is_among(of, name)).count();
        for (form, args) in self.forms.iter().zip(&all) {
            for arg in args {
                let long = arg.get_long().unwrap_or_default().to_string();
                if there.contains(&long) {
                    continue;
                }
                let heading = if forms_with(&long) > 1 { None } else { Some(form.heading) };
                command = command.arg(plain(arg, heading, &|name| forms_with(name) > 0));
                there.push(long);
            }
        }
        command
    }

    /// The form that answers these words, parsed by [`Verb::command`].
    fn form(&self, matches: &ArgMatches, given: &Given) -> Result<&'static Form> {
        let fits = self.fitting(matches)?;
        let [first, rest @ ..] = &fits[..] else { unreachable!("fitting says which fit") };
        if rest.is_empty() {
            return Ok(first);
        }
        Ok(fits.iter().find(|f| (f.holds)(given)).unwrap_or(first))
    }

    /// The forms that take all that is given.
    fn fitting(&self, given: &ArgMatches) -> Result<Vec<&'static Form>> {
        if self.forms.len() == 1 {
            return Ok(vec![&self.forms[0]]);
        }
        let asked: Vec<&String> = given.get_many(ONLY).into_iter().flatten().collect();
        let typed: Vec<&str> = given
            .ids()
            .map(clap::Id::as_str)
            .filter(|id| given.value_source(id) == Some(ValueSource::CommandLine))
            .filter(|id| ![ONLY, "input", redact::NAME].contains(id))
            .collect();
        let of = |f: &&'static Form| match asked.is_empty() {
            true => true,
            false => asked.iter().any(|a| *a == f.subject),
        };
        let forms: Vec<&'static Form> = self.forms.iter().filter(of).collect();
        let takes = |f: &&'static Form| {
            let args = options(f);
            typed.iter().all(|t| is_among(&args, t))
        };
        let fits: Vec<&'static Form> = forms.iter().copied().filter(takes).collect();
        if !fits.is_empty() {
            return Ok(fits);
        }
        let whose = |t: &&str| {
            let of: Vec<&str> =
                self.forms.iter().filter(|f| is_among(&options(f), t)).map(|f| f.subject).collect();
            format!("--{t} is for {}", of.join(", "))
        };
        let each: Vec<String> = typed.iter().map(whose).collect();
        let each = each.join("; ");
        Err(Usage(format!("dormouse {}: no subject takes these options: {each}", self.words))
            .into())
    }
}

/// The options of a form.
fn options(form: &Form) -> Vec<Arg> {
    let command = (form.args)(Command::new("form"));
    command.get_arguments().filter(|a| a.get_long().is_some()).cloned().collect()
}

/// Whether one of these has this name.
fn is_among(options: &[Arg], long: &str) -> bool {
    options.iter().any(|a| a.get_long() == Some(long))
}

/// An option without its ties to others: the form that answers checks those.
fn plain(arg: &Arg, heading: Option<&'static str>, taken: &dyn Fn(&str) -> bool) -> Arg {
    let long = arg.get_long().unwrap_or_default().to_string();
    let mut out = Arg::new(long.clone())
        .long(long)
        .action(arg.get_action().clone())
        .hide(arg.is_hide_set())
        .help_heading(heading);
    if let Some(short) = arg.get_short() {
        out = out.short(short);
    }
    if let Some(help) = arg.get_help() {
        out = out.help(help.clone());
    }
    if let Some(help) = arg.get_long_help() {
        out = out.long_help(help.clone());
    }
    if arg.get_action().takes_values() {
        if let Some(names) = arg.get_value_names() {
            out = out.value_names(names.to_vec());
        }
        if let Some(n) = arg.get_num_args() {
            out = out.num_args(n);
        }
        out = out
            .allow_hyphen_values(arg.is_allow_hyphen_values_set())
            .value_parser(ValueParser::os_string());
    }
    // A name that another form has as its own is no other name here.
    for name in arg.get_all_aliases().unwrap_or_default() {
        if !taken(name) {
            out = out.alias(name.to_string());
        }
    }
    out
}

/// The inputs of words that [`Verb::command`] parsed.
fn inputs_of(given: &ArgMatches) -> Vec<PathBuf> {
    let all = given.try_get_many::<OsString>("input").ok().flatten();
    all.into_iter().flatten().map(PathBuf::from).collect()
}

/// The whole command line.
pub(crate) fn command() -> Command {
    with_verbs(VERBS.iter())
}

/// The command line as far as the first of `words` needs it: to describe every option of
/// every command takes longer than most answers.
fn command_for(words: &[OsString]) -> Command {
    let first = words.first().and_then(|w| w.to_str()).unwrap_or_default();
    let is_first = |v: &&Verb| v.words.split(' ').next() == Some(first);
    match VERBS.iter().any(|v| is_first(&v)) {
        true => with_verbs(VERBS.iter().filter(is_first)),
        false => command(),
    }
}

fn with_verbs<'a>(verbs: impl Iterator<Item = &'a Verb>) -> Command {
    let mut root = Command::new("dormouse")
        .version(env!("CARGO_PKG_VERSION"))
        .about("A laboratory for Linux sleep states: see, predict, prove and improve them")
        .max_term_width(80)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .help_template(
            "{about}\n\nUsage: dormouse COMMAND …\n{before-help}\nOptions:\n{options}{after-help}",
        )
        .before_help(listed())
        .after_help(exit::table());
    let mut groups: Vec<Command> = Vec::new();
    for verb in verbs {
        match verb.words.split_once(' ') {
            None => root = root.subcommand(verb.command()),
            Some((group, _)) => {
                let at = groups.iter().position(|g| g.get_name() == group).unwrap_or_else(|| {
                    groups.push(table::group(group));
                    groups.len() - 1
                });
                let taken = std::mem::take(&mut groups[at]);
                groups[at] = taken.subcommand(verb.command());
            }
        }
    }
    root.subcommands(groups)
}

/// The commands in their groups.
fn listed() -> String {
    let mut out = String::new();
    for (group, title) in Group::ALL {
        out += &format!("\n{title}:\n");
        for verb in VERBS.iter().filter(|v| v.group == group) {
            out += &format!("  {:<12} {}\n", verb.words, verb.does);
        }
    }
    out + "\n`dormouse COMMAND --help` says more. Docs: docs/README.md\n"
}

/// Runs the command line of this terminal and gives its exit code.
pub(crate) fn ended() -> u8 {
    let words = terminal::arguments();
    let result = match renewed(&words) {
        Some((verb, form, rest)) => run_before(verb, form, rest),
        None => run_now(words),
    };
    match result {
        Ok(answered) => terminal::said(answered, exit::code),
        Err(e) => terminal::misused(&e),
    }
}

/// What came of words: of the verb, or that clap does not understand them.
type Ran = std::result::Result<Result<()>, clap::Error>;

/// A recording in place of a command is shown.
fn shown(mut words: Vec<OsString>) -> Vec<OsString> {
    let verb = |word: &OsString| {
        VERBS.iter().any(|v| v.words.split(' ').next().is_some_and(|w| word == w))
    };
    let input =
        |word: &OsString| !verb(word) && (word == "-" || std::path::Path::new(word).exists());
    if words.first().is_some_and(input) {
        words.insert(0, "show".into());
    }
    words
}

fn run_now(words: Vec<OsString>) -> Ran {
    let (words, settings) = with_settings(shown(words));
    let mut all = vec![OsString::from("dormouse")];
    all.extend(words.iter().cloned());
    let command = command_for(&words);
    if let Err(e) = each_is_known(&command, &words, &settings) {
        return Ok(Err(e));
    }
    let matches = command.try_get_matches_from(all)?;
    let (mut name, mut given) = matches.subcommand().expect("one is required");
    let mut depth = 1;
    let whole;
    if let Some((below, inner)) = given.subcommand() {
        whole = format!("{name} {below}");
        (name, given, depth) = (&whole, inner, 2);
    }
    let verb = VERBS.iter().find(|v| v.words == name).expect("a verb of the table");
    let (rest, redact) = redact::taken(words[depth..].to_vec(), verb.words);
    let inputs = Given::new(&inputs_of(given));
    if verb.all {
        let rest = without_only(rest);
        let run = || all::sections(verb, given, &inputs, &rest);
        return understood(redact::answered(redact, &inputs, None, run));
    }
    let form = match verb.form(given, &inputs) {
        Ok(form) => form,
        Err(e) => return Ok(Err(e)),
    };
    let rest = if verb.forms.len() > 1 { without_only(rest) } else { rest };
    run_form(verb, form, (rest, redact), &inputs)
}

/// What a form cannot understand is no failure of its answer.
fn understood(result: Result<()>) -> Ran {
    match result.map_err(|e| e.downcast::<clap::Error>()) {
        Ok(()) => Ok(Ok(())),
        Err(Ok(misused)) => Err(misused),
        Err(Err(e)) => Ok(Err(e)),
    }
}

/// Answers old words as they were answered, and says the new ones.
fn run_before(verb: &'static Verb, form: &'static Form, rest: Vec<OsString>) -> Ran {
    let (old, new) = (terminal::arguments(), now(verb, form));
    let said = old.len() - rest.len();
    let old: Vec<_> = old.iter().take(said).map(|w| w.to_string_lossy()).collect();
    let words = new.split(' ').map(OsString::from).chain(rest.iter().cloned()).collect();
    terminal::remarked(&format!("dormouse: \"{}\" is now \"{new}\"\n", old.join(" ")));
    let (rest, redact) = redact::taken(rest, verb.words);
    terminal::told(words, || match verb.all {
        true => understood(all::only(verb, form, (&rest, redact))),
        false => run_form(verb, form, (rest, redact), &Given::new(&[])),
    })
}

/// Runs a form by its words, and whether it answers for others, with what was read already to
/// know that it is the one.
fn run_form(
    verb: &Verb,
    form: &'static Form,
    (rest, redact): (Vec<OsString>, redact::Redact),
    read: &Given,
) -> Ran {
    let matches = parsed(verb, form, &rest)?;
    let paths = named(form, &matches);
    let others = (paths != read.paths()).then(|| read.only(&paths));
    let given = others.as_ref().unwrap_or(read);
    let root = matches.try_get_raw("root").ok().flatten().and_then(|mut r| r.next());
    let root = root.map(OsString::from);
    Ok(redact::answered(redact, given, root.as_ref(), || (form.run)(&matches, given)))
}

/// The inputs of a form, as its own words name them.
fn named(form: &Form, matches: &ArgMatches) -> Vec<PathBuf> {
    let command = (form.args)(Command::new("form"));
    let words = command.get_positionals().filter_map(|a| matches.get_raw(a.get_id().as_str()));
    words.flatten().map(PathBuf::from).collect()
}

/// The words after a command as its form takes them.
fn parsed(
    verb: &Verb,
    form: &Form,
    rest: &[OsString],
) -> std::result::Result<ArgMatches, clap::Error> {
    let name = format!("dormouse {}", verb.words);
    let command = (form.args)(Command::new("dormouse")).bin_name(name.clone()).max_term_width(80);
    let words = std::iter::once(OsString::from(name)).chain(rest.iter().cloned());
    command.try_get_matches_from(words).map_err(|e| one_too_many(&e, verb, form).unwrap_or(e))
}

/// A further input of a form that takes one is no argument that nobody expects.
fn one_too_many(e: &clap::Error, verb: &Verb, form: &Form) -> Option<clap::Error> {
    let Some(ContextValue::String(word)) = e.get(ContextKind::InvalidArg) else { return None };
    let one = e.kind() == ErrorKind::UnknownArgument && verb.forms.len() > 1;
    if !one || word.starts_with('-') {
        return None;
    }
    let why = format!(
        "dormouse {} reads these inputs as {}, of which it takes one at a time: it has no place \
         for {word}\n",
        verb.words, form.subject
    );
    Some(clap::Error::raw(ErrorKind::TooManyValues, why))
}

/// The words that name a form now, where options and input tell the rest.
pub(crate) fn now(verb: &Verb, form: &Form) -> String {
    match verb.all {
        true => exactly(verb, form),
        false => verb.words.into(),
    }
}

/// The words that name a form whatever the input is.
fn exactly(verb: &Verb, form: &Form) -> String {
    // The first form is what a command of one subject is mostly asked for.
    let first = verb.forms.first().is_some_and(|f| f.subject == form.subject);
    match verb.all || !first {
        true => format!("{} --{ONLY} {}", verb.words, form.subject),
        false => verb.words.into(),
    }
}

/// The form that old words name, and the words that are left.
fn renewed(words: &[OsString]) -> Option<(&'static Verb, &'static Form, Vec<OsString>)> {
    let mut best: Option<(usize, _)> = None;
    for verb in VERBS {
        for form in verb.forms {
            for old in form.before {
                let Some(rest) = after(words, old) else { continue };
                let n = words.len() - rest.len();
                if best.as_ref().is_none_or(|(m, _)| n > *m) {
                    best = Some((n, (verb, form, rest)));
                }
            }
        }
    }
    best.map(|(_, found)| found)
}

/// What is left of `words` after those of `old`, if it begins with them. A flag of
/// `old` may stand anywhere.
fn after(words: &[OsString], old: &str) -> Option<Vec<OsString>> {
    let mut rest = words.to_vec();
    for w in old.split(' ') {
        let at = match w.starts_with('-') {
            true => rest.iter().position(|r| r == w)?,
            false => (rest.first()? == w).then_some(0)?,
        };
        rest.remove(at);
    }
    Some(rest)
}

/// Whether the command that `words` name has all of these settings.
fn each_is_known(root: &Command, words: &[OsString], settings: &[String]) -> Result<()> {
    let mut command = root;
    let mut names = Vec::new();
    for word in words.iter().map_while(|w| w.to_str()) {
        let Some(below) = command.find_subcommand(word) else { break };
        (command, names) = (below, [&names[..], &[word]].concat());
    }
    let has = |setting: &str| {
        let is = |a: &Arg| {
            let others = a.get_all_aliases().unwrap_or_default();
            a.get_long() == Some(setting) || others.contains(&setting)
        };
        command.get_arguments().any(is)
    };
    let name = |setting: &String| setting.split('=').next().unwrap_or_default().to_string();
    let Some(unknown) = settings.iter().map(name).find(|n| !has(n)) else { return Ok(()) };
    let verb = names.join(" ");
    let all = rare::rare(&verb).join(", ");
    let all = if all.is_empty() { "none".into() } else { all };
    Err(Usage(format!(
        "dormouse {verb} has no setting {unknown}; its settings are: {all} (dormouse {verb} --help)"
    ))
    .into())
}

/// Each `--set NAME=VALUE` as the option that it stands for, and those settings.
fn with_settings(words: Vec<OsString>) -> (Vec<OsString>, Vec<String>) {
    let (mut out, mut settings) = (Vec::new(), Vec::new());
    let mut words = words.into_iter();
    while let Some(w) = words.next() {
        let mut option = |setting: &str| {
            settings.push(setting.to_string());
            out.push(OsString::from(format!("--{setting}")));
        };
        match w.to_str() {
            Some("--") => {
                out.push(w);
                out.extend(words);
                break;
            }
            Some("--set") => match words.next() {
                Some(setting) => option(&setting.to_string_lossy()),
                None => out.push(w),
            },
            Some(s) if s.starts_with("--set=") => option(&s["--set=".len()..]),
            _ => out.push(w),
        }
    }
    (out, settings)
}

/// Words without `--only` and its value.
fn without_only(words: Vec<OsString>) -> Vec<OsString> {
    let mut out = Vec::new();
    let mut words = words.into_iter();
    while let Some(w) = words.next() {
        match w.to_str() {
            Some("--") => {
                out.push(w);
                out.extend(words);
                break;
            }
            Some("--only") => _ = words.next(),
            Some(s) if s.starts_with("--only=") => {}
            _ => out.push(w),
        }
    }
    out
}
