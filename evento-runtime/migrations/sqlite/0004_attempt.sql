-- Ownerships begun since the last one that said it had ended: no row, or one, is the ordinary case.
CREATE TABLE evento_ownership (
    consumer INTEGER PRIMARY KEY,
    begun    INTEGER NOT NULL
) STRICT;

-- Attempts of events that may have been running when a process ended, written before their handlers begin.
CREATE TABLE evento_attempt (
    consumer INTEGER NOT NULL,
    position BLOB    NOT NULL,
    attempts INTEGER NOT NULL,
    PRIMARY KEY (consumer, position)
) STRICT, WITHOUT ROWID;
