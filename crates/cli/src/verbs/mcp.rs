//! `dormouse mcp`: the commands that only read, as tools of the Model Context Protocol on
//! standard input and output. Each call of a tool is one command line; none of them
//! writes, records, applies or opens a network.

use crate::Kept;
use anyhow::{Context, Result};
use clap::Args;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResult, ContentBlock, Implementation, ServerCapabilities, ServerConfig};
use rmcp::schemars::{self, JsonSchema};
use rmcp::{ServerHandler, ServiceExt, tool, tool_handler, tool_router};
use serde::Deserialize;
use serde_json::json;

/// Answer programs that speak the Model Context Protocol, on standard input and output.
///
/// The tools are show, check, predict, tune and compare. They read what they are given
/// and this machine, and change nothing.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dormouse mcp\n  npx @modelcontextprotocol/inspector dormouse mcp"
)]
pub(crate) struct McpArgs {}

/// What an agent is told before it calls anything.
const ABOUT: &str = "Linux sleep states: system suspend, resume and hibernation, CPU idle, and \
    storage power. Inputs are files or folders: kernel logs, journals, traces, captures, tables \
    that tools print. Line 1 of an answer is the answer, line 2 says how far to trust it. Exit \
    code 0 is an answer, 4 an answer that something is broken or a limit is not met, 1 nothing \
    to answer from, 2 a mistake in the question.";

/// Exit codes of a command that answered.
const ANSWERED: [u8; 2] = [0, 4];

