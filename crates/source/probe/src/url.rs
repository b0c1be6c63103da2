//! The address of a database: `postgres://user:password@host:port/database`, `redis://host:port/number`,
//! `etcd://host:port`.

use std::str::FromStr;

use crate::{ProbeError, Workload};

/// The kind of database.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Scheme {
    Postgres,
    Redis,
    Etcd,
}

impl Scheme {
    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Postgres => "PostgreSQL",
            Self::Redis => "Redis",
            Self::Etcd => "etcd",
        }
    }

    /// Whether the workload can be run on such a database.
    pub const fn has(self, workload: Workload) -> bool {
        match workload {
            Workload::Register | Workload::Transaction => true,
            Workload::List => matches!(self, Self::Postgres | Self::Redis),
            Workload::Bank => matches!(self, Self::Postgres),
        }
    }

    const fn port(self) -> u16 {
        match self {
            Self::Postgres => 5432,
            Self::Redis => 6379,
            Self::Etcd => 2379,
        }
    }
}

/// The address of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// The kind of database.
    pub scheme: Scheme,
    /// The user; empty if none is named.
    pub user: String,
    /// The password; empty if none is named.
    pub password: String,
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// What comes after the first slash: the database; empty if none is named.
    pub database: String,
}

impl FromStr for Url {
    type Err = ProbeError;

    fn from_str(text: &str) -> Result<Self, ProbeError> {
        let wrong = |message: &str| ProbeError::Url(format!("this is not the address of a database: {message}"));
        let (scheme, rest) = text.split_once("://").ok_or_else(|| wrong("it has no `://`"))?;
        let scheme = match scheme {
            "postgres" | "postgresql" => Scheme::Postgres,
            "redis" => Scheme::Redis,
            "etcd" | "http" => Scheme::Etcd,
            "rediss" | "https" => return Err(wrong("connections with TLS are not supported")),
            _ => return Err(wrong("it begins with `postgres://`, `redis://` or `etcd://`")),
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        if ["sslmode=require", "sslmode=verify"].iter().any(|mode| query.contains(mode)) {
            return Err(wrong("connections with TLS are not supported"));
        }
        let (login, address) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let (host, port) = match address.strip_prefix('[') {
            Some(rest) => {
                let (host, rest) = rest.split_once(']').ok_or_else(|| wrong("`[` has no `]`"))?;
                (host, rest.strip_prefix(':'))
            }
            None => match address.rsplit_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (address, None),
            },
        };
        let port = match port {
            Some(port) => port.parse().map_err(|_| wrong("the port is not a number below 65536"))?,
            None => scheme.port(),
        };
        let host = if host.is_empty() { "localhost" } else { host };
        let [user, password, database] = [user, password, path].map(decoded);
        Ok(Self { scheme, user, password, host: host.to_owned(), port, database })
    }
}

/// The text with its escapes (`%40`) resolved.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        if let (b'%', Some(byte)) = (first, byte) {
            bytes.push(byte);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let url: Url = "postgres://me:s%40cret@db.example:5433/test?x=1".parse().unwrap();
        assert_eq!((url.user.as_str(), url.password.as_str(), url.host.as_str()), ("me", "s@cret", "db.example"));
        assert_eq!((url.port, url.database.as_str()), (5433, "test"));
        let url: Url = "redis://localhost".parse().unwrap();
        assert_eq!((url.scheme, url.port, url.database.as_str()), (Scheme::Redis, 6379, ""));
        let url: Url = "etcd://[::1]:4000".parse().unwrap();
        assert_eq!((url.host.as_str(), url.port), ("::1", 4000));
        for wrong in ["localhost", "mysql://x", "redis://x:99999", "rediss://x", "postgres://x/y?sslmode=require"] {
            assert!(wrong.parse::<Url>().is_err(), "{wrong}");
        }
    }
}
