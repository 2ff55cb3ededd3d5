-- is_seen_edge: whether the edge e may be seen, with both of its ends (a fragment)
(e.org_id = :org_id AND (e.expires_at IS NULL OR e.expires_at > :now)
  AND NOT $has_hidden_end AND ($has_any_witness OR $is_users_edge))

-- is_seen_node: whether the node n may be seen: by what hangs on it, or by what is said about it (a fragment)
($is_linked OR (n.node_type <> 'memory' AND (
  EXISTS (SELECT 1 FROM graph_edges e WHERE e.from_row = n.row AND $is_seen_edge)
  OR EXISTS (SELECT 1 FROM graph_edges e WHERE e.to_row = n.row AND $is_seen_edge))))

-- edge_columns: an edge e between the nodes f and t (a fragment)
e.row, e.project_id, f.id, t.id, e.from_row, e.to_row, e.edge_type, e.weight, $seen_confidence, e.feedback_weight,
  e.expires_at

-- is_fact: whether the edge e between f and t tells something: about things, or how memories relate (a fragment)
((f.node_type = 'memory') = (t.node_type = 'memory')
  AND NOT (f.node_type = 'memory' AND e.edge_type IN ('time', 'entity', 'mention'))
  AND ($is_users_edge OR $is_stated))

-- nodes_tied: the nodes to which most is tied, whether it may be seen or not, and how much: as much as nodes_connected can
-- find there, and in its order
SELECT n.row, tied.number FROM (
  SELECT node, CAST(sum(number) AS bigint) AS number FROM (
    SELECT node_row AS node, count(*) AS number FROM memory_node_links WHERE org_id = :org_id GROUP BY node_row
    UNION ALL SELECT from_row, count(*) FROM graph_edges WHERE org_id = :org_id GROUP BY from_row
    UNION ALL SELECT to_row, count(*) FROM graph_edges WHERE org_id = :org_id GROUP BY to_row) AS parts
  GROUP BY node) AS tied
JOIN graph_nodes n ON n.org_id = :org_id AND n.row = tied.node
ORDER BY tied.number DESC, n.node_type, n.node_key, n.project_id LIMIT :limit
