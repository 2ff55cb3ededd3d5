-- fts_insert: index the terms of a memory. The index is one for all orgs, and their names are among the terms; an org
-- is never NULL. Not INSERT ... SELECT: FTS5 would flush what it gathered at each
INSERT INTO memory_fts (rowid, terms) VALUES (:row, iif(:org_id IS NULL, NULL, :terms))

-- fts_delete: take exactly these terms of a memory out of the index
INSERT INTO memory_fts (memory_fts, rowid, terms) VALUES ('delete', :row, iif(:org_id IS NULL, NULL, :terms))

-- fts_match: rows that have a term and one of the terms of their place, which name the org
SELECT rowid FROM memory_fts (
  '(' || (SELECT group_concat(value, ' OR ') FROM json_each(:scopes)) || ') AND ' || :term
) WHERE :org_id IS NOT NULL ORDER BY rowid

-- fts_check: verify the index's own structure
INSERT INTO memory_fts (memory_fts) VALUES ('integrity-check')

-- fts_clear: empty the index, here that of every org: one that is damaged cannot be asked what is whose
INSERT INTO memory_fts (memory_fts) VALUES (iif(:org_id IS NULL, NULL, 'delete-all'))

-- vector_put: store the vector of a memory
INSERT INTO memory_embeddings (memory_row, org_id, space, vector) VALUES (:row, :org_id, :space, :vector)
ON CONFLICT (memory_row) DO UPDATE SET space = excluded.space, vector = excluded.vector

-- vector_fill: store the vector of a memory unless its text changed meanwhile
INSERT INTO memory_embeddings (memory_row, org_id, space, vector)
SELECT row, org_id, :space, :vector FROM memories
WHERE row = :row AND org_id = :org_id AND version = :version AND deleted_at IS NULL
ON CONFLICT (memory_row) DO UPDATE SET space = excluded.space, vector = excluded.vector

-- vectors_missing: memories of an org without a vector in a space, newest first; in the order of rows, or the whole
-- org would be sorted for each page
SELECT m.row, m.project_id, m.id, m.version, m.title, m.content FROM memories m NOT INDEXED
LEFT JOIN memory_embeddings e ON e.memory_row = m.row AND e.org_id = m.org_id AND e.space = :space
WHERE m.org_id = :org_id AND e.memory_row IS NULL AND m.deleted_at IS NULL AND m.row < :before
ORDER BY m.row DESC LIMIT :limit

-- vectors_missing_count: how many memories of an org lack a vector in a space. The + lets SQLite read an index that
-- holds all that is asked, instead of the org's and then every row
SELECT count(*) FROM memories m
LEFT JOIN memory_embeddings e ON e.memory_row = m.row AND e.org_id = m.org_id AND e.space = :space
WHERE +m.org_id = :org_id AND e.memory_row IS NULL AND m.deleted_at IS NULL

-- clock: the database's clock in microseconds
SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) * 1000

-- memory_rows: live memories of an org after a row, with their rows, for re-indexing; not by an index of the org,
-- which would be sorted for each page
SELECT row, $memory_columns FROM memories NOT INDEXED
WHERE org_id = :org_id AND row > :after AND deleted_at IS NULL ORDER BY row LIMIT :limit

-- terms_missing: live memories without an index entry
SELECT count(*) FROM memories m
LEFT JOIN memory_terms t ON t.memory_row = m.row AND t.org_id = m.org_id
WHERE +m.org_id = :org_id AND m.deleted_at IS NULL AND t.memory_row IS NULL

-- fts_difference: rows of an org that only one of full-text index and terms holds
SELECT count(*) FROM (
  SELECT * FROM (
    SELECT rowid FROM memory_fts (:match) EXCEPT SELECT memory_row FROM memory_terms WHERE org_id = :org_id)
  UNION ALL
  SELECT * FROM (
    SELECT memory_row FROM memory_terms WHERE org_id = :org_id EXCEPT SELECT rowid FROM memory_fts (:match))
)
