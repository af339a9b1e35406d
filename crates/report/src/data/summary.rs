//! Block 0 of a report; `web/src/data/format.ts` is the reader's side.

use dormouse_words::wording::whole::Table;
use serde::Serialize;

/// Everything that the first screen needs.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    /// Version of this format.
    pub schema: &'static str,
    /// Version of dormouse.
    pub version: &'static str,
    /// Title of the page.
    pub title: String,
    /// Every name once; index 0 is empty.
    pub names: Vec<String>,
    /// The phases in order.
    pub phases: Vec<PhaseName>,
    /// Why a callback could not start earlier.
    pub reasons: Vec<ReasonName>,
    /// The captures.
    pub captures: Vec<CaptureData>,
    /// Sentences that say what the page leaves out.
    pub left_out: Vec<String>,
    /// How the captures differ, if there are several.
    pub compare: Option<Comparison>,
}

/// A phase.
#[derive(Debug, Serialize)]
pub(crate) struct PhaseName {
    /// In the kernel's words.
    pub name: &'static str,
    /// With its direction where the name alone is not enough.
    pub label: String,
    /// `suspend` or `resume`.
    pub direction: &'static str,
    /// Device callbacks run in it.
    pub devices: bool,
}

/// A reason.
#[derive(Debug, Serialize)]
pub(crate) struct ReasonName {
    /// As in `show --json`.
    pub name: &'static str,
    /// In words, to be followed by a device where there is one.
    pub text: &'static str,
}

/// One capture.
#[derive(Debug, Serialize)]
pub(crate) struct CaptureData {
    /// What the user called it.
    pub label: String,
    /// Host name.
    pub host: String,
    /// Vendor and model.
    pub model: String,
    /// Number of CPUs.
    pub cpus: Option<u32>,
    /// `/sys/power/pm_async`.
    pub pm_async: Option<bool>,
    /// The sentence that matters, of the median cycle.
    pub answer: String,
    /// Devices.
    pub devices: DeviceColumns,
    /// Links.
    pub links: LinkColumns,
    /// Order of devices was observed.
    pub order_known: bool,
    /// The source lists device links.
    pub links_known: bool,
    /// Cycles.
    pub cycles: Vec<CycleData>,
    /// The cycle shown first.
    pub median_cycle: usize,
    /// Phases over all cycles.
    pub phase_stats: Vec<PhaseStats>,
    /// Devices over all cycles.
    pub device_stats: DeviceStats,
    /// Block with the distribution of every device.
    pub places_block: Option<u32>,
    /// What the doctor says, worst first.
    pub findings: Vec<FindingData>,
    /// From the request to a machine that can be used.
    pub whole: Option<Table>,
    /// What could not be read.
    pub losses: Vec<LossData>,
    /// Block with the board that what-if starts from.
    pub board_block: Option<u32>,
}

/// What is wrong with the sleep of a capture.
#[derive(Debug, Serialize)]
pub(crate) struct FindingData {
    /// Rule.
    pub id: &'static str,
    /// Row of a cycle.
    pub row: &'static str,
    /// How bad.
    pub level: &'static str,
    /// How sure.
    pub confidence: &'static str,
    /// In words.
    pub sentence: String,
    /// What its remedy saves, as a sentence; empty where nobody knows.
    pub saved: String,
    /// What shows it.
    pub evidence: Vec<String>,
    /// What to do, undo, risk.
    pub advice: Vec<[String; 3]>,
}

/// Columns, one entry a device.
#[derive(Debug, Default, Serialize)]
pub(crate) struct DeviceColumns {
    /// Name.
    pub name: Vec<u32>,
    /// Driver.
    pub driver: Vec<u32>,
    /// What the name means.
    pub about: Vec<u32>,
    /// Parent's index plus one; 0 for none.
    pub parent: Vec<u32>,
    /// 0 not known, 1 synchronous, 2 asynchronous.
    #[serde(rename = "async")]
    pub async_flag: Vec<u8>,
}

/// Columns, one entry a link.
#[derive(Debug, Default, Serialize)]
pub(crate) struct LinkColumns {
    /// Index of the consumer.
    pub consumer: Vec<u32>,
    /// Index of the supplier.
    pub supplier: Vec<u32>,
    /// Name of the kind.
    pub kind: Vec<u32>,
}

