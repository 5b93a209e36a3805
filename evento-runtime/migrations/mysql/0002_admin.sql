-- What operators ask for, who asked, and which instances are there. Times are microseconds since 1970.

-- For whichever instance owns the consumer.
CREATE TABLE IF NOT EXISTS @command (
    id          BINARY(16) NOT NULL PRIMARY KEY,
    consumer    BIGINT     NOT NULL,
    body        MEDIUMBLOB NOT NULL, -- JSON
    asked_at    BIGINT     NOT NULL,
    done        BIGINT,              -- whether it was carried out; absent: not answered yet
    answer      MEDIUMBLOB,
    answered_at BIGINT,
    KEY evento_command_open (done, consumer)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS @audit (
    id       BINARY(16)     NOT NULL PRIMARY KEY,
    bundle   VARBINARY(255) NOT NULL,
    at       BIGINT         NOT NULL,
    who      MEDIUMBLOB     NOT NULL,
    origin   MEDIUMBLOB     NOT NULL,
    `action` MEDIUMBLOB     NOT NULL,
    target   MEDIUMBLOB     NOT NULL,
    detail   MEDIUMBLOB     NOT NULL, -- JSON
    result   MEDIUMBLOB     NOT NULL, -- empty: nobody knows yet
    KEY evento_audit_order (bundle, id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS @instance (
    bundle     VARBINARY(255) NOT NULL,
    owner      BINARY(16)     NOT NULL,
    name       MEDIUMBLOB     NOT NULL,
    started_at BIGINT         NOT NULL,
    seen_at    BIGINT         NOT NULL, -- by the clock of the database
    figures    MEDIUMBLOB     NOT NULL, -- JSON
    PRIMARY KEY (bundle, owner)
) ENGINE = InnoDB;
