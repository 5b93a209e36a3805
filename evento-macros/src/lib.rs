//! The attributes of evento. Their documentation is in `evento_runtime`, which re-exports them.
