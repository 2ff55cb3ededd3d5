-- visible_memory: whether a memory m may be seen from a reach and holds at a moment (a fragment)
m.org_id = :org_id AND m.deleted_at IS NULL AND (m.expires_at IS NULL OR m.expires_at > :now)
  AND m.valid_at <= :moment
  AND (m.invalid_at IS NULL OR m.invalid_at > :moment)
  AND (:in_projects IS NULL OR instr(:in_projects, char(31) || m.project_id || char(31)))
  AND (:in_users IS NULL OR instr(:in_users, char(31) || m.user_id || char(31)))
  AND (:in_labels IS NULL OR instr(:in_labels, char(31) || m.classification || char(31)))
  AND (:in_trusts IS NULL OR instr(:in_trusts, char(31) || m.trust || char(31)))
  AND (:hidden IS NULL OR NOT instr(:hidden, char(31) || m.row || char(31)))

-- node_rows: rows of the nodes with these ids, a JSON list of hexadecimal texts, and whether they lack a spelling
SELECT lower(hex(n.id)), n.row, n.label = n.node_key FROM json_each(:ids) j
CROSS JOIN graph_nodes n ON n.org_id = :org_id AND n.id = unhex(j.value)

-- node_row: the same for one id
SELECT row, label = node_key FROM graph_nodes WHERE org_id = :org_id AND id = :id

-- nodes_prune: drop those of these nodes that nothing refers to any more
DELETE FROM graph_nodes WHERE row IN (SELECT value FROM json_each(:rows))
  AND NOT EXISTS (SELECT 1 FROM memory_node_links l WHERE l.org_id = :org_id AND l.node_row = graph_nodes.row)
  AND NOT EXISTS (SELECT 1 FROM graph_edges e WHERE e.org_id = :org_id AND e.from_row = graph_nodes.row)
  AND NOT EXISTS (SELECT 1 FROM graph_edges e WHERE e.org_id = :org_id AND e.to_row = graph_nodes.row)

-- link_insert: hang a memory on a node
INSERT OR IGNORE INTO memory_node_links (org_id, memory_row, node_row, role)
VALUES (:org_id, :memory_row, :node_row, :role)

-- self_nodes: the own nodes of these memories
SELECT j.value, l.node_row FROM json_each(:memory_rows) j
CROSS JOIN memory_node_links l ON l.org_id = :org_id AND l.memory_row = j.value AND l.role = 'self'
ORDER BY 1

-- nodes_of_memories: the own nodes of memories by id, in the order of a JSON list
SELECT l.node_row FROM json_each(:ids) j
CROSS JOIN memories m ON m.org_id = :org_id AND m.id = j.value
JOIN memory_node_links l ON l.org_id = m.org_id AND l.memory_row = m.row AND l.role = 'self'
WHERE m.deleted_at IS NULL ORDER BY j.key

-- name_insert: note what a memory names or is about
INSERT OR IGNORE INTO memory_names (org_id, name, is_subject, memory_row)
VALUES (:org_id, :name, :is_subject, :memory_row)

-- names_held: the newest memories that name these, or are about them; a JSON list of numbers
SELECT j.value, (
  SELECT group_concat(memory_row) FROM (
    SELECT n.memory_row FROM memory_names n
    CROSS JOIN memories m INDEXED BY memories_seen ON m.row = n.memory_row AND m.user_id IN ('', :user_id)
    WHERE n.org_id = :org_id AND n.name = j.value AND n.is_subject = :is_subject
    ORDER BY n.memory_row DESC LIMIT :limit)
) FROM json_each(:names) j

-- siblings: the newest earlier memories whose text names a thing, as far as one user may know of both
SELECT l.memory_row FROM memory_node_links l
JOIN memories m INDEXED BY memories_seen ON m.row = l.memory_row
WHERE l.org_id = :org_id AND l.node_row = :node_row AND l.role = 'mention' AND l.memory_row < :memory_row
  AND m.deleted_at IS NULL AND m.user_id IN ('', :user_id)
ORDER BY l.memory_row DESC LIMIT :limit

-- places_of: project, user and expiry of these memories, if they live
SELECT m.row, m.project_id, m.user_id, m.expires_at FROM json_each(:memory_rows) j
CROSS JOIN memories m INDEXED BY memories_seen ON m.row = j.value WHERE m.org_id = :org_id AND m.deleted_at IS NULL

