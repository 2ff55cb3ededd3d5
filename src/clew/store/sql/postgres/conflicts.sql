-- disputed: memories of the org that are part of a conflict, or that contradict another; up to so many of each kind
SELECT m.id FROM (
  (SELECT a_row AS row FROM conflicts WHERE org_id = :org_id LIMIT :limit)
  UNION ALL
  (SELECT b_row AS row FROM conflicts WHERE org_id = :org_id LIMIT :limit)
) c JOIN memories m ON m.org_id = :org_id AND m.row = c.row
UNION ALL
SELECT n.node_key FROM (
  SELECT from_row AS row FROM graph_edges WHERE org_id = :org_id AND edge_type = 'contradicts' LIMIT :limit
) e JOIN graph_nodes n ON n.org_id = :org_id AND n.row = e.row AND n.node_type = 'memory'

-- conflict_stands: whether both memories of the conflict c hold, as they were when it was found, and an edge still
-- says so; what a person said is not about the wording (a fragment)
(a.deleted_at IS NULL AND a.superseded_by = '' AND a.valid_at <= :now
  AND (a.invalid_at IS NULL OR a.invalid_at > :now) AND (a.expires_at IS NULL OR a.expires_at > :now)
  AND b.deleted_at IS NULL AND b.superseded_by = '' AND b.valid_at <= :now
  AND (b.invalid_at IS NULL OR b.invalid_at > :now) AND (b.expires_at IS NULL OR b.expires_at > :now)
  AND (c.origin = 'user' OR $same_texts)
  AND EXISTS (
    SELECT 1 FROM memory_node_links x
    JOIN memory_node_links y ON y.org_id = c.org_id AND y.memory_row = c.b_row AND y.role = 'self'
    JOIN graph_edges e ON e.org_id = c.org_id AND e.edge_type = c.kind
      AND e.from_row IN (x.node_row, y.node_row) AND e.to_row IN (x.node_row, y.node_row) -- either way
    WHERE x.org_id = c.org_id AND x.memory_row = c.a_row AND x.role = 'self'
      AND (e.expires_at IS NULL OR e.expires_at > :now)))

-- conflict_tables: where conflicts and their memories come from (a fragment)
conflicts c JOIN memories a ON a.org_id = c.org_id AND a.row = c.a_row
JOIN memories b ON b.org_id = c.org_id AND b.row = c.b_row

-- conflicts_of_ids: conflicts that touch these memories; a list of ids
SELECT $conflict_columns FROM $conflict_tables
WHERE c.org_id = :org_id AND (
  c.a_row = ANY(ARRAY(SELECT m.row FROM memories m WHERE m.org_id = :org_id AND m.id = ANY(:ids::text[])))
  OR c.b_row = ANY(ARRAY(SELECT m.row FROM memories m WHERE m.org_id = :org_id AND m.id = ANY(:ids::text[]))))
ORDER BY c.id

-- conflict_list: conflicts between memories in reach, the surest first, from one on; with :all also those that are over
SELECT $conflict_columns FROM $conflict_tables
WHERE c.org_id = :org_id
  AND (c.confidence < :sure OR (c.confidence = :sure AND c.id > :after))
  AND (CAST(:projects AS text[]) IS NULL OR (a.project_id = ANY(:projects) AND b.project_id = ANY(:projects)))
  AND (CAST(:users AS text[]) IS NULL OR (a.user_id = ANY(:users) AND b.user_id = ANY(:users)))
  AND (:all OR ($conflict_stands AND NOT (c.keep = 'both' AND $same_texts)))
ORDER BY c.confidence DESC, c.id LIMIT :limit

-- conflict_of_pair: the conflict between two memories, whichever came first
SELECT $conflict_columns FROM $conflict_tables
WHERE c.org_id = :org_id
  AND least(c.a_row, c.b_row) = least(CAST(:one AS bigint), CAST(:other AS bigint))
  AND greatest(c.a_row, c.b_row) = greatest(CAST(:one AS bigint), CAST(:other AS bigint))

-- alike_to: memories that say nearly the same as one
SELECT DISTINCT y.node_key FROM memories m
JOIN memory_node_links l ON l.org_id = m.org_id AND l.memory_row = m.row AND l.role = 'self'
JOIN graph_edges e ON e.org_id = m.org_id AND e.from_row = l.node_row
JOIN graph_nodes y ON y.org_id = e.org_id AND y.row = e.to_row AND y.node_type = 'memory'
WHERE m.org_id = :org_id AND m.id = :id
  AND (e.edge_type = 'agrees' OR (e.edge_type = 'similar_to' AND e.weight >= :least))
  AND (e.expires_at IS NULL OR e.expires_at > :now)
ORDER BY 1
