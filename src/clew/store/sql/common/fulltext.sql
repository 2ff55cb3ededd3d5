-- terms_insert: keep the analysed text of a memory
INSERT INTO memory_terms (memory_row, org_id, length, terms, scope_term)
VALUES (:row, :org_id, :length, :terms, :scope_term)

-- terms_get: the analysed text of a memory
SELECT length, terms, scope_term FROM memory_terms WHERE memory_row = :row AND org_id = :org_id

-- terms_delete: drop the analysed text of a memory
DELETE FROM memory_terms WHERE memory_row = :row AND org_id = :org_id

-- vector_delete: drop the vector of a memory
DELETE FROM memory_embeddings WHERE memory_row = :row AND org_id = :org_id

-- terms_page: index entries of an org after a row, to fill the full-text index anew
SELECT memory_row, terms, scope_term FROM memory_terms
WHERE org_id = :org_id AND memory_row > :after ORDER BY memory_row LIMIT :limit
