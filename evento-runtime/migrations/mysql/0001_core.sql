-- The log, and what the engines keep beside it. `@` stands for the prefix of the names. Keys are compared byte by byte,
-- so they are bytes. Definitions commit by themselves here: each can be run again.

CREATE TABLE IF NOT EXISTS @meta (
    name  VARBINARY(64)  PRIMARY KEY,
    value VARBINARY(255) NOT NULL
) ENGINE = InnoDB;

-- One row: the last position given out. Whoever appends holds it until the commit.
CREATE TABLE IF NOT EXISTS @counter (
    id       BIGINT PRIMARY KEY,
    position BIGINT NOT NULL
) ENGINE = InnoDB;
INSERT IGNORE INTO @counter (id, position) VALUES (1, 0);

CREATE TABLE IF NOT EXISTS @event (
    position     BIGINT PRIMARY KEY,
    id           BINARY(16)     NOT NULL,
    name         VARBINARY(100) NOT NULL,
    context      VARBINARY(255) NOT NULL,
    `key`        VARBINARY(255),
    version      BIGINT,
    slice        BIGINT         NOT NULL,
    recorded_at  BIGINT         NOT NULL, -- microseconds since 1970
    content_type VARBINARY(255) NOT NULL,
    metadata     MEDIUMBLOB,              -- a JSON object; absent for none
    payload      LONGBLOB       NOT NULL,
    UNIQUE KEY evento_event_id (id),
    UNIQUE KEY evento_event_stream (context, `key`, version)
) ENGINE = InnoDB;

-- Never deleted: its integer stands for the consumer everywhere below.
CREATE TABLE IF NOT EXISTS @consumer (
    id        BIGINT PRIMARY KEY AUTO_INCREMENT,
    bundle    VARBINARY(100) NOT NULL,
    component VARBINARY(100) NOT NULL,
    version   BIGINT         NOT NULL,
    context   VARBINARY(256) NOT NULL, -- the pattern: '*', 'tenant-*' or a whole context
    UNIQUE KEY evento_consumer_name (bundle, component, version, context)
) ENGINE = InnoDB;

-- Who owns a consumer and until when, by the clock of the database. Renewed, never locked by handlers.
CREATE TABLE IF NOT EXISTS @lease (
    consumer   BIGINT PRIMARY KEY,
    owner      BINARY(16),       -- absent: free
    epoch      BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,  -- microseconds since 1970
    KEY evento_lease_owner (owner)
) ENGINE = InnoDB;

-- The highest epoch seen. Locked in share mode by every write for a consumer, changed at a takeover only.
CREATE TABLE IF NOT EXISTS @fence (
    consumer BIGINT PRIMARY KEY,
    epoch    BIGINT NOT NULL
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS @checkpoint (
    consumer  BIGINT PRIMARY KEY,
    epoch     BIGINT NOT NULL DEFAULT 0,
    watermark VARBINARY(255),    -- positions as their sources write them
    reach     VARBINARY(255),
    `open`    LONGBLOB,          -- absent: no checkpoint was stored yet
    enabled   BIGINT NOT NULL DEFAULT 1,
    started   BIGINT NOT NULL DEFAULT 0,
    resetting BIGINT NOT NULL DEFAULT 0, -- to be emptied before the next event
    replay_to VARBINARY(255),    -- up to there events were passed before
    errors    LONGBLOB           -- JSON
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS @dead_letter (
    consumer        BIGINT         NOT NULL,
    position        VARBINARY(255) NOT NULL,
    event           BINARY(16)     NOT NULL,
    name            VARBINARY(255) NOT NULL,
    context         VARBINARY(255) NOT NULL,
    `key`           VARBINARY(255),
    version         BIGINT,
    recorded_at     BIGINT         NOT NULL,
    content_type    VARBINARY(255) NOT NULL,
    metadata        MEDIUMBLOB,
    payload         LONGBLOB       NOT NULL,
    handler         MEDIUMBLOB     NOT NULL,
    class           VARBINARY(32)  NOT NULL,
    error           MEDIUMBLOB     NOT NULL,
    attempts        BIGINT         NOT NULL,
    first_failed_at BIGINT         NOT NULL,
    last_failed_at  BIGINT         NOT NULL,
    requested       BIGINT         NOT NULL DEFAULT 0, -- to be tried again
    resolved_at     BIGINT,                            -- handled after all; kept as history
    PRIMARY KEY (consumer, event),
    KEY evento_dead_letter_order (consumer, position, event),
    KEY evento_dead_letter_requested (requested, consumer)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS @saga (
    consumer BIGINT         NOT NULL,
    id       BINARY(16)     NOT NULL,
    state    LONGBLOB       NOT NULL, -- as serde wrote it; emptied with the end
    applied  VARBINARY(255) NOT NULL, -- the last event's position
    ended_at BIGINT,                  -- microseconds since 1970, by the clock of the database; absent: it lives
    PRIMARY KEY (consumer, id),
    KEY evento_saga_ended (ended_at)
) ENGINE = InnoDB;

-- What live instances are found by: no two of a consumer by the same.
CREATE TABLE IF NOT EXISTS @saga_association (
    consumer BIGINT         NOT NULL,
    property VARBINARY(255) NOT NULL,
    value    VARBINARY(255) NOT NULL,
    saga     BINARY(16)     NOT NULL,
    PRIMARY KEY (consumer, property, value),
    KEY evento_saga_association_of (consumer, saga)
) ENGINE = InnoDB;

-- Events to be appended later. A row is gone once its event is appended, or its instance has ended.
CREATE TABLE IF NOT EXISTS @saga_timer (
    consumer     BIGINT         NOT NULL,
    event        BINARY(16)     NOT NULL,
    saga         BINARY(16)     NOT NULL,
    due_at       BIGINT         NOT NULL, -- microseconds since 1970, by the clock of the owner
    name         VARBINARY(100) NOT NULL,
    context      VARBINARY(255) NOT NULL,
    `key`        VARBINARY(255),
    content_type VARBINARY(255) NOT NULL,
    metadata     MEDIUMBLOB,
    payload      LONGBLOB       NOT NULL,
    PRIMARY KEY (consumer, event),
    KEY evento_saga_timer_due (consumer, due_at, event),
    KEY evento_saga_timer_of (consumer, saga)
) ENGINE = InnoDB;

-- Which events an observer has begun to handle, and which it has handled.
CREATE TABLE IF NOT EXISTS @claim (
    consumer BIGINT     NOT NULL,
    event    BINARY(16) NOT NULL,
    owner    BINARY(16) NOT NULL,
    done     BIGINT     NOT NULL,
    ends_at  BIGINT     NOT NULL, -- held until then, or done since then, by the clock of the database
    PRIMARY KEY (consumer, event),
    KEY evento_claim_ends (ends_at)
) ENGINE = InnoDB;

-- Positions of events that were handled in transactions, until the checkpoint covers them.
CREATE TABLE IF NOT EXISTS @completion (
    consumer BIGINT         NOT NULL,
    position VARBINARY(255) NOT NULL,
    PRIMARY KEY (consumer, position)
) ENGINE = InnoDB;
