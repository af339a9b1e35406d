//! Kernel releases in the names of packages.

/// A release such as `6.12.117+deb12-amd64`, ordered by its numbers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    numbers: Vec<u32>,
    /// As `uname -r` prints it.
    pub text: String,
}

impl Release {
    /// Reads a release. Flavours (`rt`, `cloud`), signing templates and debug
    /// packages are none: their names have more words.
    pub fn parse(text: &str, arch: &str) -> Option<Release> {
        let version = text.strip_suffix(arch)?.strip_suffix('-')?;
        let plain = |c: char| c.is_ascii_digit() || ".+-".contains(c);
        if !version.replacen("+deb", "+", 1).chars().all(plain) {
            return None;
        }
        let numbers: Vec<u32> = version
            .split(|c: char| !c.is_ascii_digit())
            .filter(|w| !w.is_empty())
            .map(str::parse)
            .collect::<Result<_, _>>()
            .ok()?;
        (numbers.len() >= 3).then(|| Release { numbers, text: text.to_owned() })
    }

    /// The series, such as `6.12`.
    pub fn series(&self) -> String {
        format!("{}.{}", self.numbers[0], self.numbers[1])
    }

    /// Series as numbers, for sorting.
    pub(crate) fn series_numbers(&self) -> (u32, u32) {
        (self.numbers[0], self.numbers[1])
    }

    /// Whether the release belongs to `series`; `7` takes every 7.x.
    pub fn is_of(&self, series: &str) -> bool {
        self.series() == series || self.numbers[0].to_string() == series
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_sort_by_number_and_flavours_are_none() {
        let r = |t| Release::parse(t, "amd64");
        assert!(r("6.12.117+deb12-amd64") > r("6.12.95+deb12-amd64"));
        assert!(r("6.1.0-56-amd64") > r("6.1.0-9-amd64"));
        assert_eq!(r("6.1.0-56-amd64").unwrap().series(), "6.1");
        assert!(r("7.3.4+deb13-amd64").unwrap().is_of("7"));
        for none in [
            "6.12-amd64",
            "6.1.0-56-rt-amd64",
            "6.12.9+deb12-cloud-amd64",
            "6.12.9+deb12-amd64-dbg",
            "6.12.9+deb12-arm64",
            "amd64",
        ] {
            assert_eq!(r(none), None, "{none}");
        }
    }
}
