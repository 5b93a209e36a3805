-- What operators ask for, who asked, and which instances are there. Times are microseconds since 1970.

-- For whichever instance owns the consumer.
CREATE TABLE evento_command (
    id          BLOB    PRIMARY KEY NOT NULL CHECK (length(id) = 16),
    consumer    INTEGER NOT NULL,
    body        TEXT    NOT NULL, -- JSON
    asked_at    INTEGER NOT NULL,
    done        INTEGER,          -- whether it was carried out; absent: not answered yet
    answer      TEXT,
    answered_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX evento_command_open ON evento_command (consumer) WHERE done IS NULL;

CREATE TABLE evento_audit (
    id     BLOB    PRIMARY KEY NOT NULL CHECK (length(id) = 16),
    bundle TEXT    NOT NULL,
    at     INTEGER NOT NULL,
    who    TEXT    NOT NULL,
    origin TEXT    NOT NULL,
    action TEXT    NOT NULL,
    target TEXT    NOT NULL,
    detail TEXT    NOT NULL, -- JSON
    result TEXT    NOT NULL  -- empty: nobody knows yet
) STRICT, WITHOUT ROWID;
CREATE INDEX evento_audit_order ON evento_audit (bundle, id);

CREATE TABLE evento_instance (
    bundle     TEXT    NOT NULL,
    owner      BLOB    NOT NULL,
    name       TEXT    NOT NULL,
    started_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL, -- by the clock of the database
    figures    TEXT    NOT NULL, -- JSON
    PRIMARY KEY (bundle, owner)
) STRICT, WITHOUT ROWID;
