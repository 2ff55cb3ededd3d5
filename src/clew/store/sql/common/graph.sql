-- node_insert: keep a node
INSERT INTO graph_nodes (row, org_id, id, project_id, node_type, node_key, label, memory_row, created_at)
VALUES (:row, :org_id, :id, :project_id, :node_type, :node_key, :label, :memory_row, :created_at)

-- links_of_memory: what a memory hangs on
SELECT node_row, role FROM memory_node_links WHERE org_id = :org_id AND memory_row = :memory_row
ORDER BY node_row, role

-- links_delete: take a memory off all its nodes
DELETE FROM memory_node_links WHERE org_id = :org_id AND memory_row = :memory_row

-- links_delete_except_self: the same, but its own node stays
DELETE FROM memory_node_links WHERE org_id = :org_id AND memory_row = :memory_row AND role <> 'self'

-- names_delete: forget what a memory named
DELETE FROM memory_names WHERE org_id = :org_id AND memory_row = :memory_row

-- thread_neighbours: the memory that came last before another in its thread, and the first after it of the same user
SELECT (
  SELECT row FROM memories
  WHERE org_id = :org_id AND project_id = :project_id AND thread = :thread AND thread <> '' AND deleted_at IS NULL
    AND (at < :at OR (at = :at AND row < :row)) AND user_id IN ('', :user_id)
  ORDER BY at DESC, row DESC LIMIT 1),
coalesce((
  SELECT row FROM memories
  WHERE org_id = :org_id AND project_id = :project_id AND thread = :thread AND thread <> '' AND deleted_at IS NULL
    AND at = :at AND row > :row AND user_id = :user_id
  ORDER BY row LIMIT 1), (
  SELECT row FROM memories
  WHERE org_id = :org_id AND project_id = :project_id AND thread = :thread AND thread <> '' AND deleted_at IS NULL
    AND at > :at AND user_id = :user_id
  ORDER BY at, row LIMIT 1))

-- session_predecessor: the memory that came last before another in its session
SELECT row FROM memories
WHERE org_id = :org_id AND project_id = :project_id AND session_id = :session_id AND session_id <> ''
  AND deleted_at IS NULL AND (at < :at OR (at = :at AND row < :row)) AND user_id IN ('', :user_id)
ORDER BY at DESC, row DESC LIMIT 1

-- edge_row: the same for one edge
SELECT row FROM graph_edges WHERE org_id = :org_id AND from_row = :from_row AND to_row = :to_row
  AND edge_type = :edge_type AND project_id = :project_id

-- edge_insert: keep an edge
INSERT INTO graph_edges (
  row, org_id, project_id, from_row, to_row, edge_type, label, weight, confidence, base_confidence, is_users,
  last_reinforced_at, expires_at, created_at
) VALUES (
  :row, :org_id, :project_id, :from_row, :to_row, :edge_type, :label, :weight, :confidence, :base_confidence,
  :is_users, :at, :expires_at, :created_at
)

-- last_end: when the last witness of an edge ends; only those that expire are looked at (a fragment)
CASE WHEN lasting > 0 THEN NULL ELSE (
  SELECT max(v.expires_at) FROM graph_evidence v WHERE v.org_id = :org_id AND v.edge_row = :row) END

-- edge_expiry: an edge ends when the last of its witnesses does; not one that a person made
UPDATE graph_edges SET expires_at = $last_end WHERE row = :row AND org_id = :org_id AND is_users = 0

-- edge_by_user: a person states an edge
UPDATE graph_edges SET is_users = 1, confidence = 1.0, last_reinforced_at = :at, expires_at = NULL
WHERE row = :row AND org_id = :org_id

-- evidence_by_user: a person says what a memory said: its sentence may go, the edge stays
UPDATE graph_evidence SET origin = 'user', sentence = ''
WHERE org_id = :org_id AND edge_row = :edge_row AND memory_row = :memory_row

-- evidence_not_by_user: what a person said is taken back
DELETE FROM graph_evidence WHERE org_id = :org_id AND edge_row = :edge_row AND origin = 'user'

