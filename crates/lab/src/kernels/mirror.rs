//! Where this machine gets Debian packages: read from apt's own sources, so
//! that no address is written here.

use crate::{Error, Result};
use std::fs;
use std::path::Path;

/// Base addresses of the archive and of its security updates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mirrors {
    /// Ends in `/debian`.
    pub main: String,
    /// Ends in `/debian-security`.
    pub security: Option<String>,
}

/// The mirrors in `DORMOUSE_MIRROR` (archive, blank, security) or in the
/// sources of apt.
pub(crate) fn mirrors() -> Result<Mirrors> {
    if let Ok(text) = std::env::var("DORMOUSE_MIRROR") {
        let mut words = text.split_whitespace().map(str::to_owned);
        if let Some(main) = words.next() {
            return Ok(Mirrors { main, security: words.next() });
        }
    }
    let mut addresses = Vec::new();
    let dir = Path::new("/etc/apt");
    let mut files = vec![dir.join("sources.list")];
    if let Ok(entries) = fs::read_dir(dir.join("sources.list.d")) {
        files.extend(entries.flatten().map(|e| e.path()));
    }
    files.sort();
    for file in files {
        addresses.extend(addresses_in(&fs::read_to_string(file).unwrap_or_default()));
    }
    choose(&addresses).ok_or_else(|| {
        Error::other(
            "apt on this machine has no Debian mirror; name one in DORMOUSE_MIRROR=\"ARCHIVE [SECURITY]\", or give a kernel of your own with --image and --headers",
        )
    })
}

/// Every address in a file of either format.
fn addresses_in(text: &str) -> Vec<String> {
    text.lines()
        .map(str::trim)
        .filter(|l| l.starts_with("deb ") || l.starts_with("URIs:"))
        .flat_map(|l| l.split_whitespace())
        .filter(|w| w.contains("://"))
        .map(|w| w.trim_end_matches('/').to_owned())
        .collect()
}

fn choose(addresses: &[String]) -> Option<Mirrors> {
    let find = |end: &str| addresses.iter().find(|a| a.ends_with(end)).cloned();
    Some(Mirrors { main: find("/debian")?, security: find("/debian-security") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_formats_are_read_and_other_archives_ignored() {
        let old = "# deb http://old/debian x main\ndeb [arch=amd64] http://a.example/debian/ bookworm main\n";
        let new = "Types: deb\nURIs: http://other.example/tool\n\nURIs: http://b.example/debian-security\nSuites: x\n";
        let mut all = addresses_in(old);
        all.extend(addresses_in(new));
        assert_eq!(
            choose(&all),
            Some(Mirrors {
                main: "http://a.example/debian".into(),
                security: Some("http://b.example/debian-security".into())
            })
        );
        assert_eq!(choose(&addresses_in("URIs: http://x.example/ubuntu\n")), None);
    }
}