-- edge_rows: rows of edges by their ends; a JSON list of [from, to, type, project]
SELECT e.row, e.from_row, e.to_row, e.edge_type, e.project_id FROM json_each(:keys) j
CROSS JOIN graph_edges e ON e.org_id = :org_id AND e.from_row = j.value ->> 0 AND e.to_row = j.value ->> 1
  AND e.edge_type = j.value ->> 2 AND e.project_id = j.value ->> 3

-- edge_reinforce: `count` more memories state an edge
UPDATE graph_edges SET
  confidence = min(1.0, confidence + :step * :count), last_reinforced_at = max(last_reinforced_at, :at),
  expires_at = CASE WHEN expires_at IS NULL OR :expires_at IS NULL THEN NULL ELSE max(expires_at, :expires_at) END
WHERE row = :row AND org_id = :org_id

-- edge_weaken: a memory no longer states an edge: its share goes, never below what the edge began with, or, where it
-- has faded below that, to what fading leaves
UPDATE graph_edges SET expires_at = $last_end,
  confidence = max(
    min(CASE WHEN confidence >= base_confidence THEN base_confidence ELSE :floor END, confidence), confidence - :step)
WHERE row = :row AND org_id = :org_id AND is_users = 0

-- edge_not_by_user: a person takes an edge back: it is as sure as its witnesses make it, and ends with them
UPDATE graph_edges SET is_users = 0,
  confidence = min(1.0, base_confidence + :step * max(0, witnesses - 1))
WHERE row = :row AND org_id = :org_id

-- edge_delete_unwitnessed: drop an edge that no memory states and no person made
DELETE FROM graph_edges WHERE row = :row AND org_id = :org_id AND is_users = 0
  AND NOT EXISTS (SELECT 1 FROM graph_evidence v WHERE v.org_id = :org_id AND v.edge_row = graph_edges.row)

-- evidence_insert: note that a memory states an edge; the same memory twice does not count twice
INSERT OR IGNORE INTO graph_evidence (org_id, edge_row, memory_row, sentence, explanation, origin, expires_at, at)
VALUES (:org_id, :edge_row, :memory_row, :sentence, :explanation, :origin, :expires_at, :at)

-- evidence_renew: what a memory states lasts as long as it does now; what was found between two also as the other
UPDATE graph_evidence INDEXED BY graph_evidence_memory SET expires_at = :expires_at
WHERE org_id = :org_id AND memory_row = :memory_row AND expires_at IS NOT :expires_at
  AND origin NOT IN ('similar', 'rule', 'llm')

-- followers: memories that say they follow the one with this node in a thread
SELECT DISTINCT v.memory_row FROM graph_edges e INDEXED BY graph_edges_ends
CROSS JOIN graph_evidence v ON v.org_id = e.org_id AND v.edge_row = e.row
WHERE e.org_id = :org_id AND e.from_row = :node_row AND e.edge_type IN ('time', 'causal')
ORDER BY 1

-- replaced_by: which of these memories replaced which nodes' memories; a JSON list of ids
SELECT m.superseded_by, l.node_row FROM json_each(:ids) j
CROSS JOIN memories m INDEXED BY memories_replaced
  ON m.org_id = :org_id AND m.superseded_by = j.value AND m.superseded_by <> '' AND m.deleted_at IS NULL
CROSS JOIN memory_node_links l ON l.org_id = m.org_id AND l.memory_row = m.row AND l.role = 'self'
ORDER BY 1, 2

-- nodes_respell: shared nodes no longer keep the spelling of who is gone; a JSON list of rows
UPDATE graph_nodes SET label = node_key
WHERE row IN (SELECT value FROM json_each(:rows)) AND +org_id = :org_id AND node_type <> 'memory' AND label <> node_key

-- edges_respell: the same for edges
UPDATE graph_edges SET label = '' WHERE row IN (SELECT value FROM json_each(:rows)) AND +org_id = :org_id

-- spellers: for each node one memory that hangs on it still; a JSON list of rows
SELECT (
  SELECT l.memory_row FROM memory_node_links l WHERE l.org_id = :org_id AND l.node_row = j.value
  ORDER BY l.memory_row DESC LIMIT 1) FROM json_each(:rows) j

-- mentions_of: the edges by which other memories name the one with this node, and who they are
SELECT e.row, v.memory_row FROM graph_edges e INDEXED BY graph_edges_to
CROSS JOIN graph_evidence v ON v.org_id = e.org_id AND v.edge_row = e.row
WHERE e.org_id = :org_id AND e.to_row = :node_row AND e.edge_type = 'mention' AND v.origin = 'mention'
ORDER BY 1, 2

