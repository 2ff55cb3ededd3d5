-- same_texts: whether both memories still have the texts that a conflict is about (a fragment)
(a.content_hash = c.a_hash AND b.content_hash = c.b_hash)

-- conflict_columns: a conflict c of the memories a and b, in the order of the value (a fragment)
c.id, a.id, b.id, c.kind, c.origin, c.rule, c.confidence, c.sentence, c.explanation, c.created_at, c.keep,
  c.resolved_at, c.resolved_by, $conflict_stands, $same_texts

-- conflict_insert: note a conflict
INSERT INTO conflicts (
  org_id, id, a_row, b_row, kind, origin, rule, confidence, sentence, explanation, a_hash, b_hash, created_at
) VALUES (
  :org_id, :id, :a_row, :b_row, :kind, :origin, :rule, :confidence, :sentence, :explanation, :a_hash, :b_hash,
  :created_at
)

-- conflict_delete: drop a conflict
DELETE FROM conflicts WHERE org_id = :org_id AND id = :id

-- conflict_resolve: keep how a conflict was resolved, and for which texts
UPDATE conflicts SET keep = :keep, a_hash = :a_hash, b_hash = :b_hash, resolved_at = :at, resolved_by = :by
WHERE org_id = :org_id AND id = :id

-- conflict_get: one conflict of the org
SELECT $conflict_columns FROM $conflict_tables WHERE c.org_id = :org_id AND c.id = :id

-- conflict_ids_between: conflicts whose id lies in a range, to resolve a shortened id
SELECT id FROM conflicts WHERE org_id = :org_id AND id >= :low AND id < :high LIMIT 1000

-- merge_insert: note a merge
INSERT INTO merges (org_id, id, winner, before, after, losers, made_by, at)
VALUES (:org_id, :id, :winner, :before, :after, :losers, :made_by, :at)

-- merge_columns: a merge in the order of the value (a fragment)
id, winner, before, after, losers, made_by, at, undone_at, undone_by

-- merge_get: one merge of the org
SELECT $merge_columns FROM merges WHERE org_id = :org_id AND id = :id

-- merge_ids_between: merges whose id lies in a range, to resolve a shortened id
SELECT id FROM merges WHERE org_id = :org_id AND id >= :low AND id < :high LIMIT 1000

-- merge_list: merges of the org before one, the newest first
SELECT $merge_columns FROM merges WHERE org_id = :org_id AND id < :before ORDER BY id DESC LIMIT :limit

-- merges_into: what was merged into a memory and not undone
SELECT $merge_columns FROM merges WHERE org_id = :org_id AND winner = :winner AND undone_at IS NULL

-- merge_undo: a merge was undone
UPDATE merges SET undone_at = :at, undone_by = :by WHERE org_id = :org_id AND id = :id

-- alike_pairs: memories of the org that say nearly the same, and how nearly
SELECT x.node_key, y.node_key, e.weight FROM graph_edges e
JOIN graph_nodes x ON x.org_id = e.org_id AND x.row = e.from_row AND x.node_type = 'memory'
JOIN graph_nodes y ON y.org_id = e.org_id AND y.row = e.to_row AND y.node_type = 'memory'
WHERE e.org_id = :org_id AND e.edge_type = 'similar_to' AND e.weight >= :least
  AND (e.expires_at IS NULL OR e.expires_at > :now)
