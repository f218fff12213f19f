//! The header `traceparent` of the W3C: `00-<trace>-<span>-<flags>`, in hexadecimal digits.

use opentelemetry::trace::{SpanContext, SpanId, TraceFlags, TraceId, TraceState};

pub(crate) fn written(place: &SpanContext) -> String {
    let flags = (place.trace_flags() & TraceFlags::SAMPLED).to_u8();
    format!("00-{}-{}-{flags:02x}", place.trace_id(), place.span_id())
}

/// `None` if it is no such header, or names no trace.
pub(crate) fn read(text: &str) -> Option<SpanContext> {
    let mut parts = text.trim().split('-');
    let mut next = |digits: usize| parts.next().filter(|part| part.len() == digits && part.bytes().all(is_digit));
    let (version, trace, span, flags) = (next(2)?, next(32)?, next(16)?, next(2)?);
    // A later version may have more behind these; there will be no version ff.
    if version == "ff" || (version == "00" && parts.next().is_some()) {
        return None;
    }
    let (trace, span) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?);
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?) & TraceFlags::SAMPLED;
    let place = SpanContext::new(trace, span, flags, true, TraceState::default());
    place.is_valid().then_some(place)
}

fn is_digit(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

#[cfg(test)]
mod tests {
    use super::{read, written};

    #[test]
    fn what_is_written_is_read_again() {
        for flags in ["00", "01"] {
            let text = format!("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-{flags}");
            let place = read(&text).unwrap();
            assert!(place.is_remote());
            assert_eq!(written(&place), text);
        }
    }

    #[test]
    fn a_later_version_may_have_more() {
        let later = "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-09-more";
        let place = read(later).unwrap();
        assert_eq!(written(&place), "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    }

    #[test]
    fn other_texts_are_not_read() {
        for text in [
            "",
            "mine",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00F067AA0BA902B7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473é-00f067aa0ba902b7-01",
        ] {
            assert!(read(text).is_none(), "{text}");
        }
    }
}
