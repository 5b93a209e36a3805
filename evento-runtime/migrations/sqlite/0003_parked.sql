-- What later events of a consumer queue behind: its unresolved dead letters, by key. A row is gone once its letter is
-- resolved, so that an owner reads what it has to know without the history.
CREATE TABLE evento_parked (
    consumer INTEGER NOT NULL,
    event    BLOB    NOT NULL, -- of evento_dead_letter
    context  TEXT    NOT NULL, -- empty for an instance of a saga
    queue    TEXT    NOT NULL, -- the key, or what a saga calls its instance
    position BLOB    NOT NULL,
    PRIMARY KEY (consumer, event)
) STRICT, WITHOUT ROWID;
CREATE INDEX evento_parked_queue ON evento_parked (consumer, context, queue);
