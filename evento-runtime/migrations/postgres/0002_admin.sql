-- What operators ask for, who asked, and which instances are there. Times are microseconds since 1970.

-- For whichever instance owns the consumer.
CREATE TABLE @command (
    id          BYTEA  PRIMARY KEY CHECK (length(id) = 16),
    consumer    BIGINT NOT NULL,
    body        TEXT   NOT NULL, -- JSON
    asked_at    BIGINT NOT NULL,
    done        BIGINT,          -- whether it was carried out; absent: not answered yet
    answer      TEXT,
    answered_at BIGINT
);
CREATE INDEX evento_command_open ON @command (consumer) WHERE done IS NULL;

CREATE TABLE @audit (
    id     BYTEA  PRIMARY KEY CHECK (length(id) = 16),
    bundle TEXT   COLLATE "C" NOT NULL,
    at     BIGINT NOT NULL,
    who    TEXT   NOT NULL,
    origin TEXT   NOT NULL,
    action TEXT   NOT NULL,
    target TEXT   NOT NULL,
    detail TEXT   NOT NULL, -- JSON
    result TEXT   NOT NULL  -- empty: nobody knows yet
);
CREATE INDEX evento_audit_order ON @audit (bundle, id);

CREATE TABLE @instance (
    bundle     TEXT   COLLATE "C" NOT NULL,
    owner      BYTEA  NOT NULL,
    name       TEXT   NOT NULL,
    started_at BIGINT NOT NULL,
    seen_at    BIGINT NOT NULL, -- by the clock of the database
    figures    TEXT   NOT NULL, -- JSON
    PRIMARY KEY (bundle, owner)
);
