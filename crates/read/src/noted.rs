//! Comments of a configuration: what somebody wrote above a setting tells of the time before it.

/// No configuration is longer.
const LONGEST: usize = 1 << 20;

/// So many comments alone are a part of one.
const FEW: usize = 3;

/// The numbers of lines that are comments of a configuration, from 1.
pub(crate) fn comments(bytes: &[u8]) -> Vec<u64> {
    if bytes.len() > LONGEST || memchr::memchr(b'#', bytes).is_none() {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(bytes);
    let (mut out, mut configures, mut others) = (Vec::new(), false, false);
    for (at, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        match is_comment(line) {
            true => out.push(at),
            false if line.is_empty() => {}
            false => {
                others = true;
                configures |= is_setting(line);
            }
        }
    }
    let is = configures || !others && out.len() >= FEW;
    if is { out } else { Vec::new() }
}

/// `# words`, and no heading of Markdown with more than one mark, no prompt of root.
fn is_comment(line: &str) -> bool {
    let Some(rest) = line.strip_prefix('#') else { return false };
    rest.is_empty() || rest.starts_with([' ', '\t']) && crate::night::line::command(line).is_none()
}

/// A line that sets something in a configuration of NixOS, modprobe, GRUB, systemd, udev, or
/// begins a script of a shell.
fn is_setting(line: &str) -> bool {
    let word = line.split([' ', '=', '.']).next().unwrap_or("");
    let nix = line.ends_with("= [")
        || line.ends_with("= {")
        || line == "];"
        || line == "};"
        || line.ends_with(';') && line.contains(" = ");
    let modprobe = word == "options" && line.contains('=')
        || matches!(word, "blacklist" | "softdep") && line.split(' ').count() > 1;
    let grub = line.starts_with("GRUB_") && line.contains('=');
    let unit = matches!(line, "[Unit]" | "[Service]" | "[Sleep]" | "[Login]" | "[Install]");
    let udev = line.starts_with("ACTION==") || line.starts_with("SUBSYSTEM==");
    nix || modprobe || grub || unit || udev || line.starts_with("#!/")
}

/// A comment without its mark.
pub(crate) fn uncommented(text: &[u8]) -> &[u8] {
    let text = text.trim_ascii_start();
    text.strip_prefix(b"#").map_or(text, <[u8]>::trim_ascii_start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_of_a_configuration_are_told_from_headings_and_prompts() {
        let nix = "{\n  # elm 1-1: it failed\n  boot.kernelParams = [\n    \"elm.a=0\"\n  ];\n}\n";
        assert_eq!(comments(nix.as_bytes()), [2]);
        let modprobe = "\n# elm: timed out\noptions elm a=1\n";
        assert_eq!(comments(modprobe.as_bytes()), [2]);
        let part = "   # one\n   # two\n   #   elm 1-1: failed\n";
        assert_eq!(comments(part.as_bytes()), [1, 2, 3]);
        let page = "# My laptop\n\n[    1.000000] elm: failed\n# dmesg | tail\n[  2.0] x\n";
        assert!(comments(page.as_bytes()).is_empty());
        assert_eq!(uncommented(b"  #   elm: x"), b"elm: x");
    }
}
