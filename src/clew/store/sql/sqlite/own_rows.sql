-- rows_last: the highest dense row that was ever given out, of each table
SELECT name, seq FROM sqlite_sequence

-- counter_moved: whether a counter of the org, or of the whole store, ever moved; for IN, SQLite would build a table
SELECT EXISTS (SELECT 1 FROM counters WHERE org_id = '' AND name = :name AND value <> 0)
  OR EXISTS (SELECT 1 FROM counters WHERE org_id = :org_id AND name = :name AND value <> 0)
