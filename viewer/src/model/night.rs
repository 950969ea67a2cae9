//! A night's report, as `wimg nightly` leaves it: what to say of it, in which
//! order, and where its images are. Its texts are escaped already.

use wimg_core::Escaped;

use crate::model::quantity::{bytes, count};
use crate::model::state::{State, View};

/// The version of the report that is known here.
pub const FORMAT: u64 = 1;

/// What became of an image, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It could not be made.
    Failed,
    /// No worker has left a result.
    Missing,
    /// Somebody asked to stop.
    Stopped,
    /// A word that a later version of the report has.
    Other,
    /// It was made, verified and put in place.
    Packed,
    /// What was there is what would be made.
    UpToDate,
}

impl Status {
    /// All of them, the worst first.
    pub const ALL: [Status; 6] = [
        Status::Failed,
        Status::Missing,
        Status::Stopped,
        Status::Other,
        Status::Packed,
        Status::UpToDate,
    ];
    /// Those that a report counts.
    pub const COUNTED: [Status; 5] =
        [Status::Failed, Status::Missing, Status::Stopped, Status::Packed, Status::UpToDate];

    /// Its word, as the report has it.
    pub fn word(self) -> &'static str {
        match self {
            Status::Failed => "failed",
            Status::Missing => "missing",
            Status::Stopped => "stopped",
            Status::Other => "other",
            Status::Packed => "packed",
            Status::UpToDate => "up_to_date",
        }
    }

    /// The status of a word.
    pub fn of(word: &str) -> Status {
        let known = Status::COUNTED.into_iter().find(|status| status.word() == word);
        known.unwrap_or(Status::Other)
    }

    /// Whether it is one that somebody has to look at.
    pub fn is_bad(self) -> bool {
        !matches!(self, Status::Packed | Status::UpToDate)
    }
}

/// Why something failed, and what to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problem {
    /// The exit code that it asks for.
    pub code: u64,
    /// Why.
    pub cause: String,
    /// What to do.
    pub advice: String,
}

/// One image of the work.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the report's keys, which `wimg nightly` describes")]
pub struct Row {
    pub checkpoint: String,
    pub name: String,
    pub layout: String,
    pub select: String,
    pub header: String,
    pub status: String,
    pub why: String,
    pub problem: Option<Problem>,
    pub image: String,
    pub image_id: String,
    pub verified: String,
    /// Bytes of the image to load now, by its ledger.
    pub image_bytes: u64,
    pub seconds: f64,
    pub gb_per_s: f64,
    pub backend: String,
}

impl Row {
    /// What became of it.
    pub fn status(&self) -> Status {
        Status::of(&self.status)
    }

    /// What it is called.
    pub fn title(&self) -> String {
        format!("{} {}", self.checkpoint, self.name)
    }
}

/// A difference from the report before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What it is of: the names of a checkpoint and a layout.
    pub title: String,
    /// The difference.
    pub what: String,
}

/// How a night went.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the report's keys, which `wimg nightly` describes")]
pub struct Night {
    /// Where the report was opened from: a path, `/` between its parts.
    pub path: String,
    pub host: String,
    pub night: String,
    pub version: String,
    pub collected: bool,
    /// Milliseconds since 1970.
    pub started: f64,
    pub seconds: f64,
    pub code: u64,
    /// By status, as in [`Status::COUNTED`].
    pub counts: [u64; 5],
    pub read_bytes: u64,
    pub written_bytes: u64,
    pub problem: Option<Problem>,
    pub changes: Vec<Change>,
    pub rows: Vec<Row>,
}

impl Night {
    /// Whether all is well, by its exit code and by each of its rows.
    pub fn is_well(&self) -> bool {
        let bad = |row: &Row| row.status().is_bad() && row.status() != Status::Other;
        self.code == 0 && !self.rows.iter().any(bad)
    }

