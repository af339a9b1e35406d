//! Every command, in the order of the list.

use super::Section::{Asked, Member, MemberIf, Top, TopIf};
use super::{Form, Group, Verb};
use crate::verbs::{
    board, boot, budget, calibrate, compare, completions, doctor, domains, evaluate, export, idle,
    man, plan, predict, report, rpm, show, storage, tune,
};
// What a page cannot do: record, boot guests, keep a history.
#[cfg(unix)]
use crate::verbs::{lab, mark, record, replay, restore, search, sync, watch};
use anyhow::Result;
use clap::{ArgMatches, Args, Command};
use dormouse_base::capture::Capture;
use dormouse_read::Given;

/// The arguments of a form.
fn of<T: Args>(given: &ArgMatches) -> Result<T> {
    Ok(T::from_arg_matches(given)?)
}

fn never(_: &Given) -> bool {
    false
}

fn sleeps(given: &Given) -> bool {
    let any = |c: &Capture| !c.cycles.is_empty() || !c.ranked.is_empty();
    given.heard().is_ok_and(|r| r.captures.iter().any(|c| any(c)))
}

/// Whether headings of one text part two measurements.
fn is_parted(given: &Given) -> bool {
    given.paths().len() == 1 && dormouse_app::ways::is_parted(given)
}

fn idles(given: &Given) -> bool {
    dormouse_app::idle::show(given, false).is_ok()
}

fn stores(given: &Given) -> bool {
    dormouse_app::subject::speaks_of_storage(given)
}

/// fio's JSON and a dump of idle states.
fn reads_of_fio(given: &Given) -> bool {
    idles(given) && given.storage().is_ok_and(|r| !r.jobs.is_empty())
}

fn is_tree(given: &Given) -> bool {
    let [one] = given.paths() else { return false };
    !one.is_dir() && given.raw(one).is_ok_and(|b| dormouse_app::boot::is_tree(&b))
}

/// This machine, or a text that the doctor knows or that has a table which is judged.
fn speaks_of_sleep(given: &Given) -> bool {
    given.paths().is_empty() || dormouse_app::faults::checked(given).is_ok()
}

/// A device tree, or a text that says what waits.
fn speaks_of_probing(given: &Given) -> bool {
    is_tree(given) || dormouse_app::subject::speaks_of_domains(given)
}

fn is_board(given: &Given) -> bool {
    given.paths().iter().any(|i| dormouse_app::subject::is_board_file(given, i))
}

/// A form: subject, heading, words before, arguments, function.
macro_rules! form {
    ($subject:literal, $heading:literal, [$($before:literal),*], $args:ty, $run:expr) => {
        form!($subject, $heading, [$($before),*], $args, $run, Asked(""), never)
    };
    ($subject:literal, $heading:literal, [$($before:literal),*], $args:ty, $run:expr,
     $section:expr, $holds:expr) => {
        Form {
            subject: $subject,
            heading: $heading,
            before: &[$($before),*],
            args: <$args as Args>::augment_args,
            run: |m, given| {
                let run: fn($args, &Given) -> Result<()> = $run;
                run(of::<$args>(m)?, given)
            },
            section: $section,
            holds: $holds,
        }
    };
}

/// A command of one form, which says itself what it does.
macro_rules! verb {
    ($words:literal, $group:expr, $does:literal, [$($before:literal),*], $args:ty, $run:expr) => {
        Verb {
            words: $words,
            group: $group,
            does: $does,
            about: "",
            examples: "",
            forms: &[form!("sleep", "Options", [$($before),*], $args, $run)],
            all: false,
        }
    };
}

/// The help of a group of commands.
pub(crate) fn group(name: &'static str) -> Command {
    let about = match name {
        "lab" => "Run real kernels in QEMU, on any devices, repeatably",
        _ => "Make, convert and check board files (docs/board-format.md)",
    };
    Command::new(name).about(about).subcommand_required(true).arg_required_else_help(true)
}

