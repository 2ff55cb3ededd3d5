-- node_kind: what the node n is; of a memory its type (a fragment)
CASE WHEN n.node_type = 'memory'
  THEN (SELECT m.type FROM memories m WHERE m.org_id = n.org_id AND m.row = n.memory_row) ELSE n.node_type END

-- edges_listed: edges that may be seen, the newest first, with the kinds of their ends; `rows`, a list or NULL: only
-- edges of these nodes; `kinds`: only between nodes of these. An edge is as new as the newest memory that may be seen
-- and states it: when others said it too is none of their business who may not read them
WITH near AS MATERIALIZED (
  SELECT o.row FROM unnest(:rows::bigint[]) AS j(value)
  JOIN graph_edges o ON o.org_id = :org_id AND o.from_row = j.value
  UNION
  SELECT i.row FROM unnest(:rows::bigint[]) AS j(value)
  JOIN graph_edges i ON i.org_id = :org_id AND i.to_row = j.value
), hidden AS MATERIALIZED (
  SELECT n.row FROM graph_nodes n WHERE n.org_id = :org_id AND n.node_type = 'memory' AND NOT EXISTS (
    SELECT 1 FROM memories m WHERE m.row = n.memory_row AND $visible_memory)
), stated AS MATERIALIZED (
  SELECT v.edge_row AS row, max(v.at) AS at FROM graph_evidence v
  JOIN memories m ON m.org_id = :org_id AND m.row = v.memory_row
  WHERE v.org_id = :org_id AND (:rows::bigint[] IS NULL OR v.edge_row IN (SELECT near.row FROM near))
    AND $visible_memory GROUP BY 1
), found AS MATERIALIZED (
  SELECT e.row AS row, stated.at AS at FROM stated JOIN graph_edges e ON e.org_id = :org_id AND e.row = stated.row
  WHERE (e.expires_at IS NULL OR e.expires_at > :now)
    AND e.from_row NOT IN (SELECT hidden.row FROM hidden) AND e.to_row NOT IN (SELECT hidden.row FROM hidden)
  UNION ALL
  SELECT e.row, e.last_reinforced_at FROM graph_edges e
  WHERE e.org_id = :org_id AND e.is_users = 1 AND (:rows::bigint[] IS NULL OR e.row IN (SELECT near.row FROM near))
    AND e.row NOT IN (SELECT stated.row FROM stated) AND $is_seen_edge
), kept AS MATERIALIZED (
  SELECT found.row, found.at FROM found JOIN graph_edges e ON e.org_id = :org_id AND e.row = found.row
  WHERE (CAST(:since AS timestamptz) IS NULL OR found.at >= :since) AND (:kinds::text[] IS NULL OR NOT EXISTS (
    SELECT 1 FROM graph_nodes n WHERE n.org_id = :org_id AND n.row IN (e.from_row, e.to_row)
      AND $node_kind <> ALL(:kinds::text[])))
  ORDER BY found.at DESC, found.row DESC LIMIT :limit)
SELECT $edge_columns, kept.at,
  (SELECT $node_kind FROM graph_nodes n WHERE n.org_id = :org_id AND n.row = e.from_row),
  (SELECT $node_kind FROM graph_nodes n WHERE n.org_id = :org_id AND n.row = e.to_row)
FROM kept JOIN graph_edges e ON e.org_id = :org_id AND e.row = kept.row
JOIN graph_nodes f ON f.org_id = :org_id AND f.row = e.from_row
JOIN graph_nodes t ON t.org_id = :org_id AND t.row = e.to_row
ORDER BY kept.at DESC, e.row DESC
