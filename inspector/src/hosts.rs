//! The names by which a server is asked for, against DNS rebinding.

/// The names by which a server of its own is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Hosts {
    /// In lower case, without the port.
    pub(crate) names: Vec<String>,
    pub(crate) port: u16,
}

impl Hosts {
    /// Whether this is one of them: `localhost:8080`. Without a port it is the one of HTTP.
    pub(crate) fn has(&self, authority: &str) -> bool {
        let (name, port) = match authority.rsplit_once(':') {
            // The colons of an address of version 6 are in brackets.
            Some((name, port)) if !port.ends_with(']') => (name, port.parse::<u16>().ok()),
            _ => (authority, Some(80)),
        };
        port == Some(self.port) && self.names.iter().any(|one| one.eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_with_the_port_of_the_server() {
        let hosts = Hosts { names: vec!["localhost".into(), "127.0.0.1".into(), "[::1]".into()], port: 8080 };
        for own in ["localhost:8080", "LOCALHOST:8080", "127.0.0.1:8080", "[::1]:8080"] {
            assert!(hosts.has(own), "{own}");
        }
        let others = ["", ":", ":8080", "localhost", "localhost:80", "localhost:8081", "evil.example:8080", "[::1]"];
        for other in
            others.into_iter().chain(["localhost.evil.example:8080", "evil@localhost:8080", "localhost:8080:8080"])
        {
            assert!(!hosts.has(other), "{other}");
        }
        assert!(Hosts { port: 80, ..hosts }.has("localhost"));
    }
}
