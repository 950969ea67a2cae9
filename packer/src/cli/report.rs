//! `wimg report`: what the browser would show, as one HTML file.

use super::Console;
use super::args::ReportArgs;
use super::failure::Failure;
use super::quantity::Bytes;
use crate::error::shown;
use crate::page::{NO_PAGE, Page};
use crate::report::Report;

pub(crate) fn run(args: &ReportArgs, console: &mut Console<'_>) -> Result<(), Failure> {
    let page = Page::embedded().ok_or_else(|| Failure::Usage(NO_PAGE.to_owned()))?;
    let mut report = Report::default();
    for subject in &args.subjects {
        report.add(subject)?;
    }
    let bytes = report.write(page, &args.out, args.force)?;
    Ok(writeln!(console.out, "{}: {}", shown(&args.out), Bytes(bytes))?)
}
