-- vector_indices: indices over vectors, how each is made, and how large it is
SELECT c.relname::text, pg_get_indexdef(c.oid), pg_relation_size(c.oid) FROM pg_class c JOIN pg_am a ON a.oid = c.relam
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'i' AND a.amname = 'hnsw' ORDER BY 1

-- relation_sizes: bytes of every table, and of each of its indices
SELECT t.relname::text, coalesce(x.relname, '')::text,
  CASE WHEN x.oid IS NULL THEN pg_table_size(t.oid) ELSE pg_relation_size(x.oid) END
FROM pg_class t
LEFT JOIN LATERAL (
  SELECT NULL::oid AS oid, NULL::name AS relname
  UNION ALL SELECT c.oid, c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = t.oid
) AS x ON true
WHERE t.relnamespace = current_schema()::regnamespace AND t.relkind = 'r' ORDER BY 3 DESC, 1, 2