/// Files or folders, recognised by what is in them.
#[derive(Deserialize, JsonSchema)]
struct Show {
    /// Logs, traces, captures, tables, device trees: files or folders.
    inputs: Vec<String>,
    /// Only this subject: sleep, findings, idle, storage, runtime, domains, modes, clocks or history.
    only: Option<String>,
    /// Most rows of a list.
    top: Option<u32>,
    /// Only this phase, such as resume.
    phase: Option<String>,
    /// JSON in the place of the screen.
    #[serde(default)]
    json: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Check {
    /// Logs, traces, captures or device trees; this machine, if empty.
    #[serde(default)]
    inputs: Vec<String>,
    /// Only this subject: sleep, realtime, boot or budget.
    only: Option<String>,
    /// Longest suspend, such as 2s.
    suspend: Option<String>,
    /// Longest resume, such as 250ms.
    resume: Option<String>,
    /// Least share of the sleep in the hardware's deepest state, such as 90%.
    hardware_sleep: Option<String>,
    /// Most power asleep, such as 1W.
    max_power: Option<String>,
    /// What must be there so long after the kernel's return: net=2s, link, session, unit, screen, app:NAME.
    #[serde(default)]
    ready: Vec<String>,
    /// Fail from this level on: broken or risk.
    fail_on: Option<String>,
    /// JSON in the place of the screen.
    #[serde(default)]
    json: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Predict {
    /// A recording, log, board or trace.
    inputs: Vec<String>,
    /// Only this subject: sleep, idle, reads or storage.
    only: Option<String>,
    /// Under this kernel, such as 7.3 or 6.12.
    kernel: Option<String>,
    /// Make these devices asynchronous: patterns such as 'usb*'.
    #[serde(default, rename = "async")]
    asynchronous: Vec<String>,
    /// Make these devices synchronous.
    #[serde(default)]
    sync: Vec<String>,
    /// Leave these devices out.
    #[serde(default)]
    without: Vec<String>,
    /// Scale callbacks: PATTERN=FACTOR, such as 'nvme*=0.5'.
    #[serde(default)]
    scale: Vec<String>,
    /// Idle states that may not be entered.
    #[serde(default)]
    disable: Vec<String>,
    /// Idle governor: menu, teo, ladder or haltpoll.
    governor: Option<String>,
    /// JSON in the place of the screen.
    #[serde(default)]
    json: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Tune {
    /// A recording, log, board or trace.
    inputs: Vec<String>,
    /// Only this subject: flags, plan, idle or storage.
    only: Option<String>,
    /// Budget of suspend, such as 1s.
    suspend: Option<String>,
    /// Budget of resume, such as 250ms.
    resume: Option<String>,
    /// Latency of storage or idle that 99 of 100 must keep, such as 1ms.
    p99: Option<String>,
    /// What must be there so long after the kernel's return: net=2s, link, session, unit, screen, app:NAME.
    #[serde(default)]
    ready: Vec<String>,
    /// JSON in the place of the screen.
    #[serde(default)]
    json: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Compare {
    /// What the others are compared with.
    first: String,
    /// One or more others.
    others: Vec<String>,
    /// Only this subject: recordings, model, idle or storage.
    only: Option<String>,
    /// Exit code 4 if a total is slower by more than this, such as 3%.
    fail_if_slower: Option<String>,
    /// JSON in the place of the screen.
    #[serde(default)]
    json: bool,
}

/// A command line. Values follow a sign of equality, and inputs that begin with a dash a
/// folder, so that none of them can be an option.
struct Line(Vec<String>);

impl Line {
    fn of(command: &str, json: bool) -> Line {
        let mut words = vec![command.to_owned()];
        words.extend(json.then(|| "--json".to_owned()));
        Line(words)
    }

    fn with<'a>(mut self, name: &str, values: impl IntoIterator<Item = &'a String>) -> Line {
        self.0.extend(values.into_iter().map(|v| format!("--{name}={v}")));
        self
    }

    async fn answer(mut self, inputs: Vec<String>) -> CallToolResult {
        // Standard input is the protocol's.
        if inputs.iter().any(|i| i == "-") {
            return CallToolResult::error(vec![ContentBlock::text("give files or folders, not -")]);
        }
        let path = |i: String| if i.starts_with('-') { format!("./{i}") } else { i };
        self.0.extend(inputs.into_iter().map(path));
        let answered = tokio::task::spawn_blocking(move || {
            let (out, err) = (Kept::default(), Kept::default());
            let code = crate::run(self.0, out.clone(), err.clone());
            let text = |kept: Kept| String::from_utf8_lossy(&kept.taken()).into_owned();
            (code, text(out), text(err))
        });
        let Ok((code, out, err)) = answered.await else {
            return CallToolResult::error(vec![ContentBlock::text(
                "dormouse stopped; please report it",
            )]);
        };
        let said = [out, err].into_iter().filter(|s| !s.is_empty()).map(ContentBlock::text);
        let mut result = match ANSWERED.contains(&code) {
            true => CallToolResult::success(said.collect()),
            false => CallToolResult::error(said.collect()),
        };
        result.structured_content = Some(json!({ "exit_code": code }));
        result
    }
}

#[derive(Clone)]
struct Server;

#[tool_router]
impl Server {
    /// What a log, trace, capture or table says: phases, devices, waits, wakers, batteries,
    /// idle states, requests, findings.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn show(&self, Parameters(p): Parameters<Show>) -> CallToolResult {
        let top = p.top.map(|n| n.to_string());
        let line = Line::of("show", p.json).with("only", &p.only).with("phase", &p.phase);
        line.with("top", &top).answer(p.inputs).await
    }

    /// The verdict: is something wrong, and do limits hold.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn check(&self, Parameters(p): Parameters<Check>) -> CallToolResult {
        Line::of("check", p.json)
            .with("only", &p.only)
            .with("suspend", &p.suspend)
            .with("resume", &p.resume)
            .with("hardware-sleep", &p.hardware_sleep)
            .with("max-power", &p.max_power)
            .with("ready", &p.ready)
            .with("fail-on", &p.fail_on)
            .answer(p.inputs)
            .await
    }

    /// What a change would do: another kernel, flags, a driver left out, other idle states.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn predict(&self, Parameters(p): Parameters<Predict>) -> CallToolResult {
        Line::of("predict", p.json)
            .with("only", &p.only)
            .with("kernel", &p.kernel)
            .with("async", &p.asynchronous)
            .with("sync", &p.sync)
            .with("without", &p.without)
            .with("scale", &p.scale)
            .with("disable", &p.disable)
            .with("governor", &p.governor)
            .answer(p.inputs)
            .await
    }

    /// The change that meets a budget, or the best settings. It is only said, not applied.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn tune(&self, Parameters(p): Parameters<Tune>) -> CallToolResult {
        Line::of("tune", p.json)
            .with("only", &p.only)
            .with("suspend", &p.suspend)
            .with("resume", &p.resume)
            .with("p99", &p.p99)
            .with("ready", &p.ready)
            .answer(p.inputs)
            .await
    }

    /// Is there a difference between recordings, how sure is it, and from where.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn compare(&self, Parameters(p): Parameters<Compare>) -> CallToolResult {
        let inputs = std::iter::once(p.first).chain(p.others).collect();
        let line = Line::of("compare", p.json).with("only", &p.only);
        line.with("fail-if-slower", &p.fail_if_slower).answer(inputs).await
    }
}

#[tool_handler]
impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info = Implementation::new("dormouse", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(ABOUT.into());
        info
    }
}

/// Serves until standard input ends.
///
/// # Errors
/// If the other side does not speak the protocol.
pub(crate) fn run(_: &McpArgs) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    runtime.block_on(async {
        let service = Server.serve(rmcp::transport::stdio()).await.context(
            "the other side does not speak the Model Context Protocol; a client such as an editor \
             or an agent starts this command",
        )?;
        service.waiting().await?;
        Ok(())
    })
}
