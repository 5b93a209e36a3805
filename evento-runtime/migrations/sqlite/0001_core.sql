-- The log, and what the engines keep beside it. Text is compared byte by byte (BINARY, the default).

CREATE TABLE evento_meta (
    name  TEXT PRIMARY KEY NOT NULL,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- AUTOINCREMENT: a position is never used again, not even after the last rows were deleted.
-- What a scan filters by stands before the payload, which may spill into further pages.
CREATE TABLE evento_event (
    position     INTEGER PRIMARY KEY AUTOINCREMENT,
    id           BLOB    NOT NULL CHECK (length(id) = 16),
    name         TEXT    NOT NULL,
    context      TEXT    NOT NULL,
    key          TEXT,
    version      INTEGER CHECK ((key IS NULL) = (version IS NULL)),
    slice        INTEGER NOT NULL,
    recorded_at  INTEGER NOT NULL, -- microseconds since 1970
    content_type TEXT    NOT NULL,
    metadata     BLOB,             -- a JSON object; absent for none
    payload      BLOB    NOT NULL
) STRICT;
CREATE UNIQUE INDEX evento_event_id ON evento_event (id);
CREATE UNIQUE INDEX evento_event_stream ON evento_event (context, key, version) WHERE key IS NOT NULL;

-- Never deleted: its integer stands for the consumer everywhere below.
CREATE TABLE evento_consumer (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    bundle    TEXT    NOT NULL,
    component TEXT    NOT NULL,
    version   INTEGER NOT NULL,
    context   TEXT    NOT NULL, -- the pattern: '*', 'tenant-*' or a whole context
    UNIQUE (bundle, component, version, context)
) STRICT;

-- Who owns a consumer and until when, by the clock of the database.
CREATE TABLE evento_lease (
    consumer   INTEGER PRIMARY KEY,
    owner      BLOB,             -- absent: free
    epoch      INTEGER NOT NULL,
    expires_at INTEGER NOT NULL  -- milliseconds since 1970
) STRICT;
CREATE INDEX evento_lease_owner ON evento_lease (owner) WHERE owner IS NOT NULL;

-- The highest epoch seen: every write for a consumer names its epoch and is refused below this one.
CREATE TABLE evento_fence (
    consumer INTEGER PRIMARY KEY,
    epoch    INTEGER NOT NULL
) STRICT;

CREATE TABLE evento_checkpoint (
    consumer  INTEGER PRIMARY KEY,
    epoch     INTEGER NOT NULL DEFAULT 0,
    watermark BLOB,    -- positions as their sources write them
    reach     BLOB,
    open      BLOB,    -- absent: no checkpoint was stored yet
    enabled   INTEGER NOT NULL DEFAULT 1,
    started   INTEGER NOT NULL DEFAULT 0,
    resetting INTEGER NOT NULL DEFAULT 0, -- to be emptied before the next event
    replay_to BLOB,    -- up to there events were passed before
    errors    TEXT     -- JSON
) STRICT;

CREATE TABLE evento_dead_letter (
    consumer        INTEGER NOT NULL,
    position        BLOB    NOT NULL,
    event           BLOB    NOT NULL,
    name            TEXT    NOT NULL,
    context         TEXT    NOT NULL,
    key             TEXT,
    version         INTEGER,
    recorded_at     INTEGER NOT NULL,
    content_type    TEXT    NOT NULL,
    metadata        BLOB,
    payload         BLOB    NOT NULL,
    handler         TEXT    NOT NULL,
    class           TEXT    NOT NULL,
    error           TEXT    NOT NULL,
    attempts        INTEGER NOT NULL,
    first_failed_at INTEGER NOT NULL,
    last_failed_at  INTEGER NOT NULL,
    requested       INTEGER NOT NULL DEFAULT 0, -- to be tried again
    resolved_at     INTEGER,                    -- handled after all; kept as history
    UNIQUE (consumer, event)
) STRICT;
CREATE INDEX evento_dead_letter_order ON evento_dead_letter (consumer, position, event);
CREATE INDEX evento_dead_letter_requested ON evento_dead_letter (consumer) WHERE requested = 1;

CREATE TABLE evento_saga (
    consumer INTEGER NOT NULL,
    id       BLOB    NOT NULL,
    state    BLOB    NOT NULL, -- as serde wrote it; emptied with the end
    applied  BLOB    NOT NULL, -- the last event's position
    ended_at INTEGER,          -- microseconds since 1970, by the clock of the database; absent: it lives
    UNIQUE (consumer, id)
) STRICT;
CREATE INDEX evento_saga_ended ON evento_saga (ended_at) WHERE ended_at IS NOT NULL;

-- What live instances are found by: no two of a consumer by the same.
CREATE TABLE evento_saga_association (
    consumer INTEGER NOT NULL,
    property TEXT    NOT NULL,
    value    TEXT    NOT NULL,
    saga     BLOB    NOT NULL,
    PRIMARY KEY (consumer, property, value)
) STRICT, WITHOUT ROWID;
CREATE INDEX evento_saga_association_of ON evento_saga_association (consumer, saga);

-- Events to be appended later. A row is gone once its event is appended, or its instance has ended.
CREATE TABLE evento_saga_timer (
    consumer     INTEGER NOT NULL,
    event        BLOB    NOT NULL,
    saga         BLOB    NOT NULL,
    due_at       INTEGER NOT NULL, -- microseconds since 1970, by the clock of the owner
    name         TEXT    NOT NULL,
    context      TEXT    NOT NULL,
    key          TEXT,
    content_type TEXT    NOT NULL,
    metadata     BLOB,
    payload      BLOB    NOT NULL,
    UNIQUE (consumer, event)
) STRICT;
CREATE INDEX evento_saga_timer_due ON evento_saga_timer (consumer, due_at, event);
CREATE INDEX evento_saga_timer_of ON evento_saga_timer (consumer, saga);

-- Which events an observer has begun to handle, and which it has handled.
CREATE TABLE evento_claim (
    consumer INTEGER NOT NULL,
    event    BLOB    NOT NULL,
    owner    BLOB    NOT NULL,
    done     INTEGER NOT NULL,
    ends_at  INTEGER NOT NULL, -- held until then, or done since then, by the clock of the database
    PRIMARY KEY (consumer, event)
) STRICT, WITHOUT ROWID;
CREATE INDEX evento_claim_ends ON evento_claim (ends_at);

-- Positions of events that were handled in transactions, until the checkpoint covers them.
CREATE TABLE evento_completion (
    consumer INTEGER NOT NULL,
    position BLOB    NOT NULL,
    PRIMARY KEY (consumer, position)
) STRICT, WITHOUT ROWID;