-- leaning_at: which other memories state something about a node because of where they come from or what they name
SELECT m.id FROM graph_edges e INDEXED BY graph_edges_to
CROSS JOIN graph_evidence v ON v.org_id = e.org_id AND v.edge_row = e.row
CROSS JOIN memories m ON m.row = v.memory_row
WHERE e.org_id = :org_id AND e.to_row = :node_row AND e.edge_type IN ('derived_from', 'entity')
  AND v.origin IN ('derived', 'entity')
ORDER BY m.row

-- leaning_on: the edges that others state because of a thing that the memory with this node names, or of its thread
SELECT e.row, v.memory_row, e.edge_type, e.label FROM graph_edges e INDEXED BY graph_edges_to
CROSS JOIN graph_evidence v ON v.org_id = e.org_id AND v.edge_row = e.row AND v.origin = 'entity'
WHERE e.org_id = :org_id AND e.to_row = :node_row AND e.edge_type = 'entity'
UNION ALL
SELECT e.row, v.memory_row, e.edge_type, e.label FROM graph_edges e INDEXED BY graph_edges_ends
CROSS JOIN graph_evidence v ON v.org_id = e.org_id AND v.edge_row = e.row AND v.origin = 'time'
WHERE e.org_id = :org_id AND e.from_row = :node_row AND e.edge_type = 'time'
ORDER BY 1, 2

-- evidence_of_memory: the edges that a memory states
SELECT v.edge_row, v.origin, v.sentence, e.from_row, e.to_row, e.edge_type, e.project_id
FROM graph_evidence v INDEXED BY graph_evidence_memory JOIN graph_edges e ON e.row = v.edge_row
WHERE v.org_id = :org_id AND v.memory_row = :memory_row
ORDER BY 1

-- pending_orgs: the orgs that have any; asked after each write, so it goes from org to org, not over all that waits
WITH RECURSIVE o (org_id) AS (
  SELECT min(org_id) FROM graph_pending
  UNION ALL
  SELECT (SELECT min(g.org_id) FROM graph_pending g WHERE g.org_id > o.org_id) FROM o WHERE o.org_id IS NOT NULL)
SELECT o.org_id FROM o
WHERE o.org_id IS NOT NULL AND EXISTS (SELECT 1 FROM graph_pending p WHERE p.org_id = o.org_id AND $is_pending)

-- is_witnessed: whether a memory that may be seen states the edge e (a fragment)
EXISTS (
  SELECT 1 FROM graph_evidence v JOIN memories m INDEXED BY memories_seen ON m.row = v.memory_row
  WHERE v.org_id = :org_id AND v.edge_row = e.row AND (:structural OR v.origin <> 'metadata' OR e.edge_type = 'related_to')
    AND $visible_memory)

-- is_linked: whether a memory that may be seen hangs on the node n (a fragment)
EXISTS (
  SELECT 1 FROM memory_node_links l JOIN memories m INDEXED BY memories_seen ON m.row = l.memory_row
  WHERE l.org_id = :org_id AND l.node_row = n.row AND $visible_memory)

-- is_placed_edge: whether an edge that a person made belongs to a place that may be seen (a fragment)
(:in_projects IS NULL OR instr(:in_projects, char(31) || e.project_id || char(31)))
  AND (:in_users IS NULL OR instr(:in_users, char(31) || e.user_id || char(31)))

-- is_reachable: whether the edge e and the node n at its other end may be seen: through a witness, or, when a
-- person made the edge, through what hangs on the node (a fragment)
e.org_id = :org_id AND (e.expires_at IS NULL OR e.expires_at > :now)
  AND (n.node_type <> 'memory' OR EXISTS (
    SELECT 1 FROM memories m INDEXED BY memories_seen WHERE m.row = n.memory_row AND $visible_memory))
  AND ($is_witnessed OR (e.is_users AND $is_linked AND $is_placed_edge))

-- is_hidden: whether the node in the list j is a memory that may not be seen (a fragment)
EXISTS (
  SELECT 1 FROM graph_nodes h WHERE h.row = j.value AND h.org_id = :org_id AND h.node_type = 'memory'
    AND NOT EXISTS (SELECT 1 FROM memories m INDEXED BY memories_seen WHERE m.row = h.memory_row AND $visible_memory))