/// Every command.
pub(crate) const VERBS: &[Verb] = &[
    Verb {
        words: "show",
        group: Group::See,
        does: "where the time went, who waited, what is wrong",
        about: "Show everything that the input says about sleep.\n\nReads kernel logs, traces \
                (text, trace.dat, Perfetto, LTTng), runs of pm-graph, dumps and tables of \
                idle states, blktrace and fio, tables of power domains, settings of runtime \
                power management, mails that quote any of these, and recordings of dormouse. \
                Each subject that is there is a section; --only chooses.",
        examples: "Examples:\n  dormouse show dmesg.txt\n  dormouse show --cycle 2 --top 20 recording.tar.gz\n  dormouse show --only idle before.txt after.txt",
        forms: &[
            form!("sleep", "System sleep", [], show::ShowArgs, show::run, Top, sleeps),
            form!(
                "findings",
                "Findings",
                ["doctor"],
                doctor::FindingsArgs,
                |a, g| doctor::findings(&a, g),
                TopIf(|m, given| doctor::found(&of(m)?, given)),
                never
            ),
            form!(
                "idle",
                "CPU idle",
                ["idle show"],
                idle::show::ShowArgs,
                |a, g| idle::show::run(&a, g),
                Member("idle"),
                idles
            ),
            form!(
                "storage",
                "Storage",
                ["storage show"],
                storage::show::ShowArgs,
                |a, g| storage::show::run(&a, g),
                MemberIf("storage", |m, given| storage::show::beside(&of(m)?, given)),
                stores
            ),
            form!(
                "runtime",
                "Runtime power management",
                ["rpm show"],
                rpm::ShowArgs,
                |a, g| rpm::run(&a, g),
                Member("runtime"),
                never
            ),
            form!(
                "domains",
                "Power domains and probing",
                ["domains show"],
                domains::ShowArgs,
                |a, g| domains::run(&a, g),
                MemberIf("domains", |m, given| domains::beside(&of(m)?, given)),
                never
            ),
            form!(
                "modes",
                "Modes of sleep",
                ["doctor --modes"],
                doctor::ModesArgs,
                |a, g| doctor::modes(&a, g),
                Asked("modes"),
                never
            ),
            form!(
                "clocks",
                "Clocks",
                ["doctor --clocks"],
                doctor::ClocksArgs,
                |a, g| doctor::clocks(&a, g),
                Asked("clocks"),
                never
            ),
            #[cfg(unix)]
            form!(
                "history",
                "Kept sleeps",
                [],
                watch::ShowArgs,
                |a, g| watch::show(&a, g),
                Member("history"),
                watch::holds
            ),
        ],
        all: true,
    },
    Verb {
        words: "check",
        group: Group::See,
        does: "a verdict on this machine, a log, a device tree, a board",
        about: "Give a verdict on this machine, a log, a recording, a device tree, or a board file.\n\n\
                Without an input it looks at this machine for two seconds and changes nothing. \
                With limits (--resume 1s, --hardware-sleep 90%) it says of each whether it holds, \
                also for test systems (--as junit). Exit code 4 says that something is broken, \
                that a limit is not met, or that settings may delay real-time CPUs (--realtime); \
                1 that the input does not hold what would tell; 0 that nothing was found.",
        examples: "Examples:\n  dormouse check\n  dormouse check dmesg.txt\n  dormouse check recording.tar.gz --resume 1s --suspend 2s\n  dormouse check journal.txt --fail-on broken --hardware-sleep 90% --as junit\n  dormouse check board.dtb --kernel 6.12\n  dormouse check --realtime --cpus 2-3 -o mend.sh",
        forms: &[
            form!(
                "sleep",
                "Sleep",
                [],
                doctor::FindingsArgs,
                |a, g| doctor::verdict(&a, g),
                Asked(""),
                speaks_of_sleep
            ),
            form!("realtime", "Real-time CPUs", ["idle check"], idle::check::CheckArgs, |a, g| {
                idle::check::run(&a, g)
            }),
            form!(
                "boot",
                "Device tree",
                ["boot check"],
                boot::CheckArgs,
                |a, g| boot::run(&a, g),
                Asked(""),
                speaks_of_probing
            ),
            form!(
                "board",
                "Board file",
                ["board check"],
                board::CheckArgs,
                |a, _| board::checked(&a),
                Asked(""),
                is_board
            ),
            form!("budget", "Limits", [], budget::BudgetArgs, |a, g| budget::run(&a, g)),
        ],
        all: false,
    },
    #[cfg(unix)]
    verb!(
        "watch",
        Group::See,
        "keeps every sleep of this machine: since when is it worse",
        [],
        watch::WatchArgs,
        |a, _| watch::run(&a)
    ),
    verb!(
        "report",
        Group::See,
        "the same as one page to explore and attach to a bug",
        [],
        report::ReportArgs,
        report::run
    ),
    verb!(
        "export",
        Group::See,
        "for Perfetto, spreadsheets, Parquet, Markdown",
        [],
        export::ExportArgs,
        export::run
    ),
    Verb {
        words: "predict",
        group: Group::Predict,
        does: "what another kernel, driver, governor or delay would do",
        about: "Predict what a change would do.\n\nOf a recording or log of system sleep: phases \
                and devices under another kernel, other flags, without a driver. Of a trace with \
                cpu_idle and a dump of idle states: another governor, limit or state. Of fio's \
                results and a dump: what idle states cost reads. Of a trace of storage, or a \
                described disk (--disk): other delays and clocks.",
        examples: "Examples:\n  dormouse predict recording.tar.gz --without usb1\n  dormouse predict recording.tar.gz --kernel 7.3 --async 'usb*'\n  dormouse predict trace.txt states.txt --governor menu\n  dormouse predict trace.dat --gate-delay 200ms",
        forms: &[
            form!(
                "sleep",
                "System sleep",
                [],
                predict::PredictArgs,
                predict::run,
                Asked(""),
                sleeps
            ),
            form!(
                "reads",
                "Reads of a disk",
                ["idle reads"],
                idle::reads::ReadsArgs,
                |a, g| idle::reads::run(&a, g),
                Asked(""),
                reads_of_fio
            ),
            form!(
                "idle",
                "CPU idle",
                ["idle predict"],
                idle::predict::PredictArgs,
                |a, g| idle::predict::run(&a, g),
                Asked(""),
                idles
            ),
            form!(
                "storage",
                "Storage",
                ["storage predict"],
                storage::predict::PredictArgs,
                |a, g| storage::predict::run(&a, g),
                Asked(""),
                stores
            ),
        ],
        all: false,
    },
    verb!(
        "calibrate",
        Group::Predict,
        "what the kernel's own work costs on this machine",
        [],
        calibrate::CalibrateArgs,
        calibrate::run
    ),
    #[cfg(unix)]
    verb!(
        "record",
        Group::Prove,
        "records this machine, asleep or awake",
        [],
        record::RecordArgs,
        |a, _| record::run(a)
    ),
    #[cfg(unix)]
    verb!(
        "mark",
        Group::Prove,
        "one line that says that a program is ready",
        [],
        mark::MarkArgs,
        |a, _| mark::run(&a)
    ),
    #[cfg(unix)]
    verb!(
        "restore",
        Group::Prove,
        "puts every setting back after a recorder was killed",
        [],
        restore::RestoreArgs,
        |a, _| restore::run(a)
    ),
    #[cfg(unix)]
    Verb {
        words: "lab run",
        group: Group::Prove,
        does: "boards and recordings on a real kernel, in QEMU",
        about: "Run a board, a recording or a load on a real kernel, in a virtual machine.\n\n\
                Boards sleep and wake up (--board); a recording is run again on another kernel \
                (replay); device trees are grafted; idle states and disks are made up; Debian's \
                systemd sleeps with delays that are planted (--userland). --only \
                names what is run, where options and input do not tell.",
        examples: "Examples:\n  dormouse lab run --board my.board --kernel 6.12 -o recording.tar.gz\n  dormouse lab run --only replay recording.tar.gz --kernel 7.3 -o there.tar.gz",
        forms: &[
            form!("board", "Boards", [], lab::RunArgs, |a, _| lab::run_boards(&a)),
            form!(
                "replay",
                "A recording on another kernel",
                ["replay"],
                replay::ReplayArgs,
                replay::run,
                Asked(""),
                sleeps
            ),
            form!(
                "again",
                "A recording of the laboratory again",
                ["lab rerun"],
                lab::RerunArgs,
                |a, _| lab::rerun(&a)
            ),
            form!("idle", "Idle states", ["lab idle"], lab::IdleArgs, |a, _| lab::run_idle(&a)),
            form!("storage", "Disks", ["lab storage"], lab::storage::StorageArgs, |a, _| {
                lab::storage::run(&a)
            }),
            form!(
                "graft",
                "Device trees",
                ["lab graft"],
                lab::graft::GraftArgs,
                |a, _| lab::graft::run(&a),
                Asked(""),
                is_tree
            ),
            form!("repeat", "The same boot many times", ["lab repeat"], lab::RepeatArgs, |a, _| {
                lab::run_repeat(&a)
            }),
            form!("userland", "Debian with systemd", [], lab::userland::UserlandArgs, |a, _| {
                lab::userland::run(&a)
            }),
        ],
        all: false,
    },
    #[cfg(unix)]
    verb!(
        "lab build",
        Group::Prove,
        "a kernel of your own: a source, patches, a name",
        [],
        lab::build::BuildArgs,
        |a, _| lab::build::run(&a)
    ),
    #[cfg(unix)]
    verb!(
        "lab fetch",
        Group::Prove,
        "kernels and programs: lists them, brings them into the cache",
        ["lab list", "lab kernels"],
        lab::FetchArgs,
        |a, _| lab::run_fetch(&a)
    ),
    Verb {
        words: "board make",
        group: Group::Prove,
        does: "an invented machine, as a board file",
        about: "Make an invented machine as a board file.\n\nWith laptop, phone or server it has \
                the shape of a real one; without, its devices are drawn at random by the options. \
                The same options give the same bytes.",
        examples: "Examples:\n  dormouse board make laptop -o laptop.board\n  dormouse board make --devices 300 --seed 2 -o random.board",
        forms: &[
            form!("random", "Random devices", ["board generate"], board::GenerateArgs, |a, _| {
                board::random(&a)
            }),
            form!(
                "machine",
                "Like a real machine",
                ["board machine"],
                board::MachineArgs,
                |a, _| board::made(&a),
                Asked(""),
                |given| !given.paths().is_empty()
            ),
        ],
        all: false,
    },
    verb!(
        "board from",
        Group::Prove,
        "a board file of a recording or a device tree",
        [],
        board::FromArgs,
        |a, g| board::from(&a, g)
    ),
    Verb {
        words: "compare",
        group: Group::Improve,
        does: "is there a difference, how sure is it, from where",
        about: "Compare recordings, kernels, or recordings with the model.\n\nRecordings or logs: \
                every further input with the first. Two kernels (--board): boards run on both. \
                One recording (--only model): the model against its cycles. What `lab run` wrote \
                of idle states or disks (--only idle, storage): predictions against it.",
        examples: "Examples:\n  dormouse compare before.tar.gz after.tar.gz\n  dormouse compare --fail-if-slower 3% before.tar.gz after.tar.gz\n  dormouse compare 6.12 7.3 --board boards/laptop.board",
        forms: &[
            form!(
                "recordings",
                "Recordings",
                [],
                compare::CompareArgs,
                |a, g| compare::run(&a, g),
                Asked(""),
                |given| (given.paths().len() > 1 || is_parted(given)) && sleeps(given)
            ),
            #[cfg(unix)]
            form!("kernels", "Kernels", ["lab compare"], lab::compare::CompareArgs, |a, _| {
                lab::compare::run(&a)
            }),
            form!(
                "model",
                "The model",
                ["evaluate"],
                evaluate::EvaluateArgs,
                |a, g| evaluate::run(&a, g),
                Asked(""),
                |given| given.paths().len() == 1 && sleeps(given) && !is_parted(given)
            ),
            form!(
                "idle",
                "Idle states of the laboratory",
                ["idle verify"],
                idle::verify::VerifyArgs,
                |a, _| idle::verify::run(&a)
            ),
            form!(
                "storage",
                "Disks of the laboratory",
                ["storage verify"],
                storage::verify::VerifyArgs,
                |a, _| storage::verify::run(&a)
            ),
        ],
        all: false,
    },
    Verb {
        words: "tune",
        group: Group::Improve,
        does: "the changes or settings that are best, or meet a budget",
        about: "Find what to change.\n\nOf system sleep: with a budget (--resume 250ms) the \
                smallest set of changes that meets it; without, the async flags that make \
                suspend and resume fastest. Of CPU idle or storage: the settings that meet a \
                budget (--p99 60us) at least energy. --verify lab asks a real kernel, --apply \
                tries the result on this machine and keeps it only if it helps.",
        examples: "Examples:\n  dormouse tune recording.tar.gz --kernel 7.3\n  dormouse tune recording.tar.gz --resume 250ms -o files\n  dormouse tune trace.txt states.txt --p99 60us\n  dormouse tune trace.dat --p99 1ms",
        forms: &[
            form!(
                "flags",
                "Async flags",
                [],
                tune::TuneArgs,
                |a, g| tune::run(&a, g),
                Asked(""),
                |given| is_board(given) || sleeps(given)
            ),
            form!("plan", "Changes for a budget", ["plan"], plan::PlanArgs, |a, g| plan::run(
                &a, g
            )),
            form!(
                "idle",
                "CPU idle",
                ["idle tune"],
                idle::tune::TuneArgs,
                |a, g| idle::tune::run(&a, g),
                Asked(""),
                idles
            ),
            form!(
                "storage",
                "Storage",
                ["storage tune"],
                storage::tune::TuneArgs,
                |a, g| storage::tune::run(&a, g),
                Asked(""),
                stores
            ),
        ],
        all: false,
    },
    #[cfg(unix)]
    verb!(
        "search",
        Group::Improve,
        "which devices wake this machine or break its sleep, by trial",
        [],
        search::SearchArgs,
        |a, _| search::run(a)
    ),
    #[cfg(unix)]
    verb!(
        "hold",
        Group::Improve,
        "a limit on exit latencies while a command runs",
        ["idle hold"],
        idle::hold::HoldArgs,
        |a, _| idle::hold::run(&a)
    ),
    #[cfg(unix)]
    verb!(
        "sync",
        Group::Improve,
        "writes before a sleep what it would sync",
        [],
        sync::SyncArgs,
        |a, _| sync::run(&a)
    ),
    verb!(
        "completions",
        Group::Help,
        "what a shell needs to complete the command line",
        [],
        completions::CompletionsArgs,
        |a, _| completions::run(&a, super::command())
    ),
    #[cfg(feature = "mcp")]
    verb!(
        "mcp",
        Group::Help,
        "the commands that only read, for agents (Model Context Protocol)",
        [],
        crate::verbs::mcp::McpArgs,
        |a, _| crate::verbs::mcp::run(&a)
    ),
    verb!("man", Group::Help, "the manual page", [], man::ManArgs, |a, _| man::run(
        &a,
        super::command()
    )),
];
