-- Up to which position events may be gone from the log. Whoever prunes holds the row until the commit.
INSERT INTO evento_meta (name, value) VALUES ('pruned', '0');
