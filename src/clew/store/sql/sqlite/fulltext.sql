-- fts_insert: index the terms of a memory
INSERT INTO memory_fts (rowid, terms) VALUES (:row, :terms)

-- fts_delete: take exactly these terms of a memory out of the index
INSERT INTO memory_fts (memory_fts, rowid, terms) VALUES ('delete', :row, :terms)

-- fts_match: rows that match an expression of terms
SELECT rowid FROM memory_fts (:match)

-- fts_check: verify the index's own structure
INSERT INTO memory_fts (memory_fts) VALUES ('integrity-check')

-- fts_clear: empty the index
INSERT INTO memory_fts (memory_fts) VALUES ('delete-all')

-- terms_insert: keep the analysed text of a memory
INSERT INTO memory_terms (memory_row, org_id, length, terms, scope_term)
VALUES (:row, :org_id, :length, :terms, :scope_term)

-- terms_get: the analysed text of a memory
SELECT length, terms, scope_term FROM memory_terms WHERE memory_row = :row

-- terms_delete: drop the analysed text of a memory
DELETE FROM memory_terms WHERE memory_row = :row

-- vector_put: store the vector of a memory
INSERT INTO memory_embeddings (memory_row, org_id, space, vector) VALUES (:row, :org_id, :space, :vector)
ON CONFLICT (memory_row) DO UPDATE SET space = excluded.space, vector = excluded.vector

-- vector_fill: store the vector of a memory unless its text changed meanwhile
INSERT INTO memory_embeddings (memory_row, org_id, space, vector)
SELECT row, org_id, :space, :vector FROM memories WHERE row = :row AND version = :version AND deleted_at IS NULL
ON CONFLICT (memory_row) DO UPDATE SET space = excluded.space, vector = excluded.vector

-- vector_delete: drop the vector of a memory
DELETE FROM memory_embeddings WHERE memory_row = :row

-- vectors_missing: memories without a vector in a space, newest first
SELECT m.row, m.org_id, m.project_id, m.id, m.version, m.title, m.content FROM memories m
LEFT JOIN memory_embeddings e ON e.memory_row = m.row AND e.space = :space
WHERE e.memory_row IS NULL AND m.deleted_at IS NULL AND m.row < :before
ORDER BY m.row DESC LIMIT :limit

-- vectors_missing_count: how many memories lack a vector in a space
SELECT count(*) FROM memories m
LEFT JOIN memory_embeddings e ON e.memory_row = m.row AND e.space = :space
WHERE e.memory_row IS NULL AND m.deleted_at IS NULL

-- clock: the database's clock in microseconds
SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) * 1000

-- terms_page: index entries after a row, to fill the full-text index anew
SELECT memory_row, terms, scope_term FROM memory_terms WHERE memory_row > :after ORDER BY memory_row LIMIT :limit

-- terms_orgs: the orgs that have index entries
SELECT DISTINCT org_id FROM memory_terms

-- fts_difference: rows of an org that only one of full-text index and terms holds
SELECT count(*) FROM (
  SELECT * FROM (
    SELECT rowid FROM memory_fts (:match) EXCEPT SELECT memory_row FROM memory_terms WHERE org_id = :org_id)
  UNION ALL
  SELECT * FROM (
    SELECT memory_row FROM memory_terms WHERE org_id = :org_id EXCEPT SELECT rowid FROM memory_fts (:match))
)
