-- nearest_few: below how many vectors in reach it is quicker to compare each. The index holds those of all orgs and
-- leads to all / n of them for one in reach, at some sixteen times the price: n * n = 16 * limit * all
SELECT greatest(2000, CAST(ceil(sqrt(16.0 * :limit * greatest(c.reltuples, 0))) AS bigint)) FROM pg_class c
WHERE c.oid = to_regclass('memory_embeddings') AND CAST(:org_id AS text) IS NOT NULL

-- nearest_reached: how many memories are in reach, counted no further than needed
SELECT count(*) FROM (
  SELECT 1 FROM memories m WHERE m.org_id = :org_id AND m.deleted_at IS NULL
    AND $in_reach AND $is_shown
  LIMIT :few
) AS reached

-- nearest_by_index: make this transaction search the index until it has what is asked for, filters or not
SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', :breadth, true),
  set_config('hnsw.max_scan_tuples', :most, true), set_config('hnsw.scan_mem_multiplier', '16', true)

-- nearest_tables: vectors of live memories in reach (a fragment, used as $nearest_tables)
FROM memory_embeddings e JOIN memories m ON m.org_id = e.org_id AND m.row = e.memory_row
WHERE e.org_id = :org_id AND e.space = :space AND m.deleted_at IS NULL
  AND $in_reach AND $is_shown

-- nearest_exact: the nearest vectors of any length, each compared
SELECT e.memory_row, e.vector $nearest_tables AND e.dims = vector_dims(CAST(:vector AS halfvec))
ORDER BY e.vector <=> CAST(:vector AS halfvec) LIMIT :limit

-- nearest_static: the nearest vectors of 256 numbers by the index
SELECT e.memory_row, e.vector $nearest_tables AND e.dims = 256
ORDER BY e.vector::halfvec(256) <=> CAST(:vector AS halfvec(256)) LIMIT :limit

-- nearest_minilm: the nearest vectors of 384 numbers by the index
SELECT e.memory_row, e.vector $nearest_tables AND e.dims = 384
ORDER BY e.vector::halfvec(384) <=> CAST(:vector AS halfvec(384)) LIMIT :limit

-- nearest_base: the nearest vectors of 768 numbers by the index
SELECT e.memory_row, e.vector $nearest_tables AND e.dims = 768
ORDER BY e.vector::halfvec(768) <=> CAST(:vector AS halfvec(768)) LIMIT :limit

-- nearest_large: the nearest vectors of 1536 numbers by the index
SELECT e.memory_row, e.vector $nearest_tables AND e.dims = 1536
ORDER BY e.vector::halfvec(1536) <=> CAST(:vector AS halfvec(1536)) LIMIT :limit
