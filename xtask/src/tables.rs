//! Tables.
use anyhow::Result;
pub fn run(_args: &[String]) -> Result<()> {
    Ok(())
}
