//! Arguments of a command that a person may copy.

use std::borrow::Cow;

/// An argument as a POSIX shell reads it: in single quotes, unless no character of it has another meaning there.
pub(crate) fn quoted(argument: &str) -> Cow<'_, str> {
    let is_plain = |char: char| char.is_alphanumeric() || "_-.,:/@%+".contains(char);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        return Cow::Borrowed(argument);
    }
    Cow::Owned(format!("'{}'", argument.replace('\'', r"'\''")))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn only_what_a_shell_would_read_otherwise_is_quoted() {
        for plain in ["refund/check/approve", "refund-1", "acme:7", "große/%2F"] {
            assert_eq!(quoted(plain), plain);
        }
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("w/check#2/one[3]"), "'w/check#2/one[3]'");
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
    }
}
