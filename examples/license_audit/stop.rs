//! How the program ends where it has no report.

pub(crate) enum Stop {
    /// Something is wrong with what it was given.
    Input(String),
    /// Something is wrong with itself or with the machine.
    Audit(String),
    /// There are open questions, and no terminal to answer them.
    Waits(String),
    /// Ctrl-C.
    Interrupted(String),
}

impl Stop {
    pub(crate) fn input(error: impl std::error::Error) -> Self {
        Stop::Input(error.to_string())
    }

    pub(crate) fn audit(error: impl std::error::Error) -> Self {
        Stop::Audit(error.to_string())
    }

    /// Adds what can be done now.
    pub(crate) fn with_help(self, help: &str) -> Self {
        let add = |message: String| format!("{message}; {help}");
        match self {
            Stop::Input(message) => Stop::Input(add(message)),
            Stop::Audit(message) => Stop::Audit(add(message)),
            stop => stop,
        }
    }

    /// Says it on stderr, and gives the exit code.
    pub(crate) fn report(self) -> u8 {
        let (message, code) = match self {
            Stop::Input(message) => (format!("error: {message}"), 2),
            Stop::Audit(message) => (format!("error: {message}"), 3),
            Stop::Waits(message) => (message, 4),
            Stop::Interrupted(message) => (message, 130),
        };
        eprintln!("{message}");
        code
    }
}