-- edge_delete: drop an edge
DELETE FROM graph_edges WHERE row = :row AND org_id = :org_id

-- edges_of_node: every edge that touches a node
SELECT row, from_row, to_row FROM graph_edges WHERE org_id = :org_id AND from_row = :node_row
UNION
SELECT row, from_row, to_row FROM graph_edges WHERE org_id = :org_id AND to_row = :node_row
ORDER BY 1

-- links_at: what people linked to a node: which way, by what, where and how much it weighs, and the other end
SELECT 1, e.edge_type, e.project_id, e.weight, n.node_type, n.node_key, n.project_id
FROM graph_edges e JOIN graph_nodes n ON n.row = e.to_row
WHERE e.org_id = :org_id AND e.from_row = :node_row AND e.is_users = 1
UNION ALL
SELECT 0, e.edge_type, e.project_id, e.weight, n.node_type, n.node_key, n.project_id
FROM graph_edges e JOIN graph_nodes n ON n.row = e.from_row
WHERE e.org_id = :org_id AND e.to_row = :node_row AND e.is_users = 1
ORDER BY 2, 5, 6, 1

-- node_relabel: a node is spelled as one of its memories does
UPDATE graph_nodes SET label = :label WHERE row = :row AND org_id = :org_id

-- evidence_is: whether a memory states an edge
SELECT 1 FROM graph_evidence WHERE org_id = :org_id AND edge_row = :edge_row AND memory_row = :memory_row

-- evidence_delete: a memory no longer states an edge
DELETE FROM graph_evidence WHERE org_id = :org_id AND edge_row = :edge_row AND memory_row = :memory_row

-- evidence_delete_edge: no memory states an edge any more
DELETE FROM graph_evidence WHERE org_id = :org_id AND edge_row = :edge_row

-- evidence_reword: the same memory states the same edge in other words
UPDATE graph_evidence SET sentence = :sentence
WHERE org_id = :org_id AND edge_row = :edge_row AND memory_row = :memory_row

-- pending_put: a memory's part of the graph is still to be made
INSERT INTO graph_pending (org_id, memory_row, reason, attempts, at)
VALUES (:org_id, :memory_row, :reason, :attempts, :at)
ON CONFLICT (org_id, memory_row) DO UPDATE SET
  reason = excluded.reason, attempts = graph_pending.attempts + excluded.attempts, at = excluded.at

-- pending_delete: it was made, or is no longer needed
DELETE FROM graph_pending WHERE org_id = :org_id AND memory_row = :memory_row

-- is_pending: whether the part p of the graph is to be made now; after the second failure one waits (a fragment)
p.attempts < :max_attempts AND (p.attempts <= 2 OR p.at <= :patient)

-- pending_next: memories of an org whose part of the graph is still to be made, those that never failed first
SELECT p.memory_row FROM graph_pending p WHERE p.org_id = :org_id AND $is_pending
ORDER BY p.attempts, p.memory_row LIMIT :limit

-- memory_at_row: a live memory by its row
SELECT $memory_columns FROM memories WHERE row = :row AND org_id = :org_id AND deleted_at IS NULL

-- scope_nodes: memories of one place that have a node: their id, its row, until when they count
SELECT m.id, l.node_row, $end_of_memory, m.row
FROM memories m JOIN memory_node_links l ON l.org_id = m.org_id AND l.memory_row = m.row AND l.role = 'self'
WHERE m.org_id = :org_id AND m.project_id = :project_id AND m.user_id = :user_id AND $visible_memory

-- scope_links: what the memories of one place hang on
SELECT l.memory_row, l.node_row
FROM memories m JOIN memory_node_links l ON l.org_id = m.org_id AND l.memory_row = m.row
WHERE m.org_id = :org_id AND m.project_id = :project_id AND m.user_id = :user_id
  AND l.role IN ('tag', 'category', 'mention') AND $visible_memory

-- turning: memories that begin or cease to hold later, and when that happens next
SELECT m.id, $next_turn FROM memories m WHERE $is_later
