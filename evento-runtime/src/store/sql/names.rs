//! The one place where text becomes SQL: the tables' names are put into the statements of a dialect, once for each
//! schema or prefix. Everything else is a literal or is bound.

use std::collections::HashMap;

use crate::sync::{Mutex, lock};

/// How long a schema or a prefix may be, so that every name made with it fits into what servers take.
pub(crate) const MAX_NAME: usize = 32;

/// What a schema or a prefix may look like.
pub(crate) const NAME_RULE: &str = "a letter or `_`, then letters, digits and `_`, at most 32 in all";

/// Whether `name` keeps [`NAME_RULE`].
pub(crate) fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && name.len() <= MAX_NAME
}

/// What stands for `@` and `?` in the statements of a dialect.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Names {
    before: String,
    numbered: bool,
}

/// What was made, by name and by where the literal stands.
type Made = HashMap<(Names, usize, usize), &'static str>;

impl Names {
    /// Tables in a schema, placeholders as `$1`. The schema keeps [`NAME_RULE`].
    #[cfg(any(test, feature = "postgres"))]
    pub(crate) fn in_schema(schema: &str) -> Self {
        debug_assert!(is_name(schema));
        Self { before: format!("\"{schema}\".evento_"), numbered: true }
    }

    /// Tables with a prefix, placeholders as `?`. The prefix is empty or keeps [`NAME_RULE`].
    #[cfg(any(test, feature = "mysql"))]
    pub(crate) fn with_prefix(prefix: &str) -> Self {
        debug_assert!(prefix.is_empty() || is_name(prefix));
        Self { before: format!("{prefix}evento_"), numbered: false }
    }

    /// A statement with names and placeholders in place. It stays for the life of the process, like the literal it
    /// was made of: once per statement and name, however often a store is opened.
    pub(crate) fn render(&self, template: &'static str) -> &'static str {
        static MADE: Mutex<Option<Made>> = Mutex::new(None);
        let mut made = lock(&MADE);
        let key = (self.clone(), template.as_ptr() as usize, template.len());
        made.get_or_insert_with(Made::new).entry(key).or_insert_with(|| Box::leak(self.text(template).into_boxed_str()))
    }

    /// A statement about the schema itself, which stands at its end.
    #[cfg(feature = "postgres")]
    pub(crate) fn schema_statement(&self, before: &'static str) -> &'static str {
        let schema = self.before.split_once('.').map_or("", |(schema, _)| schema);
        Box::leak(format!("{before}{schema}").into_boxed_str())
    }

    fn text(&self, template: &str) -> String {
        let mut text = String::with_capacity(template.len() * 2);
        let mut number = 0_u32;
        for character in template.chars() {
            match character {
                '@' => text.push_str(&self.before),
                '?' if self.numbered => {
                    number += 1;
                    text.push('$');
                    text.push_str(&number.to_string());
                }
                other => text.push(other),
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_short() {
        for good in ["a", "_x9", "Evento", &"x".repeat(MAX_NAME)] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "9a", "a-b", "a b", "x\"; drop table t; --", "ä", &"x".repeat(MAX_NAME + 1)] {
            assert!(!is_name(bad), "{bad}");
        }
    }

    #[test]
    fn names_and_placeholders_are_put_in() {
        let template = "SELECT a FROM @event WHERE b = ? AND c = ?";
        let numbered = Names::in_schema("shop").render(template);
        assert_eq!(numbered, "SELECT a FROM \"shop\".evento_event WHERE b = $1 AND c = $2");
        let plain = Names::with_prefix("x_").render(template);
        assert_eq!(plain, "SELECT a FROM x_evento_event WHERE b = ? AND c = ?");
        assert!(std::ptr::eq(numbered, Names::in_schema("shop").render(template)));
    }
}
