//! One result as named values: a JSON object on a line, or a row of CSV.

use wimg_core::ledger::csv::{cell, shown_cell};

use super::quantity::list;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// A name or a word.
    Text(String),
    /// A message: the names in it are escaped already.
    Message(String),
    /// An integer, exact in every format.
    Integer(u64),
    /// A measured number, finite.
    Measure(f64),
    /// True or false.
    Flag(bool),
    /// Integers; in CSV with blanks between.
    List(Vec<u64>),
    /// Does not apply; in CSV an empty cell.
    None,
}

/// Named values in a fixed order. The names are stable.
pub(crate) struct Record(pub(crate) Vec<(&'static str, Value)>);

impl Record {
    /// A JSON object with a line's end.
    pub(crate) fn json(&self) -> String {
        let fields: Vec<String> =
            self.0.iter().map(|(name, value)| format!("\"{name}\":{}", value.json())).collect();
        tame(&format!("{{{}}}\n", fields.join(",")))
    }

    /// CSV's first line.
    pub(crate) fn csv_header(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|(name, _)| *name).collect();
        names.join(",") + "\n"
    }

    /// A line of CSV.
    pub(crate) fn csv(&self) -> String {
        let cells: Vec<String> = self.0.iter().map(|(_, value)| value.csv()).collect();
        cells.join(",") + "\n"
    }
}

/// The same JSON, with `\u` in place of what JSON lets stand and a terminal may
/// not: DEL, the second block of control characters, marks that turn the
/// direction of text. Outside of strings, JSON has none of them.
pub(crate) fn tame(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    let mut units = [0; 2];
    for c in json.chars() {
        if c < '\u{7f}' || c.escape_debug().len() == 1 {
            text.push(c);
        } else {
            text.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    text
}

impl Value {
    fn json(&self) -> String {
        match self {
            // Text and finite numbers always serialise.
            Value::Text(text) | Value::Message(text) => {
                serde_json::to_string(text).unwrap_or_default()
            }
            Value::Measure(number) => serde_json::to_string(number).unwrap_or_default(),
            Value::Integer(number) => number.to_string(),
            Value::Flag(flag) => flag.to_string(),
            Value::List(numbers) => {
                let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
                format!("[{}]", numbers.join(","))
            }
            Value::None => "null".to_owned(),
        }
    }

    fn csv(&self) -> String {
        match self {
            Value::Text(text) => cell(text),
            Value::Message(text) => shown_cell(text.clone()),
            Value::List(numbers) => list(numbers),
            Value::None => String::new(),
            other => other.json(),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::Integer(number)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Value {
        Value::Integer(number.into())
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Measure(number)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Value {
        Value::Flag(flag)
    }
}

impl From<Vec<u64>> for Value {
    fn from(numbers: Vec<u64>) -> Value {
        Value::List(numbers)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::None, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_tame_and_the_same() {
        let name = "é模\u{7f}\u{9b}2J\u{202e}\u{e0001}";
        let json = serde_json::to_string(name).unwrap();
        let tame = tame(&json);
        assert_eq!(tame, "\"é模\\u007f\\u009b2J\\u202e\\udb40\\udc01\"");
        assert_eq!(serde_json::from_str::<String>(&tame).unwrap(), name);
    }

    #[test]
    fn names_stay_in_their_place() {
        let record = Record(vec![
            ("name", "a\u{1b}[2J\n\",".into()),
            ("message", Value::Message("\\n, \"".to_owned())),
            ("exact", u64::MAX.into()),
            ("list", vec![1, 2].into()),
            ("none", Value::None),
            ("some", Some(true).into()),
        ]);
        let json = "{\"name\":\"a\\u001b[2J\\n\\\",\",\"message\":\"\\\\n, \\\"\",\"exact\":18446744073709551615,\
                    \"list\":[1,2],\"none\":null,\"some\":true}\n";
        assert_eq!(record.json(), json);
        assert_eq!(record.csv_header(), "name,message,exact,list,none,some\n");
        assert_eq!(
            record.csv(),
            "\"a\\u{1b}[2J\\n\"\",\",\"\\n, \"\"\",18446744073709551615,1 2,,true\n"
        );
    }
}
