//! The three kinds of components, as far as attributes differ by them.

use crate::args::{self, Key};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Projector,
    Saga,
    Observer,
}

impl Kind {
    /// As its attribute, the function for it and its option of a free function are called.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Projector => "projector",
            Self::Saga => "saga",
            Self::Observer => "observer",
        }
    }

    pub(crate) const fn attribute(self) -> &'static str {
        match self {
            Self::Projector => "#[projector]",
            Self::Saga => "#[saga]",
            Self::Observer => "#[observer]",
        }
    }

    /// The attribute of its handlers.
    pub(super) const fn handler(self) -> &'static str {
        match self {
            Self::Saga => "#[saga_event_handler]",
            Self::Projector | Self::Observer => "#[event_handler]",
        }
    }

    /// What is implemented for a unit struct that free functions may join.
    pub(crate) const fn open(self) -> &'static str {
        match self {
            Self::Projector => "OpenProjector",
            Self::Saga => "OpenSaga",
            Self::Observer => "OpenObserver",
        }
    }

    pub(super) const fn keys(self) -> &'static [Key] {
        match self {
            Self::Projector => args::PROJECTOR,
            Self::Saga => args::SAGA,
            Self::Observer => args::OBSERVER,
        }
    }

    /// Why it cannot have an `#[on_reset]` hook.
    pub(super) const fn no_reset(self) -> Option<&'static str> {
        match self {
            Self::Projector => None,
            Self::Saga => Some(args::NO_RESET_OF_SAGA),
            Self::Observer => Some(args::NO_RESET_OF_OBSERVER),
        }
    }
}
