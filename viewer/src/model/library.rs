//! All that is open, and the ledger over it.

use wimg_core::{HEADERS, ImageRow};

use crate::model::subject::{Origin, Subject};

/// A row of the ledger, and the subject that it is of.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The subject's key.
    pub subject: String,
    /// The row.
    pub row: ImageRow,
}

/// All that is open.
#[derive(Clone, Debug, Default)]
pub struct Library {
    /// What can be looked at, in the order in which it came.
    pub subjects: Vec<Subject>,
    /// The ledger.
    pub entries: Vec<Entry>,
}

impl Library {
    /// The public checkpoints.
    pub fn of_headers() -> Library {
        let mut library = Library::default();
        for header in HEADERS.iter() {
            // Tests prove that each has its rows.
            let _ = library.add(header.name, Origin::Header(header), Vec::new());
        }
        library
    }

    /// Adds a subject under a name, or a name made from it where that is
    /// taken, and gives its key. One that comes again takes its old place.
    ///
    /// # Errors
    /// A checkpoint that has no image at all.
    pub fn add(
        &mut self,
        name: &str,
        origin: Origin,
        notes: Vec<String>,
    ) -> Result<String, String> {
        let mut key = name.to_owned();
        if self.is_known(name) {
            key += " (opened)";
        }
        let subject = Subject { key: key.clone(), origin, notes };
        let entries = subject.rows()?.into_iter().map(|row| Entry { subject: key.clone(), row });
        let entries: Vec<Entry> = entries.collect();
        match self.subjects.iter_mut().find(|old| old.key == key) {
            Some(old) => {
                let place = self.entries.iter().position(|entry| entry.subject == key);
                self.entries.retain(|entry| entry.subject != key);
                let place = place.unwrap_or(self.entries.len());
                self.entries.splice(place..place, entries);
                *old = subject;
            }
            None => {
                self.subjects.push(subject);
                self.entries.extend(entries);
            }
        }
        Ok(key)
    }

    /// Adds a ledger's rows, each a subject of its own, `NAME:LINE` from line 1
    /// on, and gives the first one's key. Rows that come again under the name
    /// replace those that were there.
    pub fn add_rows(&mut self, name: &str, rows: Vec<ImageRow>) -> Option<String> {
        let prefix = format!("{name}:");
        let is_line = |key: &str| {
            let line = key.strip_prefix(&prefix);
            line.is_some_and(|line| !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit()))
        };
        self.subjects.retain(|subject| !is_line(&subject.key));
        self.entries.retain(|entry| !is_line(&entry.subject));
        let mut first = None;
        for (line, row) in (1u64..).zip(rows) {
            let key = format!("{prefix}{line}");
            first.get_or_insert_with(|| key.clone());
            self.entries.push(Entry { subject: key.clone(), row: row.clone() });
            let origin = Origin::Row(Box::new(row));
            self.subjects.push(Subject { key, origin, notes: Vec::new() });
        }
        first
    }

    /// The subject of a key.
    pub fn find(&self, key: &str) -> Option<&Subject> {
        self.subjects.iter().find(|subject| subject.key == key)
    }

    fn is_known(&self, name: &str) -> bool {
        self.find(name).is_some_and(|subject| matches!(subject.origin, Origin::Header(_)))
    }
}

#[cfg(test)]
mod tests {
    use wimg_core::image_ledger;

    use super::*;

    #[test]
    fn it_starts_with_the_ledger() {
        let library = Library::of_headers();
        let rows: Vec<ImageRow> = library.entries.iter().map(|entry| entry.row.clone()).collect();
        assert_eq!(rows.len(), 16);
        assert_eq!(rows, image_ledger().unwrap().rows);
    }

    #[test]
    fn names_stay_unique_and_what_comes_again_keeps_its_place() {
        let mut library = Library::of_headers();
        let name = HEADERS[0].name;
        let row = library.entries[3].row.clone();
        let opened_row = || Origin::Row(Box::new(row.clone()));
        let opened = library.add(name, opened_row(), Vec::new()).unwrap();
        assert_eq!(opened, format!("{name} (opened)"), "a header keeps its name to itself");
        assert_eq!(library.entries.len(), 17);
        library.add("z.gguf", opened_row(), Vec::new()).unwrap();
        library.add(&opened, opened_row(), Vec::new()).unwrap();
        assert_eq!(library.entries.len(), 18);
        assert_eq!(library.entries[16].subject, opened);
        assert_eq!(library.entries[17].subject, "z.gguf");
    }

    #[test]
    fn a_ledgers_rows_are_subjects_of_their_own() {
        let mut library = Library::of_headers();
        let rows: Vec<ImageRow> = library.entries.iter().map(|e| e.row.clone()).collect();
        assert_eq!(library.add_rows("s.jsonl", rows.clone()).as_deref(), Some("s.jsonl:1"));
        assert_eq!(library.entries.len(), 32);
        assert_eq!(library.entries[31].subject, "s.jsonl:16");
        assert_eq!(library.add_rows("s.jsonl", rows[..3].to_vec()).as_deref(), Some("s.jsonl:1"));
        assert_eq!((library.entries.len(), library.subjects.len()), (19, 11));
        // Of a row that a public checkpoint gives, there is a map.
        let subject = library.find("s.jsonl:3").unwrap();
        assert!(subject.plan(subject.selection(), &"4x64/512".parse().unwrap()).is_ok());
        let mut other = rows[0].clone();
        other.checkpoint = "somebody's own".to_owned();
        library.add_rows("t.jsonl", vec![other]);
        let subject = library.find("t.jsonl:1").unwrap();
        let error = subject.plan(subject.selection(), &"4x64/512".parse().unwrap()).unwrap_err();
        assert!(error.starts_with("a ledger's row has sums only"), "{error}");
    }
}