-- seen_confidence: how sure the edge e is by those of its witnesses that may be seen, as if there were no others
-- (a fragment)
CASE WHEN (e.is_users AND $is_placed_edge) OR (NOT e.is_users AND e.witnesses < 2) OR e.confidence <= e.base_confidence
  THEN e.confidence
  ELSE min(e.confidence, e.base_confidence + 0.05 * max(0, (
    SELECT count(*) FROM graph_evidence v JOIN memories m INDEXED BY memories_seen ON m.row = v.memory_row
    WHERE v.org_id = :org_id AND v.edge_row = e.row AND $visible_memory) - 1)) END

-- walk_edges: the strongest edges of each of these nodes, a JSON list of rows: node, whether it is where they end,
-- other node, type, weight, confidence, row, strength. What replaces another does not lead to it, only the other way
-- round. How sure an edge is, is counted only for those that are returned
SELECT w.node, w.ends, w.other, e.edge_type, e.weight, $seen_confidence, e.row, w.strength FROM (
  SELECT *, row_number() OVER (PARTITION BY node, ends ORDER BY strength DESC, row DESC) AS place FROM (
    SELECT j.value AS node, 0 AS ends, e.to_row AS other, e.row, e.weight * e.confidence AS strength
    FROM json_each(:rows) j
    CROSS JOIN graph_edges e INDEXED BY graph_edges_ends ON e.org_id = :org_id AND e.from_row = j.value
    CROSS JOIN graph_nodes n ON n.row = e.to_row
    WHERE NOT $is_hidden AND e.edge_type <> 'supersedes' AND $is_reachable
    UNION ALL
    SELECT j.value, 1, e.from_row, e.row, e.weight * e.confidence
    FROM json_each(:rows) j
    CROSS JOIN graph_edges e INDEXED BY graph_edges_to ON e.org_id = :org_id AND e.to_row = j.value
    CROSS JOIN graph_nodes n ON n.row = e.from_row
    WHERE NOT $is_hidden AND $is_reachable)) w
CROSS JOIN graph_edges e ON e.row = w.row
WHERE w.place <= :limit ORDER BY w.node, w.ends, w.place

-- is_looked_at: whether the link l to the node j is among its newest, as many as are looked at; 0 for all (a fragment)
l.memory_row >= CASE :look WHEN 0 THEN 0 ELSE ifnull((
  SELECT x.memory_row FROM memory_node_links x WHERE x.org_id = :org_id AND x.node_row = j.value
  ORDER BY x.memory_row DESC LIMIT 1 OFFSET :look), 0) END

-- hubs_among: those of these nodes, a JSON list of rows, on which more hangs than is looked at
SELECT j.value FROM json_each(:rows) j WHERE EXISTS (
  SELECT 1 FROM memory_node_links l WHERE l.org_id = :org_id AND l.node_row = j.value LIMIT 1 OFFSET :look)

-- walk_memories: own nodes of the newest memories that hang on each of these nodes, a JSON list of rows. One list per
-- node, which ends when it is full: a hub has thousands
SELECT j.value, k.value FROM json_each(:rows) j CROSS JOIN json_each((
  SELECT json_group_array(node_row) FROM (
    SELECT own.node_row FROM memory_node_links l
    JOIN memories m INDEXED BY memories_seen ON m.row = l.memory_row
    JOIN memory_node_links own ON own.org_id = l.org_id AND own.memory_row = l.memory_row AND own.role = 'self'
    WHERE l.org_id = :org_id AND l.node_row = j.value AND $is_looked_at AND l.role IN ('tag', 'category', 'mention')
      AND $visible_memory
    ORDER BY l.memory_row DESC LIMIT :limit))) k
ORDER BY j.value, k.key

-- walk_memories_of: the same by the memories of one place, however many others hang on the nodes: node, row of the
-- memory, its own node
SELECT l.node_row, l.memory_row, own.node_row FROM memories p INDEXED BY memories_scope
CROSS JOIN memory_node_links l ON l.org_id = p.org_id AND l.memory_row = p.row
CROSS JOIN memories m INDEXED BY memories_seen ON m.row = p.row
CROSS JOIN memory_node_links own ON own.org_id = p.org_id AND own.memory_row = p.row AND own.role = 'self'
WHERE p.org_id = :org_id AND p.project_id = :project_id AND p.user_id = :user_id
  AND l.node_row IN (SELECT value FROM json_each(:rows)) AND l.role IN ('tag', 'category', 'mention') AND $visible_memory