/// One cycle without its callbacks. Times count from its start.
#[derive(Debug, Serialize)]
pub(crate) struct CycleData {
    /// File.
    pub source: String,
    /// Kernel release.
    pub kernel: String,
    /// Sleep state.
    pub mode: &'static str,
    /// How it ended.
    pub outcome: &'static str,
    /// Device or error of an aborted cycle.
    pub outcome_detail: String,
    /// As in `show --json`.
    pub suspend_ns: Option<i64>,
    /// As in `show --json`.
    pub resume_ns: Option<i64>,
    /// Begin and end of the time asleep.
    pub asleep: Option<(i64, i64)>,
    /// From the first to the last line.
    pub length_ns: i64,
    /// How many callbacks it has.
    pub callbacks: usize,
    /// The sentence that matters.
    pub answer: String,
    /// The same for each half.
    pub answers: [String; 2],
    /// Why it stands out; empty if it does not.
    pub outlier: String,
    /// First after boot.
    pub first_after_boot: bool,
    /// Phases and gaps.
    pub rows: Vec<RowData>,
    /// Devices that the log's own lines say were waited for, longest first.
    pub waits: Vec<WaitData>,
    /// Block with its callbacks.
    pub block: Option<u32>,
}

/// A wait that the lines of a log without callbacks tell.
#[derive(Debug, Serialize)]
pub(crate) struct WaitData {
    /// How long.
    pub duration_ns: i64,
    /// Whom for, why, how sure, and the line that says so.
    pub text: String,
    /// What the time is worth; empty if the kernel counted it.
    pub bound: &'static str,
}

/// A phase or a gap.
#[derive(Debug, Serialize)]
pub(crate) struct RowData {
    /// Index of the phase; -1 for a gap.
    pub phase: i32,
    /// As it is called on the page.
    pub label: String,
    /// `suspend` or `resume`.
    pub direction: &'static str,
    /// Begin.
    pub start_ns: i64,
    /// What it adds to its half.
    pub duration_ns: i64,
    /// How many callbacks completed in it.
    pub callbacks: u32,
    /// CPU of `cpu_off` and `cpu_on`; else -1.
    pub cpu: i64,
}

/// A phase over all cycles.
#[derive(Debug, Serialize)]
pub struct PhaseStats {
    /// Index of the phase.
    pub phase: usize,
    /// As it is called on the page.
    pub label: String,
    /// In how many cycles.
    pub cycles: u32,
    /// Shortest.
    pub min_ns: i64,
    /// Median.
    pub median_ns: i64,
    /// 95th percentile.
    pub p95_ns: i64,
    /// Longest.
    pub max_ns: i64,
}

/// Columns, one entry a device with callbacks.
#[derive(Debug, Default, Serialize)]
pub struct DeviceStats {
    /// Index of the device.
    pub device: Vec<u32>,
    /// In how many cycles it ran.
    pub cycles: Vec<u32>,
    /// Time on the way down.
    pub suspend_median: Vec<i64>,
    /// Time on the way up.
    pub resume_median: Vec<i64>,
    /// Both halves together.
    pub total_min: Vec<i64>,
    /// Both halves together.
    pub total_median: Vec<i64>,
    /// Both halves together.
    pub total_p95: Vec<i64>,
    /// Both halves together.
    pub total_max: Vec<i64>,
    /// Time on critical paths.
    pub path_median: Vec<i64>,
    /// Gain if it took no time.
    pub gain_median: Vec<i64>,
}

/// A loss.
#[derive(Debug, Serialize)]
pub(crate) struct LossData {
    /// A stable word.
    pub kind: &'static str,
    /// How often.
    pub count: u64,
    /// How much it matters.
    pub severity: &'static str,
    /// What to do.
    pub advice: String,
}

/// How captures differ.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// Most important first.
    pub sentences: Vec<String>,
    /// A row a phase.
    pub rows: Vec<CompareRow>,
}

/// One row of the comparison.
#[derive(Debug, Serialize)]
pub struct CompareRow {
    /// Phase or total.
    pub label: String,
    /// Median of each capture.
    pub median_ns: Vec<Option<i64>>,
    /// Second against first.
    pub difference: String,
}