    /// How it went, in a word.
    pub fn verdict(&self) -> &'static str {
        match self.is_well() {
            true if self.rows.is_empty() => "There was nothing to do",
            true => "All is well",
            false => "Something is wrong",
        }
    }

    /// What the worst of its exit codes means.
    pub fn worst(&self) -> String {
        let meaning = match self.code {
            0 => return String::new(),
            1 => "damage was found",
            3 => "an input is bad",
            4 => "input/output or resources failed",
            5 => "no usable GPU",
            _ => "for an unknown reason",
        };
        format!("{meaning} (exit code {})", self.code)
    }

    /// Where, for how long and by what it was made.
    pub fn made(&self) -> String {
        let mut parts = Vec::new();
        if !self.night.is_empty() {
            parts.push(format!("night {}", self.night));
        }
        if self.collected {
            parts.push("collected from several workers".to_owned());
        }
        parts.push(format!("wimg {}", self.version));
        parts.push(Escaped::new(&self.path).to_string());
        parts.join(" \u{b7} ")
    }

    /// Its figures: what each counts, the count, and whether that is bad.
    pub fn figures(&self) -> Vec<(&'static str, String, bool)> {
        let counted = Status::COUNTED.into_iter().zip(self.counts);
        let mut figures: Vec<_> = counted
            .map(|(status, images)| (status.word(), count(images), status.is_bad() && images > 0))
            .collect();
        figures.push(("read", bytes(self.read_bytes), false));
        figures.push(("written", bytes(self.written_bytes), false));
        figures.push(("time", seconds(self.seconds), false));
        figures
    }

    /// Its rows by status, as in [`Status::COUNTED`].
    pub fn counted(&self) -> [u64; 5] {
        let of = |status| self.rows.iter().filter(|row| row.status() == status).count() as u64;
        Status::COUNTED.map(of)
    }

    /// What the report says of itself that its rows do not bear out.
    pub fn doubt(&self) -> Option<String> {
        let wrong = Status::COUNTED.into_iter().zip(self.counts).zip(self.counted());
        let mut wrong = wrong.filter(|((_, said), are)| said != are);
        wrong.next().map(|((status, said), are)| {
            format!("The report counts {said} as {}, its rows are {are}.", status.word())
        })
    }

    /// The places of its rows, the worst first, as they came among equals.
    pub fn order(&self) -> Vec<usize> {
        // Not sorted: this is a tenth of the code, and rows are few.
        let ranks = Status::ALL.into_iter().flat_map(|status| [(status, true), (status, false)]);
        let of = |(status, troubled): (Status, bool)| {
            let is = move |row: &Row| (row.status(), row.problem.is_some()) == (status, troubled);
            self.rows.iter().enumerate().filter(move |(_, row)| is(row)).map(|(at, _)| at)
        };
        ranks.flat_map(of).collect()
    }

    /// What needs somebody's look: rows of one status and one problem together.
    /// An image that was found damaged and packed again is among them.
    pub fn troubles(&self) -> Vec<(Status, Option<&Problem>, Vec<usize>)> {
        let mut troubles: Vec<(Status, Option<&Problem>, Vec<usize>)> = Vec::new();
        for at in self.order() {
            let Some(row) = self.rows.get(at) else { continue };
            let (status, problem) = (row.status(), row.problem.as_ref());
            if !status.is_bad() && problem.is_none() {
                continue;
            }
            match troubles.iter_mut().find(|known| (known.0, known.1) == (status, problem)) {
                Some((_, _, rows)) => rows.push(at),
                None => troubles.push((status, problem, vec![at])),
            }
        }
        troubles
    }

    /// The map of a row's image, where it has one. Which key it is open under
    /// depends on how it came: served, in a report.html, by hand, or not at
    /// all; then its checkpoint's public header shows the same places.
    pub fn map_of(&self, row: &Row, is_open: impl Fn(&str) -> bool) -> Option<State> {
        if row.image.is_empty() {
            return None;
        }
        let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let at = |path: &str| match folder {
            "" => path.to_owned(),
            _ => format!("{folder}/{path}"),
        };
        let place = format!("{}/{}", row.checkpoint, row.name);
        let keys =
            [at(&row.image), row.image.clone(), place, row.image_id.clone(), row.header.clone()];
        let open = keys.iter().find(|key| is_open(key));
        Some(State {
            view: View::Map,
            subject: open.or(keys.first()).cloned(),
            layout: row.layout.parse().unwrap_or_default(),
            selection: row.select.parse().unwrap_or_default(),
            night: Some(self.path.clone()),
            ..State::default()
        })
    }
}

/// Seconds for people; of hours and minutes only what there is.
pub fn seconds(seconds: f64) -> String {
    let whole = crate::model::quantity::whole(seconds);
    let (hours, minutes) = (whole / 3600, whole / 60 % 60);
    match whole {
        0..60 => format!("{seconds:.1}\u{202f}s"),
        60..3600 => format!("{minutes}\u{202f}min {}\u{202f}s", whole % 60),
        _ => format!("{hours}\u{202f}h {minutes}\u{202f}min"),
    }
}