-- walk_nodes: what memories hang on, from their own nodes, a JSON list of rows
SELECT node, node_row FROM (
  SELECT j.value AS node, l.node_row, row_number() OVER (PARTITION BY j.value ORDER BY l.node_row DESC) AS place
  FROM json_each(:rows) j
  CROSS JOIN graph_nodes n ON n.row = j.value AND n.node_type = 'memory'
  CROSS JOIN memories m INDEXED BY memories_seen ON m.row = n.memory_row
  CROSS JOIN memory_node_links l ON l.org_id = :org_id AND l.memory_row = m.row
  WHERE l.role IN ('tag', 'category', 'mention') AND $visible_memory)
WHERE place <= :limit ORDER BY node, place

-- scope_edges: what the memories of one place state
SELECT v.memory_row, e.row, e.from_row, e.to_row, e.edge_type, e.weight, e.confidence, e.base_confidence,
  e.is_users AND $is_placed_edge
FROM memories m JOIN graph_evidence v ON v.org_id = m.org_id AND v.memory_row = m.row
JOIN graph_edges e ON e.row = v.edge_row
WHERE m.org_id = :org_id AND m.project_id = :project_id AND m.user_id = :user_id
  AND (v.origin <> 'metadata' OR e.edge_type = 'related_to') AND $visible_memory

-- scope_places: every place of the org that a reach without fixed places sees
SELECT DISTINCT project_id, user_id FROM memories WHERE org_id = :org_id AND deleted_at IS NULL
  AND (:projects IS NULL OR project_id IN (SELECT value FROM json_each(:projects)))
  AND (:users IS NULL OR user_id IN (SELECT value FROM json_each(:users)))
ORDER BY 1, 2

-- scope_user_edges: edges that people made
SELECT e.row, e.from_row, e.to_row, e.edge_type, e.weight, e.confidence FROM graph_edges e
WHERE e.org_id = :org_id AND e.is_users AND $is_placed_edge

-- nodes_touched: nodes that these memories hang on or state something about; a JSON list of ids
SELECT l.node_row FROM json_each(:ids) j
CROSS JOIN memories m ON m.org_id = :org_id AND m.id = j.value
JOIN memory_node_links l ON l.org_id = m.org_id AND l.memory_row = m.row
WHERE l.role NOT IN ('type', 'scope', 'subject')
UNION
SELECT e.from_row FROM json_each(:ids) j
CROSS JOIN memories m ON m.org_id = :org_id AND m.id = j.value
JOIN graph_evidence v ON v.org_id = m.org_id AND v.memory_row = m.row
JOIN graph_edges e ON e.row = v.edge_row
UNION
SELECT e.to_row FROM json_each(:ids) j
CROSS JOIN memories m ON m.org_id = :org_id AND m.id = j.value
JOIN graph_evidence v ON v.org_id = m.org_id AND v.memory_row = m.row
JOIN graph_edges e ON e.row = v.edge_row

-- nodes_joined: nodes at the other ends of the edges that touch these; a JSON list of rows
SELECT e.to_row FROM json_each(:rows) j CROSS JOIN graph_edges e ON e.org_id = :org_id AND e.from_row = j.value
UNION
SELECT e.from_row FROM json_each(:rows) j
CROSS JOIN graph_edges e INDEXED BY graph_edges_to ON e.org_id = :org_id AND e.to_row = j.value

-- end_of_memory: until when a memory m counts, as far as is known; 9999 is after all that is kept (a fragment)
min(coalesce(m.expires_at, 253402300799000000), coalesce(m.invalid_at, 253402300799000000))

-- nodes_end: until when the memories count that have these nodes; a JSON list of rows
SELECT n.row, $end_of_memory FROM json_each(:rows) j
CROSS JOIN graph_nodes n ON n.row = j.value AND n.org_id = :org_id AND n.node_type = 'memory'
JOIN memories m INDEXED BY memories_seen ON m.row = n.memory_row

-- edges_end: until when a memory that may be seen states these edges; a JSON list of rows
SELECT v.edge_row, max($end_of_memory) FROM json_each(:rows) j
CROSS JOIN graph_edges e ON e.row = j.value AND NOT e.is_users
CROSS JOIN graph_evidence v ON v.org_id = :org_id AND v.edge_row = e.row
CROSS JOIN memories m INDEXED BY memories_seen ON m.row = v.memory_row
WHERE $visible_memory GROUP BY v.edge_row

