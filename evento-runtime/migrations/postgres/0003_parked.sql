-- What later events of a consumer queue behind: its unresolved dead letters, by key. A row is gone once its letter is
-- resolved, so that an owner reads what it has to know without the history.
CREATE TABLE @parked (
    consumer BIGINT NOT NULL,
    event    BYTEA  NOT NULL, -- of @dead_letter
    context  TEXT   COLLATE "C" NOT NULL, -- empty for an instance of a saga
    queue    TEXT   COLLATE "C" NOT NULL, -- the key, or what a saga calls its instance
    position BYTEA  NOT NULL,
    PRIMARY KEY (consumer, event)
);
CREATE INDEX evento_parked_queue ON @parked (consumer, context, queue);
