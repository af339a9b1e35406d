//! What becomes of the devices of a tree at boot.

use crate::failure::Usage;
use anyhow::{Context, Result};
use dormouse_base::loss::{Losses, Severity};
use dormouse_power::fw_devlink::Wish;
use dormouse_power::fw_devlink::boot::{Driver, Drivers};
use dormouse_power::fw_devlink::early::Early;
use dormouse_power::fw_devlink::verdict::{Contrast, Verdict, contrast, judge};
use dormouse_power::fw_devlink::version::{Mode, Rules};
use dormouse_power::tree::Tree;
use dormouse_read::Input;
use dormouse_read::container::Door;
use dormouse_read::dtb::drivers::{Described, Modules};
use dormouse_read::dtb::{fdt, losses};
use dormouse_words::boot::{Boot, Needed};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What is asked.
#[derive(Clone, Debug)]
pub struct Question {
    /// The kernel, and what it is told.
    pub wish: Wish,
    /// A kernel or a mode to compare with.
    pub against: Option<Wish>,
    /// The modules of a kernel, and their folder; none stands for a driver for every device.
    pub modules: Option<(Modules, PathBuf)>,
    /// Devices, compatibles or modules without a driver.
    pub without: Vec<String>,
}

/// The wish for another kernel (`6.12`) or another mode (`off`).
pub fn against(wish: &Wish, word: &str) -> Option<Wish> {
    if let Some(mode) = Mode::find(word) {
        return Some(Wish { mode, ..wish.clone() });
    }
    let rules = Rules::of(word)?;
    let (mode, early) = (rules.usual_mode(), Early::usual(rules));
    Some(Wish { rules, mode, early, ..wish.clone() })
}

/// The modules of a kernel's folder, and the drivers that its `image` has built in.
///
/// # Errors
/// When the folder has no aliases, or the image no tables.
pub fn modules(dir: &Path, image: Option<&Path>) -> Result<(Modules, PathBuf)> {
    let read = |name: &str| fs::read(dir.join(name));
    let alias = read("modules.alias").map_err(|e| {
        anyhow::anyhow!(
            "cannot read {}: {e}; depmod writes it: for a package that was only unpacked run \
             depmod -b FOLDER-ABOVE-LIB RELEASE",
            dir.join("modules.alias").display()
        )
    })?;
    let mut modules = Modules::read(&alias, &read("modules.builtin.modinfo").unwrap_or_default());
    if let Some(image) = image {
        let bytes = fs::read(image).with_context(|| format!("cannot read {}", image.display()))?;
        anyhow::ensure!(
            modules.add_image(&bytes),
            "{}: no tables of drivers in it; give an image that is not compressed",
            image.display()
        );
    }
    anyhow::ensure!(
        !modules.is_empty(),
        "{}: no aliases of device-tree drivers; give the folder /lib/modules/RELEASE of a kernel \
         that was not stripped of its modules",
        dir.display()
    );
    Ok((modules, dir.into()))
}

/// `modules` with the tables of those that the kernel loads for `tree`: msm alone drives
/// displays, their links and their PHYs, and has an alias for the first. Files that cannot
/// be read are counted.
fn with_tables(modules: &Modules, dir: &Path, tree: &Tree<'_>, lost: &mut Losses) -> Modules {
    let order = fs::read_to_string(dir.join("modules.order")).unwrap_or_default();
    let stem = |path: &str| {
        let file = path.rsplit('/').next().unwrap_or(path);
        file.trim_end_matches(".ko").replace('-', "_")
    };
    let paths: HashMap<String, &str> = order.lines().map(|l| (stem(l), l)).collect();
    let mut out = modules.clone();
    let mut unread = 0;
    for module in modules.loaded_for(tree) {
        let Some(path) = paths.get(&module.replace('-', "_")) else { continue };
        for packed in ["", ".xz", ".zst", ".gz"] {
            let path = dir.join(format!("{path}{packed}"));
            if path.is_file() {
                let mut damaged = false;
                let read = Door::default().for_each(&Input::Path(path), &mut |s| {
                    damaged |= s.damage.is_some();
                    out.add_tables(module, s.bytes);
                });
                unread += u64::from(damaged || read.is_err());
                break;
            }
        }
    }
    let advice = "modules that cannot be read: what they drive beside their aliases may be called missing; \
                  install the kernel's package again";
    lost.add("unread_module", unread, Severity::Warning, advice, None);
    out
}

