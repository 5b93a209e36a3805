//! How far a consumer has come, and the bytes that say so.

use crate::event::Position;

/// Everything at or below `watermark` is covered; between it and `reach` everything is but what is `open`.
/// After a crash exactly the open positions and what lies above the reach run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Checkpoint {
    /// `None`: nothing is covered from the beginning on.
    pub watermark: Option<Position>,
    /// The highest position started, or the watermark if that is higher.
    pub reach: Option<Position>,
    /// Ascending; all above the watermark and at or below the reach.
    pub open: Vec<Position>,
}

/// Why bytes are not a list of open positions.
#[derive(Debug, thiserror::Error)]
#[error("stored open positions are damaged at byte {0}")]
pub struct CheckpointEncoding(usize);

impl Checkpoint {
    /// The open positions as bytes: for each, how many leading bytes it shares with the one before, how many
    /// follow, and those. Ascending positions of one source share most of theirs.
    #[must_use]
    pub fn encode_open(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.open.len() * 4);
        let mut before: &[u8] = &[];
        for position in &self.open {
            let this = position.as_bytes();
            let shared = this.iter().zip(before).take_while(|(a, b)| a == b).count();
            // Both fit: a position has at most 255 bytes.
            bytes.push(u8::try_from(shared).unwrap_or(u8::MAX));
            bytes.push(u8::try_from(this.len() - shared).unwrap_or(u8::MAX));
            bytes.extend_from_slice(&this[shared..]);
            before = this;
        }
        bytes
    }

    /// Reads what [`encode_open`](Self::encode_open) wrote.
    ///
    /// # Errors
    /// The bytes were not written by it.
    pub fn decode_open(bytes: &[u8]) -> Result<Vec<Position>, CheckpointEncoding> {
        let mut open: Vec<Position> = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let damaged = || CheckpointEncoding(at);
            let shared = usize::from(bytes[at]);
            let rest = usize::from(*bytes.get(at + 1).ok_or_else(damaged)?);
            let tail = bytes.get(at + 2..at + 2 + rest).ok_or_else(damaged)?;
            let before = open.last().map_or(&[][..], Position::as_bytes);
            let head = before.get(..shared).ok_or_else(damaged)?;
            let position = Position::from_bytes(&[head, tail].concat()).map_err(|_| damaged())?;
            if open.last().is_some_and(|last| *last >= position) {
                return Err(damaged());
            }
            open.push(position);
            at += 2 + rest;
        }
        Ok(open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn open_positions_survive_their_encoding(raw in proptest::collection::btree_set(proptest::collection::vec(any::<u8>(), 1..12), 0..200)) {
            let open: Vec<_> = raw.iter().map(|bytes| Position::from_bytes(bytes).unwrap()).collect();
            let checkpoint = Checkpoint { watermark: None, reach: None, open: open.clone() };
            prop_assert_eq!(Checkpoint::decode_open(&checkpoint.encode_open()).unwrap(), open);
        }

        /// A full window of any size, with neighbours and with gaps over every byte.
        #[test]
        fn a_window_of_any_size_survives_its_encoding(
            bits in 0_u32..15,
            off in -1_i64..2,
            gaps in proptest::collection::vec(prop_oneof![1_u64..3, 254_u64..258, Just(1 << 32), 1_u64..(1 << 48)], 1..8),
        ) {
            let size = (1_i64 << bits).saturating_add(off).clamp(1, 16_384);
            let steps = gaps.iter().cycle().take(usize::try_from(size).unwrap());
            let open: Vec<_> = steps.scan(0_u64, |at, gap| { *at += gap; Some(Position::from_u64(*at)) }).collect();
            let checkpoint = Checkpoint { watermark: None, reach: open.last().cloned(), open: open.clone() };
            prop_assert_eq!(Checkpoint::decode_open(&checkpoint.encode_open()).unwrap(), open);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(open) = Checkpoint::decode_open(&bytes) {
                prop_assert!(open.windows(2).all(|pair| pair[0] < pair[1]));
            }
        }
    }

    #[test]
    fn neighbours_cost_three_bytes() {
        let open = (1_000_000..1_001_024).map(Position::from_u64).collect();
        let checkpoint = Checkpoint { watermark: None, reach: None, open };
        assert!(checkpoint.encode_open().len() < 1_024 * 3 + 32);
    }
}
