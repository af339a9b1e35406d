//! What changing a power domain would save.

use super::number::names;
use dormouse_base::time::Ns;

/// The heading of the list.
pub(crate) const HEADING: &str = "Power domains, each change alone, by the model";

/// What is offered: `users` are unbound, or the domain stays on; before and after.
pub fn sentence(
    domain: &str,
    unbound: Option<&[String]>,
    saves: Ns,
    suspend: (Ns, Ns),
    resume: (Ns, Ns),
) -> String {
    let what = match unbound {
        Some(users) => format!("nobody uses it; without drivers of {}", names(users)),
        None => "if it stayed on".into(),
    };
    format!(
        "{domain}: {what} a sleep would take {saves} less: suspend {} -> {}, resume {} -> {}.",
        suspend.0, suspend.1, resume.0, resume.1
    )
}

/// How a domain stays on.
pub(crate) fn stay_on(domain: &str) -> String {
    format!(
        "give {domain} GENPD_FLAG_ALWAYS_ON in its provider; it then draws its power through every \
         sleep (dormouse show --draws says what that is)"
    )
}

/// Offers that are left out.
pub fn rest(n: usize) -> String {
    format!("… and {n} more that save less (--json has all)")
}

/// Devices whose lines are left out.
pub fn more(n: usize) -> String {
    format!("and so on for {n} more; one that stays bound undoes it all")
}