/// Refuses names of `--without` that no device, compatible or module of the tree has: the
/// answer would be that of another question.
fn all_known(verdict: &Verdict<'_, '_>, every: &Described<'_>, question: &Question) -> Result<()> {
    if question.without.is_empty() {
        return Ok(());
    }
    let tree = verdict.machine.tree;
    // A device below one that is left out is made by no driver of this boot.
    let all = judge(tree, &question.wish, every);
    let module = |d: usize| every.modules.and_then(|m| m.of(&all.machine, d));
    let devices = || all.machine.devices.iter().enumerate();
    let known = |w: &String| {
        devices().any(|(i, d)| {
            *w == d.name || d.node.is_some_and(|n| tree.nodes[n].is(w)) || module(i) == Some(w)
        })
    };
    let unknown: Vec<&str> =
        question.without.iter().filter(|w| !known(w)).map(String::as_str).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let names = devices().filter(|(_, d)| d.node.is_some()).map(|(_, d)| d.name.as_str());
    let near = names.take(4).collect::<Vec<_>>().join(", ");
    let modules = if every.modules.is_some() { ", compatible or module" } else { " or compatible" };
    Err(Usage(format!(
        "--without {}: no device{modules} of the tree is called so; devices are called {near}, …",
        unknown.join(", ")
    ))
    .into())
}

/// Whether bytes are a device tree.
pub fn is_tree(bytes: &[u8]) -> bool {
    dormouse_read::dtb::recognise(bytes)
}

/// Judges a tree and hands the answer to `say`, as it borrows from the tree.
///
/// # Errors
/// When the tree cannot be read.
pub fn check<T>(
    blob: &[u8],
    question: &Question,
    say: impl FnOnce(&Boot<'_, '_, '_>) -> T,
) -> Result<T> {
    let tree: Tree<'_> = fdt::tree(blob).context("cannot read the device tree")?;
    let mut lost = Losses::default();
    let modules = question.modules.as_ref().map(|(m, dir)| with_tables(m, dir, &tree, &mut lost));
    fn described<'w>(q: &'w Question, m: Option<&'w Modules>, wish: &'w Wish) -> Described<'w> {
        Described { modules: m, without: &q.without, early: &wish.early }
    }
    let boot = |wish: &Wish| -> Verdict<'_, '_> {
        judge(&tree, wish, &described(question, modules.as_ref(), wish))
    };
    let verdict = boot(&question.wish);
    let every = Described { modules: modules.as_ref(), without: &[], early: &question.wish.early };
    all_known(&verdict, &every, question)?;
    let other: Option<(Wish, Contrast)> = question.against.clone().map(|w| {
        let c = contrast(&verdict, &boot(&w));
        (w, c)
    });
    losses(&verdict.machine, &mut lost);
    if modules.as_ref().is_some_and(|m| !m.is_whole()) {
        lost.add(
            "built_in_unknown",
            1,
            Severity::Warning,
            "the folder does not say which drivers are built into this kernel, so a driver \
             without a module counts as built in: give the kernel's image with --early-of",
            None,
        );
    }
    let needed = |device: usize, consumers: usize| {
        let node = verdict.machine.devices[device].node;
        Needed {
            device,
            consumers,
            compatible: node
                .and_then(|n| tree.nodes[n].strings("compatible").next())
                .map(|c| String::from_utf8_lossy(c).into_owned())
                .unwrap_or_default(),
            module: modules
                .as_ref()
                .and_then(|m| m.of(&verdict.machine, device))
                .filter(|m| !m.is_empty())
                .map(str::to_owned),
        }
    };
    // Timers are a kernel's own and become no devices.
    let drivers = described(question, modules.as_ref(), &question.wish);
    let missing = |&i: &usize| {
        let node = verdict.machine.devices[i].node;
        let timer = node.is_some_and(|n| question.wish.early.is_timer(&tree.nodes[n]));
        !timer && matches!(drivers.of(&verdict.machine, i), Driver::None)
    };
    let missing: Vec<Needed> = (0..verdict.machine.devices.len())
        .filter(|_| modules.is_some())
        .filter(missing)
        .map(|i| needed(i, 0))
        .filter(|n| !n.compatible.is_empty())
        .collect();
    let needed: Vec<Needed> = verdict.driverless.iter().map(|&(d, n)| needed(d, n)).collect();
    Ok(say(&Boot {
        verdict: &verdict,
        wish: &question.wish,
        needed: &needed,
        missing: &missing,
        described: question.modules.is_some(),
        other: other.as_ref(),
        losses: &lost,
    }))
}