-- nodes_linked: those of these nodes on which a memory hangs that may be seen; a JSON list of rows
SELECT n.row FROM json_each(:rows) j CROSS JOIN graph_nodes n ON n.row = j.value WHERE n.org_id = :org_id AND $is_linked

-- next_turn: when a memory m that begins or ceases to hold later does so next (a fragment)
iif(m.valid_at > :now, m.valid_at, $end_of_memory)

-- is_later: whether a memory m in reach begins or ceases to hold later (a fragment)
m.org_id = :org_id AND m.deleted_at IS NULL
  AND (m.valid_at > :now OR (coalesce(m.expires_at, m.invalid_at) IS NOT NULL AND $end_of_memory > :now))
  AND (:in_projects IS NULL OR instr(:in_projects, char(31) || m.project_id || char(31)))
  AND (:in_users IS NULL OR instr(:in_users, char(31) || m.user_id || char(31)))
  AND (:in_labels IS NULL OR instr(:in_labels, char(31) || m.classification || char(31)))
  AND (:hidden IS NULL OR NOT instr(:hidden, char(31) || m.row || char(31)))

-- turning_of: the same of a JSON list of ids
SELECT m.id, $next_turn FROM json_each(:ids) j CROSS JOIN memories m ON m.org_id = :org_id AND m.id = j.value
WHERE $is_later

-- own_nodes: the own nodes of memories by id, a JSON list
SELECT m.id, l.node_row FROM json_each(:ids) j
CROSS JOIN memories m ON m.org_id = :org_id AND m.id = j.value
JOIN memory_node_links l ON l.org_id = m.org_id AND l.memory_row = m.row AND l.role = 'self'

-- nodes_described: what these nodes are; a JSON list of rows
SELECT n.row, n.id, n.project_id, n.node_type, n.node_key, n.label, n.importance_weight, n.feedback_weight
FROM json_each(:rows) j CROSS JOIN graph_nodes n ON n.row = j.value WHERE n.org_id = :org_id

-- nodes_by_memory: what memories hang on, their own nodes included, but not what all of a place share
SELECT m.id, l.node_row FROM json_each(:ids) j
CROSS JOIN memories m ON m.org_id = :org_id AND m.id = j.value
JOIN memory_node_links l ON l.org_id = m.org_id AND l.memory_row = m.row AND l.role NOT IN ('type', 'scope', 'subject')
ORDER BY j.key, l.role <> 'self', l.node_row

-- memories_at: the newest memories that hang on each of these nodes, a JSON list of rows, and may be answered
SELECT j.value, k.value FROM json_each(:rows) j CROSS JOIN json_each((
  SELECT json_group_array(id) FROM (
    SELECT m.id FROM memory_node_links l JOIN memories m INDEXED BY memories_seen ON m.row = l.memory_row
    WHERE l.org_id = :org_id AND l.node_row = j.value AND $is_looked_at AND $is_answered
    ORDER BY l.memory_row DESC LIMIT :limit))) k
ORDER BY j.value, k.key

-- memories_at_of: the same by the memories of one place: node, row of the memory, its id
SELECT l.node_row, l.memory_row, m.id FROM memories p INDEXED BY memories_scope
CROSS JOIN memory_node_links l ON l.org_id = p.org_id AND l.memory_row = p.row
CROSS JOIN memories m INDEXED BY memories_seen ON m.row = p.row
WHERE p.org_id = :org_id AND p.project_id = :project_id AND p.user_id = :user_id
  AND l.node_row IN (SELECT value FROM json_each(:rows)) AND $is_answered

-- is_answered: whether the memory m may be answered for what it hangs on by the link l (a fragment)
l.role NOT IN ('type', 'scope', 'subject') AND m.layer <> 'rule' AND m.type <> 'rule' AND $visible_memory

-- contradictions: what contradicts these memories; a JSON list of ids
SELECT a.id, n.node_key, $seen_confidence FROM json_each(:ids) j
CROSS JOIN memories a ON a.org_id = :org_id AND a.id = j.value
CROSS JOIN memory_node_links own ON own.org_id = a.org_id AND own.memory_row = a.row AND own.role = 'self'
CROSS JOIN graph_edges e INDEXED BY graph_edges_contradicts
  ON e.org_id = :org_id AND e.from_row = own.node_row AND e.edge_type = 'contradicts'
CROSS JOIN graph_nodes n ON n.row = e.to_row AND n.node_type = 'memory'
WHERE $is_reachable
ORDER BY 1, 2, e.row
