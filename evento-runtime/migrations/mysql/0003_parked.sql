-- What later events of a consumer queue behind: its unresolved dead letters, by key. A row is gone once its letter is
-- resolved, so that an owner reads what it has to know without the history.
CREATE TABLE IF NOT EXISTS @parked (
    consumer BIGINT         NOT NULL,
    event    BINARY(16)     NOT NULL, -- of @dead_letter
    context  VARBINARY(255) NOT NULL, -- empty for an instance of a saga
    queue    VARBINARY(767) NOT NULL, -- the key, or what a saga calls its instance
    position VARBINARY(255) NOT NULL,
    PRIMARY KEY (consumer, event),
    KEY evento_parked_queue (consumer, context, queue)
) ENGINE = InnoDB;