/// Whether a text is, or would be, a night's report: also one that breaks off.
/// Every version has this key at its start, and an `image.json` has not.
pub fn is_report(text: &[u8]) -> bool {
    let start = text.get(..256).unwrap_or(text);
    let has = |key: &[u8]| start.windows(key.len()).any(|window| window == key);
    start.trim_ascii_start().starts_with(b"{") && has(b"\"image_format\":")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(checkpoint: &str, status: &str, cause: &str) -> Row {
        let problem = Problem { code: 3, cause: cause.to_owned(), advice: "do".to_owned() };
        Row {
            checkpoint: checkpoint.to_owned(),
            name: "plain".to_owned(),
            layout: "4x72/512+check".to_owned(),
            select: "all".to_owned(),
            status: status.to_owned(),
            problem: Some(problem).filter(|_| !cause.is_empty()),
            image: format!("{checkpoint}/plain/5e"),
            image_id: "5e".to_owned(),
            header: "public".to_owned(),
            ..Row::default()
        }
    }

    fn night() -> Night {
        let rows = vec![
            row("a", "packed", ""),
            row("b", "up_to_date", ""),
            row("c", "failed", "cut"),
            row("d", "packed", "damaged"),
            row("e", "missing", "gone"),
            row("f", "failed", "cut"),
            row("g", "dreamt", ""),
        ];
        Night { code: 4, counts: [2, 1, 0, 2, 1], rows, ..Night::default() }
    }

    #[test]
    fn what_failed_comes_first() {
        let night = night();
        let order: String =
            night.order().iter().map(|&at| night.rows[at].checkpoint.as_str()).collect();
        assert_eq!(order, "cfegdab");
        let troubles: Vec<(Status, &str, Vec<usize>)> = night
            .troubles()
            .into_iter()
            .map(|(status, problem, rows)| (status, problem.map_or("", |p| &p.cause), rows))
            .collect();
        assert_eq!(
            troubles,
            [
                (Status::Failed, "cut", vec![2, 5]),
                (Status::Missing, "gone", vec![4]),
                (Status::Other, "", vec![6]),
                (Status::Packed, "damaged", vec![3]),
            ]
        );
    }

    #[test]
    fn the_headline_says_the_worst() {
        let mut night = night();
        assert_eq!(night.verdict(), "Something is wrong");
        assert_eq!(night.worst(), "input/output or resources failed (exit code 4)");
        night.code = 0;
        assert_eq!(night.verdict(), "Something is wrong", "whatever the code, a row failed");
        night.rows.retain(|row| !row.status().is_bad() || row.status() == Status::Other);
        assert_eq!((night.verdict(), night.worst().as_str()), ("All is well", ""));
        night.rows.clear();
        assert_eq!(night.verdict(), "There was nothing to do");
        night.code = 77;
        assert_eq!(night.worst(), "for an unknown reason (exit code 77)");
    }

    #[test]
    fn counts_that_are_not_the_rows_are_doubted() {
        let mut night = night();
        assert_eq!(night.doubt(), None);
        let bad: Vec<bool> = night.figures().iter().map(|figure| figure.2).collect();
        assert_eq!(bad, [true, true, false, false, false, false, false, false]);
        night.counts[0] = 3;
        assert_eq!(
            night.doubt().as_deref(),
            Some("The report counts 3 as failed, its rows are 2.")
        );
    }

    #[test]
    fn an_image_is_found_however_it_came() {
        let mut night = Night { path: "x/images/report.json".to_owned(), ..night() };
        let row = night.rows[0].clone();
        let subject = |night: &Night, open: &str| {
            let state = night.map_of(&row, |key| key == open).unwrap();
            assert_eq!(state.layout.to_string(), "4x72/512+check");
            assert_eq!(state.selection.name(), "all");
            state.subject.unwrap()
        };
        let mut found = 0;
        for open in ["x/images/a/plain/5e", "a/plain/5e", "a/plain", "5e", "public"] {
            assert_eq!(subject(&night, open), open);
            found += 1;
        }
        assert_eq!(found, 5);
        assert_eq!(subject(&night, "other"), "x/images/a/plain/5e", "the page says what to open");
        night.path = "report.json".to_owned();
        assert_eq!(subject(&night, "other"), "a/plain/5e");
        let none = Row { image: String::new(), ..row.clone() };
        assert_eq!(night.map_of(&none, |_| true), None);
    }

    #[test]
    fn seconds_are_for_people() {
        let said = [0.25, 59.9, 61.0, 3599.0, 3600.0, 90_061.0].map(seconds);
        let said = said.map(|text| text.replace('\u{202f}', " "));
        assert_eq!(
            said,
            ["0.2 s", "59.9 s", "1 min 1 s", "59 min 59 s", "1 h 0 min", "25 h 1 min"]
        );
    }

    #[test]
    fn a_report_is_told_from_other_json() {
        assert!(is_report(b"\n{ \"format\": 1, \"image_format\": 1, \"rows"));
        for other in
            ["{\"format\":1}", "", "[\"image_format\"]", "{\"checkpoint\":\"image_format\"}"]
        {
            assert!(!is_report(other.as_bytes()), "{other}");
        }
    }
}
