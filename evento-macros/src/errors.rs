//! Collects every mistake of an item, so that one build tells them all.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

/// The mistakes found so far.
#[derive(Default)]
pub(crate) struct Errors {
    all: Vec<syn::Error>,
    /// Mistakes that the compiler tells by itself, in the item as it is.
    known: usize,
    usage_told: bool,
}

impl Errors {
    /// A mistake at one token.
    pub(crate) fn at(&mut self, span: Span, message: impl std::fmt::Display) {
        self.all.push(syn::Error::new(span, message));
    }

    /// A mistake that is all of `tokens`.
    pub(crate) fn on(&mut self, tokens: impl ToTokens, message: impl std::fmt::Display) {
        self.all.push(syn::Error::new_spanned(tokens, message));
    }

    /// A mistake in a signature. The first one of an item also shows what a right one looks like.
    pub(crate) fn signature(&mut self, tokens: impl ToTokens, usage: &str, message: impl std::fmt::Display) {
        if std::mem::replace(&mut self.usage_told, true) {
            self.on(tokens, message);
        } else {
            self.on(tokens, format!("{message}\n\nusage: {usage}"));
        }
    }

    /// What the compiler's own parser would say.
    pub(crate) fn push(&mut self, error: syn::Error) {
        self.all.push(error);
    }

    /// Something is wrong that the compiler says itself: a second sentence about it would be one too many.
    pub(crate) const fn known(&mut self) {
        self.known += 1;
    }

    pub(crate) fn count(&self) -> usize {
        self.all.len() + self.known
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// One `compile_error!` each.
    pub(crate) fn into_tokens(self) -> TokenStream {
        self.all.iter().map(syn::Error::to_compile_error).collect()
    }
}

/// The candidate that `word` was most likely meant to be: a few slips away, or a part of the other.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let limit = (word.chars().count() / 3).max(1) + 1;
    let is_part = |candidate: &str| {
        word.len().min(candidate.len()) >= 4 && (word.contains(candidate) || candidate.contains(&word))
    };
    let candidates: Vec<_> = candidates.into_iter().map(|candidate| (distance(&word, candidate), candidate)).collect();
    let near = candidates.iter().filter(|(distance, candidate)| *distance <= limit && *distance < candidate.len());
    let near = near.min_by_key(|(distance, _)| *distance);
    near.or_else(|| candidates.iter().find(|(_, candidate)| is_part(candidate))).map(|(_, candidate)| *candidate)
}

/// "; did you mean `x`?", or nothing.
pub(crate) fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, candidates).map_or_else(String::new, |found| format!("; did you mean `{found}`?"))
}

/// "`a`, `b` or `c`".
pub(crate) fn one_of(names: &[&str]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// Edits (insert, delete, replace, swap of neighbours) from one word to the other.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_a_far_one_is_not() {
        let keys = ["executor", "retry", "retry_delay", "max_delay"];
        assert_eq!(nearest("exector", keys), Some("executor"));
        assert_eq!(nearest("rtery", keys), Some("retry"));
        assert_eq!(nearest("retry_dealy", keys), Some("retry_delay"));
        assert_eq!(nearest("batch", keys), None);
        assert_eq!(nearest("Retry", keys), Some("retry"));
        assert_eq!(nearest("delay", keys), Some("retry_delay"));
        assert_eq!(nearest("checkpoint_mode", ["checkpoint"]), Some("checkpoint"));
        assert_eq!(distance("versoin", "version"), 1);
    }

    #[test]
    fn lists_read_like_a_sentence() {
        assert_eq!(one_of(&["a"]), "`a`");
        assert_eq!(one_of(&["a", "b", "c"]), "`a`, `b` or `c`");
    }
}
