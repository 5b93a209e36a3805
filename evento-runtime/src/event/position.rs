//! Where an event stands in its source.

use std::fmt;
use std::sync::Arc;

/// A place in a source: opaque bytes, ordered as bytes are, at most 255 of them.
///
/// There is no arithmetic on positions: sources may be sparse, and only "before" and "after" have a meaning.
/// SQL stores use eight bytes, big endian.
#[derive(Clone)]
pub struct Position(Repr);

const INLINE: usize = 22;

#[derive(Clone)]
enum Repr {
    Inline { len: u8, bytes: [u8; INLINE] },
    Shared(Arc<[u8]>),
}

/// A position of more than 255 bytes.
#[derive(Debug, thiserror::Error)]
#[error("a position has at most 255 bytes, this one has {0}")]
pub struct PositionTooLong(pub usize);

impl Position {
    /// Takes the bytes as they are.
    ///
    /// # Errors
    /// More than 255 bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PositionTooLong> {
        let len = u8::try_from(bytes.len()).map_err(|_| PositionTooLong(bytes.len()))?;
        if bytes.len() > INLINE {
            return Ok(Self(Repr::Shared(bytes.into())));
        }
        let mut inline = [0; INLINE];
        inline[..bytes.len()].copy_from_slice(bytes);
        Ok(Self(Repr::Inline { len, bytes: inline }))
    }

    /// The eight-byte form SQL stores use.
    #[must_use]
    pub fn from_u64(number: u64) -> Self {
        let mut bytes = [0; INLINE];
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        Self(Repr::Inline { len: 8, bytes })
    }

    /// The number, where the position is one of eight bytes.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        self.as_bytes().try_into().ok().map(u64::from_be_bytes)
    }

    /// For people and addresses: a number where it is one, else the bytes as `0x` and hexadecimal digits.
    #[must_use]
    pub fn to_text(&self) -> String {
        if self.as_u64().is_some() { self.to_string() } else { format!("0x{self}") }
    }

    /// Reads [`to_text`](Self::to_text). `None`: it is none.
    #[must_use]
    pub fn of_text(text: &str) -> Option<Self> {
        let Some(digits) = text.strip_prefix("0x") else {
            return text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok().map(Self::from_u64))?;
        };
        let nibble = |digit: u8| char::from(digit).to_digit(16).and_then(|nibble| u8::try_from(nibble).ok());
        let pair = |pair: &[u8]| match pair {
            [high, low] => Some(nibble(*high)? << 4 | nibble(*low)?),
            _ => None,
        };
        let bytes: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(pair).collect();
        Self::from_bytes(&bytes?).ok()
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline { len, bytes } => &bytes[..usize::from(*len)],
            Repr::Shared(bytes) => bytes,
        }
    }
}

impl PartialEq for Position {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}
impl Eq for Position {}
impl PartialOrd for Position {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Position {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}
impl std::hash::Hash for Position {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

/// A number where it is one, hexadecimal otherwise.
impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_u64() {
            Some(number) => fmt::Display::fmt(&number, f),
            None => self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}")),
        }
    }
}

impl fmt::Debug for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Position({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn orders_as_its_bytes(a in proptest::collection::vec(any::<u8>(), 0..40), b in proptest::collection::vec(any::<u8>(), 0..40)) {
            let (x, y) = (Position::from_bytes(&a).unwrap(), Position::from_bytes(&b).unwrap());
            prop_assert_eq!(x.cmp(&y), a.cmp(&b));
            prop_assert_eq!(x.as_bytes(), &a[..]);
        }

        #[test]
        fn what_was_written_is_read(bytes in proptest::collection::vec(any::<u8>(), 0..40), text in ".*") {
            let position = Position::from_bytes(&bytes).unwrap();
            prop_assert_eq!(Position::of_text(&position.to_text()), Some(position));
            // Whatever somebody types in.
            let _ = Position::of_text(&text);
        }

        #[test]
        fn numbers_keep_their_order(a: u64, b: u64) {
            prop_assert_eq!(Position::from_u64(a).cmp(&Position::from_u64(b)), a.cmp(&b));
            prop_assert_eq!(Position::from_u64(a).as_u64(), Some(a));
        }
    }

    #[test]
    fn refuses_what_no_store_could_keep() {
        assert!(Position::from_bytes(&[0; 255]).is_ok());
        assert!(Position::from_bytes(&[0; 256]).is_err());
    }
}
