-- disputed: memories of the org that are part of a conflict, or that contradict another; up to so many of each kind
SELECT m.id FROM (
  SELECT row FROM (SELECT a_row AS row FROM conflicts INDEXED BY conflicts_a WHERE org_id = :org_id LIMIT :limit)
  UNION ALL
  SELECT row FROM (SELECT b_row AS row FROM conflicts INDEXED BY conflicts_b WHERE org_id = :org_id LIMIT :limit)
) c CROSS JOIN memories m ON m.row = c.row
UNION ALL
SELECT n.node_key FROM (
  SELECT from_row AS row FROM graph_edges INDEXED BY graph_edges_contradicts
  WHERE org_id = :org_id AND edge_type = 'contradicts' LIMIT :limit
) e CROSS JOIN graph_nodes n ON n.row = e.row AND n.node_type = 'memory'

-- conflicts_of_ids: conflicts that touch these memories; a JSON list of ids
SELECT $conflict_columns FROM (
  SELECT c.* FROM json_each(:ids) j CROSS JOIN memories m ON m.org_id = :org_id AND m.id = j.value
  CROSS JOIN conflicts c INDEXED BY conflicts_a ON c.org_id = :org_id AND c.a_row = m.row
  UNION
  SELECT c.* FROM json_each(:ids) j CROSS JOIN memories m ON m.org_id = :org_id AND m.id = j.value
  CROSS JOIN conflicts c INDEXED BY conflicts_b ON c.org_id = :org_id AND c.b_row = m.row
) c CROSS JOIN memories a ON a.row = c.a_row CROSS JOIN memories b ON b.row = c.b_row
ORDER BY c.id

-- conflict_list: conflicts between memories in reach, the surest first, from one on; with :all also those that are over
SELECT $conflict_columns FROM $conflict_tables
WHERE c.org_id = :org_id
  AND (c.confidence < :sure OR (c.confidence = :sure AND c.id > :after))
  AND (:projects IS NULL OR (a.project_id IN (SELECT value FROM json_each(:projects))
    AND b.project_id IN (SELECT value FROM json_each(:projects))))
  AND (:users IS NULL OR (a.user_id IN (SELECT value FROM json_each(:users))
    AND b.user_id IN (SELECT value FROM json_each(:users))))
  AND (:all OR ($conflict_stands AND NOT (c.keep = 'both' AND $same_texts)))
ORDER BY c.confidence DESC, c.id LIMIT :limit

-- conflict_of_pair: the conflict between two memories, whichever came first
SELECT $conflict_columns FROM $conflict_tables
WHERE c.org_id = :org_id AND min(c.a_row, c.b_row) = min(:one, :other) AND max(c.a_row, c.b_row) = max(:one, :other)

-- conflict_stands: whether both memories of the conflict c hold, as they were when it was found, and an edge still
-- says so; what a person said is not about the wording (a fragment)
(a.deleted_at IS NULL AND a.superseded_by = '' AND a.valid_at <= :now
  AND (a.invalid_at IS NULL OR a.invalid_at > :now) AND (a.expires_at IS NULL OR a.expires_at > :now)
  AND b.deleted_at IS NULL AND b.superseded_by = '' AND b.valid_at <= :now
  AND (b.invalid_at IS NULL OR b.invalid_at > :now) AND (b.expires_at IS NULL OR b.expires_at > :now)
  AND (c.origin = 'user' OR $same_texts)
  AND EXISTS (
    SELECT 1 FROM memory_node_links x
    CROSS JOIN memory_node_links y ON y.org_id = c.org_id AND y.memory_row = c.b_row AND y.role = 'self'
    CROSS JOIN graph_edges e ON e.org_id = c.org_id AND e.edge_type = c.kind
      AND e.from_row IN (x.node_row, y.node_row) AND e.to_row IN (x.node_row, y.node_row) -- either way
    WHERE x.org_id = c.org_id AND x.memory_row = c.a_row AND x.role = 'self'
      AND (e.expires_at IS NULL OR e.expires_at > :now)))

-- conflict_tables: where conflicts and their memories come from (a fragment)
conflicts c CROSS JOIN memories a ON a.row = c.a_row CROSS JOIN memories b ON b.row = c.b_row

-- alike_to: memories that say nearly the same as one
SELECT DISTINCT y.node_key FROM memories m
CROSS JOIN memory_node_links l ON l.org_id = m.org_id AND l.memory_row = m.row AND l.role = 'self'
CROSS JOIN graph_edges e ON e.org_id = m.org_id AND e.from_row = l.node_row
CROSS JOIN graph_nodes y ON y.row = e.to_row AND y.node_type = 'memory'
WHERE m.org_id = :org_id AND m.id = :id
  AND (e.edge_type = 'agrees' OR (e.edge_type = 'similar_to' AND e.weight >= :least))
  AND (e.expires_at IS NULL OR e.expires_at > :now)
ORDER BY 1
