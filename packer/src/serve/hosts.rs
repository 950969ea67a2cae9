//! The names that the server answers to.
//!
//! A site can point a name of its own at 127.0.0.1 and have a visitor's browser
//! ask there ("DNS rebinding"); the browser then sends that name as the `Host`.
//! An address cannot be pointed elsewhere, so any address will do: a tunnel's
//! end has another address or port than this server.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::store::host;

/// The names that the server answers to, beside addresses and `localhost`.
#[derive(Clone, Debug)]
pub(super) struct Hosts {
    names: Vec<String>,
    shown: String,
}

impl Hosts {
    /// `address` is listened on; `given` is what the user called it.
    pub(super) fn new(address: IpAddr, given: Option<&str>) -> Hosts {
        let mut names: Vec<String> = given.into_iter().map(str::to_owned).collect();
        if address.is_unspecified() {
            names.push(host());
        }
        let is_name = |name: &String| name.parse::<IpAddr>().is_err() && !is_address(name);
        names.retain(|name| !name.is_empty() && is_name(name));
        let shown = match (names.last(), address) {
            (Some(name), _) => name.clone(),
            (None, IpAddr::V4(address)) if address.is_unspecified() => {
                Ipv4Addr::LOCALHOST.to_string()
            }
            (None, IpAddr::V4(address)) => address.to_string(),
            (None, IpAddr::V6(address)) if address.is_unspecified() => {
                format!("[{}]", Ipv6Addr::LOCALHOST)
            }
            (None, IpAddr::V6(address)) => format!("[{address}]"),
        };
        Hosts { names, shown }
    }

    /// What a browser on this machine calls the server.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// Whether a `Host` header's value is one that the server answers to.
    pub(super) fn admit(&self, value: &str) -> bool {
        let Some(name) = without_port(value) else { return false };
        let known = |known: &str| known.eq_ignore_ascii_case(name);
        is_address(name) || known("localhost") || self.names.iter().any(|name| known(name))
    }
}

/// The host of `host:port`; none where the port is no number.
fn without_port(value: &str) -> Option<&str> {
    let end = if value.starts_with('[') { value.find(']')? + 1 } else { 0 };
    match value[end..].find(':') {
        None if end == 0 || end == value.len() => Some(value),
        None => None,
        Some(colon) if end > 0 && colon > 0 => None,
        Some(colon) => {
            let port = &value[end + colon + 1..];
            let number = port.is_empty() || port.parse::<u16>().is_ok() && !port.starts_with('+');
            number.then_some(&value[..end + colon])
        }
    }
}

/// An IPv4 address, or an IPv6 address in brackets.
fn is_address(name: &str) -> bool {
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    match bare {
        Some(bare) => bare.parse::<Ipv6Addr>().is_ok(),
        None => name.parse::<Ipv4Addr>().is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(address: &str, given: Option<&str>) -> Hosts {
        Hosts::new(address.parse().unwrap(), given)
    }

    #[test]
    fn addresses_and_given_names_are_admitted_and_nothing_else() {
        let local = hosts("127.0.0.1", None);
        for host in [
            "127.0.0.1:8000",
            "127.0.0.1",
            "127.0.0.1:",
            "localhost:9000",
            "LOCALHOST",
            "[::1]:80",
            "[::1]",
            "192.168.0.7:80",
        ] {
            assert!(local.admit(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:8000",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "127.0.0.1:80:80",
            "127.0.0.1:+80",
            "127.0.0.1:99999",
            "127.0.0.1:80@evil.example",
            "[::1",
            "[::1]x",
            "[::1]x:80",
            "[evil]:80",
            "::1",
            "card7",
            "0x7f000001",
            "2130706433",
        ] {
            assert!(!local.admit(host), "{host}");
        }
        assert!(hosts("192.168.0.7", Some("card7")).admit("CARD7:80"));
        assert!(!hosts("192.168.0.7", Some("card7")).admit("card8:80"));
    }

    #[test]
    fn the_url_is_one_that_is_admitted() {
        for (address, given, shown) in [
            ("127.0.0.1", None, "127.0.0.1"),
            ("::1", Some("::1"), "[::1]"),
            ("::1", Some("[::1]"), "[::1]"),
            ("::1", None, "[::1]"),
            ("192.168.0.7", Some("192.168.0.7"), "192.168.0.7"),
            ("192.168.0.7", Some("card7"), "card7"),
        ] {
            let hosts = hosts(address, given);
            assert_eq!(hosts.shown(), shown);
            assert!(hosts.admit(&format!("{shown}:1")), "{shown}");
        }
        let all = hosts("0.0.0.0", Some("0.0.0.0"));
        assert!(all.admit(all.shown()));
    }
}
