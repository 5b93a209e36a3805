-- Ownerships begun since the last one that said it had ended: no row, or one, is the ordinary case.
CREATE TABLE IF NOT EXISTS @ownership (
    consumer BIGINT PRIMARY KEY,
    begun    BIGINT NOT NULL
) ENGINE = InnoDB;

-- Attempts of events that may have been running when a process ended, written before their handlers begin.
CREATE TABLE IF NOT EXISTS @attempt (
    consumer BIGINT         NOT NULL,
    position VARBINARY(255) NOT NULL,
    attempts BIGINT         NOT NULL,
    PRIMARY KEY (consumer, position)
) ENGINE = InnoDB;
