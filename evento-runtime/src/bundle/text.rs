//! Words for people: names, nearest names, lists, line breaks.

use std::fmt::{self, Write as _};

/// The candidate that was probably meant.
pub(super) fn nearest<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wrong = wrong.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (strsim::normalized_damerau_levenshtein(&wrong, &candidate.to_lowercase()), candidate))
        .filter(|(likeness, _)| *likeness >= 0.6)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

/// `did you mean `x`? ` or nothing.
pub(super) fn did_you_mean<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(wrong, candidates).map_or_else(String::new, |name| format!("did you mean `{name}`? "))
}

/// `a, b, c`, sorted.
pub(super) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

/// `a`, `a and b`, `a, b and c`, `a, b and 5 more`.
pub(super) fn enumerated(things: &[&str]) -> String {
    match things {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] if things.len() <= 3 => format!("{} and {last}", first.join(", ")),
        [first, second, others @ ..] => format!("{first}, {second} and {} more", others.len()),
    }
}

/// A name that may be anything, made harmless and short.
pub(super) fn harmless(name: &str) -> String {
    let mut chars = name.chars();
    let mut text: String = chars.by_ref().take(100).flat_map(char::escape_debug).collect();
    if chars.next().is_some() {
        text.push('…');
    }
    text
}

/// A text that may contain anything, without line breaks and other control characters.
pub(super) fn one_line(text: String) -> String {
    if text.chars().any(char::is_control) {
        text.chars().flat_map(|c| if c.is_control() { c.escape_debug().collect() } else { vec![c] }).collect()
    } else {
        text
    }
}

/// `alloc::sync::Arc<orders::Smtp>` as `Arc<Smtp>`.
pub(super) fn short_type(full: &str) -> String {
    let mut short = String::with_capacity(full.len());
    let mut word = String::new();
    let last = |word: &str| word.rsplit("::").next().unwrap_or_default().to_owned();
    for c in full.chars() {
        if c.is_alphanumeric() || c == '_' || c == ':' {
            word.push(c);
        } else {
            short.push_str(&last(&word));
            word.clear();
            short.push(c);
        }
    }
    short.push_str(&last(&word));
    short
}

/// The first line of a doc text.
pub(super) fn first_line(docs: &str) -> &str {
    docs.trim().lines().next().unwrap_or_default().trim()
}

/// Writes `text` broken before `width`, later lines indented. What stands in backticks stays on one line, so that it
/// can be copied.
pub(super) fn wrapped(
    f: &mut dyn fmt::Write,
    first: &str,
    indent: usize,
    text: &str,
    width: Option<usize>,
) -> fmt::Result {
    f.write_str(first)?;
    let mut column = shown_width(first);
    let mut fresh = true;
    for word in words(text) {
        let length = word.chars().count();
        if !fresh && width.is_some_and(|width| column + 1 + length > width) {
            write!(f, "\n{:indent$}", "")?;
            column = indent;
            fresh = true;
        }
        if !fresh {
            f.write_char(' ')?;
            column += 1;
        }
        f.write_str(word)?;
        column += length;
        fresh = false;
    }
    Ok(())
}

/// Characters that take room: what makes others bold does not.
fn shown_width(text: &str) -> usize {
    let (mut width, mut escape) = (0, false);
    for c in text.chars() {
        match c {
            '\u{1b}' => escape = true,
            'm' if escape => escape = false,
            _ if escape => {}
            _ => width += 1,
        }
    }
    width
}

fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut start, mut quoted) = (0, false);
    for (at, c) in text.char_indices() {
        match c {
            '`' => quoted = !quoted,
            ' ' if !quoted => {
                words.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    words.push(&text[start..]);
    words
}

/// `1 problem`, `2 problems`.
pub(super) fn count(n: usize, what: &str) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write!(text, "{n} {what}{}", if n == 1 { "" } else { "s" });
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_names_lose_their_paths() {
        assert_eq!(short_type("alloc::sync::Arc<orders::mail::Smtp>"), "Arc<Smtp>");
        assert_eq!(short_type("(core::option::Option<u8>, &str)"), "(Option<u8>, &str)");
        assert_eq!(short_type("u8"), "u8");
    }

    #[test]
    fn the_nearest_name_is_near() {
        assert_eq!(nearest("read-modle", ["mail", "read-model"]), Some("read-model"));
        assert_eq!(nearest("mial", ["mail", "read-model"]), Some("mail"));
        assert_eq!(nearest("payments", ["mail", "read-model"]), None);
    }

    #[test]
    fn long_lists_are_cut() {
        assert_eq!(enumerated(&["a", "b"]), "a and b");
        assert_eq!(enumerated(&["a", "b", "c"]), "a, b and c");
        assert_eq!(enumerated(&["a", "b", "c", "d"]), "a, b and 2 more");
    }

    #[test]
    fn lines_break_at_spaces_outside_of_code() {
        let mut text = String::new();
        wrapped(&mut text, "  1. ", 5, "aaa bbb `let x = y;` ccc", Some(16)).unwrap();
        assert_eq!(text, "  1. aaa bbb\n     `let x = y;`\n     ccc");
        let mut text = String::new();
        wrapped(&mut text, "- ", 2, "aaa bbb", None).unwrap();
        assert_eq!(text, "- aaa bbb");
    }

    #[test]
    fn hostile_names_are_shown_harmlessly() {
        assert_eq!(harmless("a\n\u{1b}[31m"), "a\\n\\u{1b}[31m");
        assert_eq!(harmless(&"x".repeat(500)).chars().count(), 101);
    }
}
