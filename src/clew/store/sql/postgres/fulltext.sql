-- fts_insert: index the terms of a memory; they are our analyser's, and no parser of the server's sees them
INSERT INTO memory_fts (memory_row, org_id, terms) VALUES (:row, :org_id, :terms::tsvector)

-- fts_delete: take a memory out of the index, which knows its terms without being told
DELETE FROM memory_fts WHERE memory_row = :row AND org_id = :org_id AND CAST(:terms AS text) IS NOT NULL

-- fts_match: rows that have a term and one of the terms of their place
SELECT clew_matching(:org_id, :scopes::text[], :term)

-- fts_check: nothing to verify: the server looks after its indices
SELECT 1

-- fts_clear: empty the index
DELETE FROM memory_fts WHERE org_id = :org_id

-- vector_put: store the vector of a memory
INSERT INTO memory_embeddings (memory_row, org_id, space, vector) VALUES (:row, :org_id, :space, :vector)
ON CONFLICT (org_id, memory_row) DO UPDATE SET space = excluded.space, vector = excluded.vector

-- vector_fill: store the vector of a memory unless its text changed meanwhile
INSERT INTO memory_embeddings (memory_row, org_id, space, vector)
SELECT row, org_id, :space, CAST(:vector AS halfvec) FROM memories
WHERE row = :row AND org_id = :org_id AND version = :version AND deleted_at IS NULL
ON CONFLICT (org_id, memory_row) DO UPDATE SET space = excluded.space, vector = excluded.vector

-- vectors_missing: memories of an org without a vector in a space, newest first
SELECT m.row, m.project_id, m.id, m.version, m.title, m.content FROM memories m
LEFT JOIN memory_embeddings e ON e.memory_row = m.row AND e.org_id = m.org_id AND e.space = :space
WHERE m.org_id = :org_id AND e.memory_row IS NULL AND m.deleted_at IS NULL AND m.row < :before
ORDER BY m.row DESC LIMIT :limit

-- vectors_missing_count: how many memories of an org lack a vector in a space
SELECT count(*) FROM memories m
LEFT JOIN memory_embeddings e ON e.memory_row = m.row AND e.org_id = m.org_id AND e.space = :space
WHERE m.org_id = :org_id AND e.memory_row IS NULL AND m.deleted_at IS NULL

-- memory_rows: live memories of an org after a row, with their rows, for re-indexing
SELECT row, $memory_columns FROM memories
WHERE org_id = :org_id AND row > :after AND deleted_at IS NULL ORDER BY row LIMIT :limit

-- terms_missing: live memories without an index entry
SELECT count(*) FROM memories m
LEFT JOIN memory_terms t ON t.memory_row = m.row AND t.org_id = m.org_id
WHERE m.org_id = :org_id AND m.deleted_at IS NULL AND t.memory_row IS NULL

-- fts_difference: rows of an org that only one of full-text index and terms holds
SELECT count(*) FROM (
  SELECT memory_row FROM memory_fts WHERE org_id = :org_id AND terms @@ CAST(:match AS tsquery)
) AS f FULL JOIN (SELECT memory_row FROM memory_terms WHERE org_id = :org_id) AS t ON t.memory_row = f.memory_row
WHERE f.memory_row IS NULL OR t.memory_row IS NULL
