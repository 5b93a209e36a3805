-- Ownerships begun since the last one that said it had ended: no row, or one, is the ordinary case.
CREATE TABLE @ownership (
    consumer BIGINT PRIMARY KEY,
    begun    BIGINT NOT NULL
);

-- Attempts of events that may have been running when a process ended, written before their handlers begin.
CREATE TABLE @attempt (
    consumer BIGINT NOT NULL,
    position BYTEA  NOT NULL,
    attempts BIGINT NOT NULL,
    PRIMARY KEY (consumer, position)
);
