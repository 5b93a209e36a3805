-- The log, and what the engines keep beside it. `@` stands for the schema. Text is compared byte by byte.

CREATE TABLE @meta (
    name  TEXT COLLATE "C" PRIMARY KEY,
    value TEXT COLLATE "C" NOT NULL
);

-- CACHE 1: a number is given out after all lower ones were, which is what holes are judged by.
CREATE SEQUENCE @position AS BIGINT CACHE 1;

CREATE TABLE @event (
    position     BIGINT PRIMARY KEY,
    id           BYTEA  NOT NULL CHECK (length(id) = 16),
    name         TEXT   COLLATE "C" NOT NULL,
    context      TEXT   COLLATE "C" NOT NULL,
    key          TEXT   COLLATE "C",
    version      BIGINT CHECK ((key IS NULL) = (version IS NULL)),
    slice        BIGINT NOT NULL,
    recorded_at  BIGINT NOT NULL, -- microseconds since 1970
    content_type TEXT   COLLATE "C" NOT NULL,
    metadata     BYTEA,           -- a JSON object; absent for none
    payload      BYTEA  NOT NULL
);
CREATE UNIQUE INDEX evento_event_id ON @event (id);
CREATE UNIQUE INDEX evento_event_stream ON @event (context, key, version) WHERE key IS NOT NULL;

-- Never deleted: its integer stands for the consumer everywhere below.
CREATE TABLE @consumer (
    id        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    bundle    TEXT   COLLATE "C" NOT NULL,
    component TEXT   COLLATE "C" NOT NULL,
    version   BIGINT NOT NULL,
    context   TEXT   COLLATE "C" NOT NULL, -- the pattern: '*', 'tenant-*' or a whole context
    UNIQUE (bundle, component, version, context)
);

-- Who owns a consumer and until when, by the clock of the database. Renewed, never locked by handlers.
CREATE TABLE @lease (
    consumer   BIGINT PRIMARY KEY,
    owner      BYTEA,            -- absent: free
    epoch      BIGINT NOT NULL,
    expires_at BIGINT NOT NULL   -- microseconds since 1970
);
CREATE INDEX evento_lease_owner ON @lease (owner) WHERE owner IS NOT NULL;

-- The highest epoch seen. Locked in share mode by every write for a consumer, changed at a takeover only.
CREATE TABLE @fence (
    consumer BIGINT PRIMARY KEY,
    epoch    BIGINT NOT NULL
);

CREATE TABLE @checkpoint (
    consumer  BIGINT PRIMARY KEY,
    epoch     BIGINT NOT NULL DEFAULT 0,
    watermark BYTEA,   -- positions as their sources write them
    reach     BYTEA,
    open      BYTEA,   -- absent: no checkpoint was stored yet
    enabled   BIGINT NOT NULL DEFAULT 1,
    started   BIGINT NOT NULL DEFAULT 0,
    resetting BIGINT NOT NULL DEFAULT 0, -- to be emptied before the next event
    replay_to BYTEA,   -- up to there events were passed before
    errors    TEXT     -- JSON
) WITH (fillfactor = 50);

CREATE TABLE @dead_letter (
    consumer        BIGINT NOT NULL,
    position        BYTEA  NOT NULL,
    event           BYTEA  NOT NULL,
    name            TEXT   COLLATE "C" NOT NULL,
    context         TEXT   COLLATE "C" NOT NULL,
    key             TEXT   COLLATE "C",
    version         BIGINT,
    recorded_at     BIGINT NOT NULL,
    content_type    TEXT   COLLATE "C" NOT NULL,
    metadata        BYTEA,
    payload         BYTEA  NOT NULL,
    handler         TEXT   NOT NULL,
    class           TEXT   NOT NULL,
    error           TEXT   NOT NULL,
    attempts        BIGINT NOT NULL,
    first_failed_at BIGINT NOT NULL,
    last_failed_at  BIGINT NOT NULL,
    requested       BIGINT NOT NULL DEFAULT 0, -- to be tried again
    resolved_at     BIGINT,                    -- handled after all; kept as history
    PRIMARY KEY (consumer, event)
);
CREATE INDEX evento_dead_letter_order ON @dead_letter (consumer, position, event);
CREATE INDEX evento_dead_letter_requested ON @dead_letter (consumer) WHERE requested = 1;

CREATE TABLE @saga (
    consumer BIGINT NOT NULL,
    id       BYTEA  NOT NULL,
    state    BYTEA  NOT NULL, -- as serde wrote it; emptied with the end
    applied  BYTEA  NOT NULL, -- the last event's position
    ended_at BIGINT,          -- microseconds since 1970, by the clock of the database; absent: it lives
    PRIMARY KEY (consumer, id)
);
CREATE INDEX evento_saga_ended ON @saga (ended_at) WHERE ended_at IS NOT NULL;

-- What live instances are found by: no two of a consumer by the same.
CREATE TABLE @saga_association (
    consumer BIGINT NOT NULL,
    property TEXT   COLLATE "C" NOT NULL,
    value    TEXT   COLLATE "C" NOT NULL,
    saga     BYTEA  NOT NULL,
    PRIMARY KEY (consumer, property, value)
);
CREATE INDEX evento_saga_association_of ON @saga_association (consumer, saga);

-- Events to be appended later. A row is gone once its event is appended, or its instance has ended.
CREATE TABLE @saga_timer (
    consumer     BIGINT NOT NULL,
    event        BYTEA  NOT NULL,
    saga         BYTEA  NOT NULL,
    due_at       BIGINT NOT NULL, -- microseconds since 1970, by the clock of the owner
    name         TEXT   COLLATE "C" NOT NULL,
    context      TEXT   COLLATE "C" NOT NULL,
    key          TEXT   COLLATE "C",
    content_type TEXT   COLLATE "C" NOT NULL,
    metadata     BYTEA,
    payload      BYTEA  NOT NULL,
    PRIMARY KEY (consumer, event)
);
CREATE INDEX evento_saga_timer_due ON @saga_timer (consumer, due_at, event);
CREATE INDEX evento_saga_timer_of ON @saga_timer (consumer, saga);

-- Which events an observer has begun to handle, and which it has handled.
CREATE TABLE @claim (
    consumer BIGINT NOT NULL,
    event    BYTEA  NOT NULL,
    owner    BYTEA  NOT NULL,
    done     BIGINT NOT NULL,
    ends_at  BIGINT NOT NULL, -- held until then, or done since then, by the clock of the database
    PRIMARY KEY (consumer, event)
);
CREATE INDEX evento_claim_ends ON @claim (ends_at);

-- Positions of events that were handled in transactions, until the checkpoint covers them.
CREATE TABLE @completion (
    consumer BIGINT NOT NULL,
    position BYTEA  NOT NULL,
    PRIMARY KEY (consumer, position)
);
