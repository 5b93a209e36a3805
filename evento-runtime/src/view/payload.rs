//! Payloads as people read them: all stored bytes are hostile, and may be megabytes.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

/// Larger JSON is shown as it came.
const PRETTY: usize = 256 * 1_024;

/// The beginning of a payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Preview {
    /// `json`, `text`, `binary`, or `hidden`.
    pub(crate) kind: &'static str,
    /// JSON indented, other text as it is, bytes in hexadecimal.
    pub(crate) text: String,
    /// How many bytes the payload has.
    pub(crate) bytes: usize,
    /// Whether `text` is less than the whole.
    pub(crate) cut: bool,
}

impl Preview {
    /// Nothing but its size.
    pub(crate) const fn hidden(bytes: usize) -> Self {
        Self { kind: "hidden", text: String::new(), bytes, cut: true }
    }

    /// At most about `limit` bytes of text.
    pub(crate) fn of(payload: &[u8], limit: usize) -> Self {
        let bytes = payload.len();
        if bytes <= PRETTY
            && let Ok(value) = serde_json::from_slice::<Value>(payload)
            && let Ok(text) = serde_json::to_string_pretty(&value)
        {
            let (text, cut) = begin(&text, limit);
            return Self { kind: "json", text, bytes, cut };
        }
        // A character that the cut has split is no reason to call a text binary.
        let head = &payload[..bytes.min(limit.saturating_add(4))];
        let text = match std::str::from_utf8(head) {
            Ok(text) => Some(text),
            Err(error) if error.error_len().is_none() && head.len() < bytes => {
                std::str::from_utf8(&head[..error.valid_up_to()]).ok()
            }
            Err(_) => None,
        };
        if let Some(text) = text {
            let (text, cut) = begin(text, limit);
            return Self { kind: "text", cut: cut || text.len() < bytes, text, bytes };
        }
        let shown = bytes.min(limit / 3);
        let mut text = String::with_capacity(shown * 3);
        for (n, byte) in payload[..shown].iter().enumerate() {
            let separator = if n == 0 {
                ""
            } else if n.is_multiple_of(32) {
                "\n"
            } else {
                " "
            };
            // Writing to a `String` cannot fail.
            let _ = write!(text, "{separator}{byte:02x}");
        }
        Self { kind: "binary", text, bytes, cut: shown < bytes }
    }
}

fn begin(text: &str, limit: usize) -> (String, bool) {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    (text[..end].to_owned(), end < text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn json_is_indented_text_is_kept_bytes_are_shown() {
        let json = Preview::of(br#"{"a":[1,"<b>"]}"#, 1_000);
        assert_eq!((json.kind, json.cut), ("json", false));
        assert!(json.text.contains("\n    1,\n"));
        let text = Preview::of("é é é".as_bytes(), 3);
        assert_eq!((text.kind, &*text.text, text.cut), ("text", "é ", true));
        let bytes = Preview::of(&[0xff, 0, 0x10], 1_000);
        assert_eq!((bytes.kind, &*bytes.text, bytes.cut), ("binary", "ff 00 10", false));
        let large = Preview::of(&vec![b'x'; 5_000_000], 100);
        assert_eq!((large.text.len(), large.bytes, large.cut), (100, 5_000_000, true));
    }

    proptest! {
        #[test]
        fn anything_has_a_preview(payload in proptest::collection::vec(any::<u8>(), 0..200), limit in 0_usize..100) {
            let preview = Preview::of(&payload, limit);
            prop_assert!(preview.text.len() <= limit + 3);
            prop_assert_eq!(preview.bytes, payload.len());
        }
    }
}
