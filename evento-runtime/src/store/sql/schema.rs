//! Which schema a store can work with.

use crate::error::StoreErrorKind;

/// Judges the schema that was found: with how many of the `known` migrations. `create`: what is missing will be made.
pub(crate) fn check(found: usize, known: usize, create: bool) -> Result<(), (StoreErrorKind, String)> {
    if found > known {
        return Err((StoreErrorKind::NewerSchema, format!("schema {found}, this version knows {known}")));
    }
    if create || found == known {
        return Ok(());
    }
    Err(match found {
        0 => (StoreErrorKind::Missing, "it has no tables of evento, and none are to be made".to_owned()),
        _ => (StoreErrorKind::OlderSchema, format!("schema {found}, this version needs {known}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_to_be_made_has_to_be_there() {
        let kind = |found, create| check(found, 4, create).err().map(|(kind, _)| kind);
        assert_eq!([kind(0, true), kind(3, true), kind(4, true), kind(4, false)], [None; 4]);
        assert_eq!(kind(5, true), Some(StoreErrorKind::NewerSchema));
        assert_eq!(kind(5, false), Some(StoreErrorKind::NewerSchema));
        assert_eq!(kind(3, false), Some(StoreErrorKind::OlderSchema));
        assert_eq!(kind(0, false), Some(StoreErrorKind::Missing));
    }
}
