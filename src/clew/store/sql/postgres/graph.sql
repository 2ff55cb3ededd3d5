-- visible_memory: whether a memory m may be seen from a reach and holds at a moment (a fragment)
m.org_id = :org_id AND m.deleted_at IS NULL AND (m.expires_at IS NULL OR m.expires_at > :now)
  AND m.valid_at <= :moment
  AND (m.invalid_at IS NULL OR m.invalid_at > :moment)
  AND (CAST(:in_projects AS text) IS NULL OR strpos(:in_projects, chr(31) || m.project_id || chr(31)) > 0)
  AND (CAST(:in_users AS text) IS NULL OR strpos(:in_users, chr(31) || m.user_id || chr(31)) > 0)
  AND (CAST(:in_labels AS text) IS NULL OR strpos(:in_labels, chr(31) || m.classification || chr(31)) > 0)
  AND (CAST(:in_trusts AS text) IS NULL OR strpos(:in_trusts, chr(31) || m.trust || chr(31)) > 0)
  AND (CAST(:hidden AS text) IS NULL OR strpos(:hidden, chr(31) || m.row::text || chr(31)) = 0)

-- node_rows: rows of the nodes with these ids, a list of hexadecimal texts, and whether they lack a spelling
SELECT encode(n.id, 'hex'), n.row, (n.label = n.node_key)::int FROM unnest(:ids::text[]) AS j(value)
JOIN graph_nodes n ON n.org_id = :org_id AND n.id = decode(j.value, 'hex')

-- node_row: the same for one id
SELECT row, (label = node_key)::int FROM graph_nodes WHERE org_id = :org_id AND id = :id

-- nodes_prune: drop those of these nodes that nothing refers to any more
DELETE FROM graph_nodes n WHERE n.org_id = :org_id AND n.row = ANY(:rows::bigint[])
  AND NOT EXISTS (SELECT 1 FROM memory_node_links l WHERE l.org_id = n.org_id AND l.node_row = n.row)
  AND NOT EXISTS (SELECT 1 FROM graph_edges e WHERE e.org_id = n.org_id AND e.from_row = n.row)
  AND NOT EXISTS (SELECT 1 FROM graph_edges e WHERE e.org_id = n.org_id AND e.to_row = n.row)

-- link_insert: hang a memory on a node
INSERT INTO memory_node_links (org_id, memory_row, node_row, role)
VALUES (:org_id, :memory_row, :node_row, :role) ON CONFLICT DO NOTHING

-- self_nodes: the own nodes of these memories
SELECT j.value, l.node_row FROM unnest(:memory_rows::bigint[]) AS j(value)
JOIN memory_node_links l ON l.org_id = :org_id AND l.memory_row = j.value AND l.role = 'self'
ORDER BY 1

-- nodes_of_memories: the own nodes of memories by id, in the order of the list
SELECT l.node_row FROM unnest(:ids::text[]) WITH ORDINALITY AS j(value, key)
JOIN memories m ON m.org_id = :org_id AND m.id = j.value
JOIN memory_node_links l ON l.org_id = m.org_id AND l.memory_row = m.row AND l.role = 'self'
WHERE m.deleted_at IS NULL ORDER BY j.key

-- name_insert: note what a memory names or is about
INSERT INTO memory_names (org_id, name, is_subject, memory_row)
VALUES (:org_id, :name, :is_subject, :memory_row) ON CONFLICT DO NOTHING

-- names_held: the newest memories that name these, or are about them; a list of numbers
SELECT j.value, (
  SELECT string_agg(newest.memory_row::text, ',' ORDER BY newest.memory_row DESC) FROM (
    SELECT n.memory_row FROM memory_names n
    JOIN memories m ON m.org_id = n.org_id AND m.row = n.memory_row AND m.user_id IN ('', :user_id)
    WHERE n.org_id = :org_id AND n.name = j.value AND n.is_subject = :is_subject
    ORDER BY n.memory_row DESC LIMIT :limit) newest
) FROM unnest(:names::bigint[]) AS j(value)

-- siblings: the newest earlier memories whose text names a thing, as far as one user may know of both
SELECT l.memory_row FROM memory_node_links l
JOIN memories m ON m.org_id = l.org_id AND m.row = l.memory_row
WHERE l.org_id = :org_id AND l.node_row = :node_row AND l.role = 'mention' AND l.memory_row < :memory_row
  AND m.deleted_at IS NULL AND m.user_id IN ('', :user_id)
ORDER BY l.memory_row DESC LIMIT :limit

-- places_of: project, user and expiry of these memories, if they live
SELECT m.row, m.project_id, m.user_id, m.expires_at FROM unnest(:memory_rows::bigint[]) AS j(value)
JOIN memories m ON m.org_id = :org_id AND m.row = j.value WHERE m.deleted_at IS NULL

-- edge_rows: rows of edges by their ends; JSON, a list of [from, to, type, project]
SELECT e.row, e.from_row, e.to_row, e.edge_type, e.project_id FROM jsonb_array_elements(:keys::jsonb) AS j(value)
JOIN graph_edges e ON e.org_id = :org_id AND e.from_row = (j.value ->> 0)::bigint
  AND e.to_row = (j.value ->> 1)::bigint AND e.edge_type = j.value ->> 2 AND e.project_id = j.value ->> 3

-- edge_reinforce: `count` more memories state an edge
UPDATE graph_edges SET
  confidence = least(1.0, confidence + CAST(:step AS double precision) * CAST(:count AS double precision)),
  last_reinforced_at = greatest(last_reinforced_at, :at),
  expires_at = CASE WHEN expires_at IS NOT NULL AND CAST(:expires_at AS timestamptz) IS NOT NULL
    THEN greatest(expires_at, :expires_at) END
WHERE row = :row AND org_id = :org_id

-- edge_weaken: a memory no longer states an edge: its share goes, never below what the edge began with, or, where it
-- has faded below that, to what fading leaves
UPDATE graph_edges SET expires_at = $last_end,
  confidence = greatest(least(CASE WHEN confidence >= base_confidence THEN base_confidence
    ELSE CAST(:floor AS double precision) END, confidence), confidence - CAST(:step AS double precision))
WHERE row = :row AND org_id = :org_id AND is_users = 0

-- edge_not_by_user: a person takes an edge back: it is as sure as its witnesses make it, and ends with them
UPDATE graph_edges SET is_users = 0,
  confidence = least(1.0, base_confidence + CAST(:step AS double precision) * greatest(0, witnesses - 1))
WHERE row = :row AND org_id = :org_id

-- edge_delete_unwitnessed: drop an edge that no memory states and no person made
DELETE FROM graph_edges e WHERE e.row = :row AND e.org_id = :org_id AND e.is_users = 0
  AND NOT EXISTS (SELECT 1 FROM graph_evidence v WHERE v.org_id = e.org_id AND v.edge_row = e.row)

-- evidence_insert: note that a memory states an edge; the same memory twice does not count twice
INSERT INTO graph_evidence (org_id, edge_row, memory_row, sentence, explanation, origin, expires_at, at)
VALUES (:org_id, :edge_row, :memory_row, :sentence, :explanation, :origin, :expires_at, :at)
ON CONFLICT DO NOTHING

-- evidence_renew: what a memory states lasts as long as it does now; what was found between two also as the other
UPDATE graph_evidence SET expires_at = :expires_at
WHERE org_id = :org_id AND memory_row = :memory_row
  AND expires_at IS DISTINCT FROM CAST(:expires_at AS timestamptz) AND origin NOT IN ('similar', 'rule', 'llm')

-- followers: memories that say they follow the one with this node in a thread
SELECT DISTINCT v.memory_row FROM graph_edges e
JOIN graph_evidence v ON v.org_id = e.org_id AND v.edge_row = e.row
WHERE e.org_id = :org_id AND e.from_row = :node_row AND e.edge_type IN ('time', 'causal')
ORDER BY 1

-- replaced_by: which of these memories replaced which nodes' memories; a list of ids
SELECT m.superseded_by, l.node_row FROM unnest(:ids::text[]) AS j(value)
JOIN memories m ON m.org_id = :org_id AND m.superseded_by = j.value AND m.superseded_by <> '' AND m.deleted_at IS NULL
JOIN memory_node_links l ON l.org_id = m.org_id AND l.memory_row = m.row AND l.role = 'self'
ORDER BY 1, 2

-- nodes_respell: shared nodes no longer keep the spelling of who is gone; a list of rows
UPDATE graph_nodes SET label = node_key
WHERE org_id = :org_id AND row = ANY(:rows::bigint[]) AND node_type <> 'memory' AND label <> node_key

-- edges_respell: the same for edges
UPDATE graph_edges SET label = '' WHERE org_id = :org_id AND row = ANY(:rows::bigint[])

-- spellers: for each node one memory that hangs on it still; a list of rows
SELECT (
  SELECT l.memory_row FROM memory_node_links l WHERE l.org_id = :org_id AND l.node_row = j.value
  ORDER BY l.memory_row DESC LIMIT 1) FROM unnest(:rows::bigint[]) AS j(value)

-- mentions_of: the edges by which other memories name the one with this node, and who they are
SELECT e.row, v.memory_row FROM graph_edges e
JOIN graph_evidence v ON v.org_id = e.org_id AND v.edge_row = e.row
WHERE e.org_id = :org_id AND e.to_row = :node_row AND e.edge_type = 'mention' AND v.origin = 'mention'
ORDER BY 1, 2

-- leaning_at: which other memories state something about a node because of where they come from or what they name
SELECT m.id FROM graph_edges e JOIN graph_evidence v ON v.org_id = e.org_id AND v.edge_row = e.row
JOIN memories m ON m.row = v.memory_row
WHERE e.org_id = :org_id AND e.to_row = :node_row AND e.edge_type IN ('derived_from', 'entity')
  AND v.origin IN ('derived', 'entity')
ORDER BY m.row

-- leaning_on: the edges that others state because of a thing that the memory with this node names, or of its thread
SELECT e.row, v.memory_row, e.edge_type, e.label FROM graph_edges e
JOIN graph_evidence v ON v.org_id = e.org_id AND v.edge_row = e.row AND v.origin = 'entity'
WHERE e.org_id = :org_id AND e.to_row = :node_row AND e.edge_type = 'entity'
UNION ALL
SELECT e.row, v.memory_row, e.edge_type, e.label FROM graph_edges e
JOIN graph_evidence v ON v.org_id = e.org_id AND v.edge_row = e.row AND v.origin = 'time'
WHERE e.org_id = :org_id AND e.from_row = :node_row AND e.edge_type = 'time'
ORDER BY 1, 2

-- evidence_of_memory: the edges that a memory states
SELECT v.edge_row, v.origin, v.sentence, e.from_row, e.to_row, e.edge_type, e.project_id
FROM graph_evidence v JOIN graph_edges e ON e.org_id = v.org_id AND e.row = v.edge_row
WHERE v.org_id = :org_id AND v.memory_row = :memory_row
ORDER BY 1

-- pending_orgs: the orgs that have any
SELECT org_id FROM clew_pending_orgs(CAST(:max_attempts AS bigint), CAST(:patient AS timestamptz))

-- is_witnessed: whether a memory that may be seen states the edge e (a fragment)
EXISTS (
  SELECT 1 FROM graph_evidence v JOIN memories m ON m.org_id = v.org_id AND m.row = v.memory_row
  WHERE v.org_id = :org_id AND v.edge_row = e.row AND (:structural OR v.origin <> 'metadata' OR e.edge_type = 'related_to')
    AND $visible_memory)

-- is_linked: whether a memory that may be seen hangs on the node n (a fragment)
EXISTS (
  SELECT 1 FROM memory_node_links l JOIN memories m ON m.org_id = l.org_id AND m.row = l.memory_row
  WHERE l.org_id = :org_id AND l.node_row = n.row AND $visible_memory)

-- is_placed_edge: whether an edge that a person made belongs to a place that may be seen (a fragment)
(CAST(:in_projects AS text) IS NULL OR strpos(:in_projects, chr(31) || e.project_id || chr(31)) > 0)
  AND (CAST(:in_users AS text) IS NULL OR strpos(:in_users, chr(31) || e.user_id || chr(31)) > 0)

-- is_reachable: whether the edge e and the node n at its other end may be seen: through a witness, or, when a
-- person made the edge, through what hangs on the node (a fragment)
e.org_id = :org_id AND n.org_id = :org_id AND (e.expires_at IS NULL OR e.expires_at > :now)
  AND (n.node_type <> 'memory' OR EXISTS (
    SELECT 1 FROM memories m WHERE m.row = n.memory_row AND $visible_memory))
  AND ($is_witnessed OR (e.is_users = 1 AND $is_linked AND $is_placed_edge))

-- is_hidden: whether the node in the list j is a memory that may not be seen (a fragment)
EXISTS (
  SELECT 1 FROM graph_nodes h WHERE h.org_id = :org_id AND h.row = j.value AND h.node_type = 'memory'
    AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.row = h.memory_row AND $visible_memory))

-- seen_confidence: how sure the edge e is by those of its witnesses that may be seen, as if there were no others
-- (a fragment)
CASE WHEN (e.is_users = 1 AND $is_placed_edge) OR (e.is_users = 0 AND e.witnesses < 2)
    OR e.confidence <= e.base_confidence
  THEN e.confidence
  ELSE least(e.confidence, e.base_confidence + CAST(0.05 AS double precision) * greatest(0, (
    SELECT count(*) FROM graph_evidence v JOIN memories m ON m.org_id = v.org_id AND m.row = v.memory_row
    WHERE v.org_id = :org_id AND v.edge_row = e.row AND $visible_memory) - 1)) END

-- walk_edges: the strongest edges of each of these nodes, a list of rows: node, whether it is where they end, other
-- node, type, weight, confidence, row, strength. What replaces another does not lead to it, only the other way round
-- planned once
SELECT j.value, 0, w.* FROM unnest(:rows::bigint[]) AS j(value) CROSS JOIN LATERAL (
  SELECT e.to_row, e.edge_type, e.weight, $seen_confidence, e.row, e.weight * e.confidence AS strength
  FROM graph_edges e JOIN graph_nodes n ON n.org_id = e.org_id AND n.row = e.to_row
  WHERE e.from_row = j.value AND e.edge_type <> 'supersedes' AND $is_reachable
  ORDER BY strength DESC, e.row DESC LIMIT :limit) w
WHERE NOT $is_hidden
UNION ALL
SELECT j.value, 1, w.* FROM unnest(:rows::bigint[]) AS j(value) CROSS JOIN LATERAL (
  SELECT e.from_row, e.edge_type, e.weight, $seen_confidence, e.row, e.weight * e.confidence AS strength
  FROM graph_edges e JOIN graph_nodes n ON n.org_id = e.org_id AND n.row = e.from_row
  WHERE e.to_row = j.value AND $is_reachable
  ORDER BY strength DESC, e.row DESC LIMIT :limit) w
WHERE NOT $is_hidden
ORDER BY 1, 2, 8 DESC, 7 DESC

-- is_looked_at: whether the link l to the node j is among its newest, as many as are looked at; 0 for all (a fragment)
l.memory_row >= CASE :look::bigint WHEN 0 THEN 0 ELSE coalesce((
  SELECT x.memory_row FROM memory_node_links x WHERE x.org_id = :org_id AND x.node_row = j.value
  ORDER BY x.memory_row DESC LIMIT 1 OFFSET :look::bigint), 0) END

-- hubs_among: those of these nodes, a list of rows, on which more hangs than is looked at
SELECT j.value FROM unnest(:rows::bigint[]) AS j(value) WHERE EXISTS (
  SELECT 1 FROM memory_node_links l WHERE l.org_id = :org_id AND l.node_row = j.value LIMIT 1 OFFSET :look)

-- walk_memories: own nodes of the newest memories that hang on each of these nodes, a list of rows
-- planned once
SELECT j.value, w.node_row FROM unnest(:rows::bigint[]) AS j(value) CROSS JOIN LATERAL (
  SELECT own.node_row, l.memory_row FROM memory_node_links l
  JOIN memories m ON m.org_id = l.org_id AND m.row = l.memory_row
  JOIN memory_node_links own ON own.org_id = l.org_id AND own.memory_row = l.memory_row AND own.role = 'self'
  WHERE l.org_id = :org_id AND l.node_row = j.value AND $is_looked_at AND l.role IN ('tag', 'category', 'mention')
    AND $visible_memory
  ORDER BY l.memory_row DESC LIMIT :limit) w
ORDER BY j.value, w.memory_row DESC

-- walk_memories_of: the same by the memories of one place, however many others hang on the nodes: node, row of the
-- memory, its own node
SELECT l.node_row, l.memory_row, own.node_row FROM memories m
JOIN memory_node_links l ON l.org_id = m.org_id AND l.memory_row = m.row AND l.node_row = ANY(:rows::bigint[])
JOIN memory_node_links own ON own.org_id = m.org_id AND own.memory_row = m.row AND own.role = 'self'
WHERE m.org_id = :org_id AND m.project_id = :project_id AND m.user_id = :user_id
  AND l.role IN ('tag', 'category', 'mention') AND $visible_memory

-- walk_nodes: what memories hang on, from their own nodes, a list of rows
SELECT j.value, w.node_row FROM unnest(:rows::bigint[]) AS j(value)
JOIN graph_nodes n ON n.org_id = :org_id AND n.row = j.value AND n.node_type = 'memory'
JOIN memories m ON m.org_id = n.org_id AND m.row = n.memory_row
CROSS JOIN LATERAL (
  SELECT l.node_row FROM memory_node_links l
  WHERE l.org_id = :org_id AND l.memory_row = m.row AND l.role IN ('tag', 'category', 'mention')
  ORDER BY l.node_row DESC LIMIT :limit) w
WHERE $visible_memory ORDER BY j.value, w.node_row DESC

-- scope_edges: what the memories of one place state
SELECT v.memory_row, e.row, e.from_row, e.to_row, e.edge_type, e.weight, e.confidence, e.base_confidence,
  (e.is_users = 1 AND $is_placed_edge)::int
FROM memories m JOIN graph_evidence v ON v.org_id = m.org_id AND v.memory_row = m.row
JOIN graph_edges e ON e.org_id = v.org_id AND e.row = v.edge_row
WHERE m.org_id = :org_id AND m.project_id = :project_id AND m.user_id = :user_id
  AND (v.origin <> 'metadata' OR e.edge_type = 'related_to') AND $visible_memory

-- places_of_org: every place of the org that has live memories; hops from one to the next (a fragment, table of a WITH)
hop (project, person) AS (
  (SELECT m.project_id, m.user_id FROM memories m
   WHERE m.org_id = :org_id AND m.deleted_at IS NULL ORDER BY m.project_id, m.user_id LIMIT 1)
  UNION ALL
  SELECT n.project_id, n.user_id FROM hop CROSS JOIN LATERAL (
    SELECT m.project_id, m.user_id FROM memories m
    WHERE m.org_id = :org_id AND m.deleted_at IS NULL AND (m.project_id, m.user_id) > (hop.project, hop.person)
    ORDER BY m.project_id, m.user_id LIMIT 1) n)

-- scope_places: every place of the org that a reach without fixed places sees
WITH RECURSIVE $places_of_org
SELECT project, person FROM hop
WHERE (CAST(:projects AS text[]) IS NULL OR project = ANY(:projects))
  AND (CAST(:users AS text[]) IS NULL OR person = ANY(:users))
ORDER BY 1, 2

-- scope_user_edges: edges that people made
SELECT e.row, e.from_row, e.to_row, e.edge_type, e.weight, e.confidence FROM graph_edges e
WHERE e.org_id = :org_id AND e.is_users = 1 AND $is_placed_edge

-- nodes_touched: nodes that these memories hang on or state something about; a list of ids
WITH wanted AS MATERIALIZED (
  SELECT m.org_id, m.row FROM unnest(:ids::text[]) AS j(value)
  JOIN memories m ON m.org_id = :org_id AND m.id = j.value)
SELECT l.node_row FROM wanted m
JOIN memory_node_links l ON l.org_id = :org_id AND l.memory_row = m.row
WHERE l.role NOT IN ('type', 'scope', 'subject')
UNION
SELECT e.from_row FROM wanted m
JOIN graph_evidence v ON v.org_id = :org_id AND v.memory_row = m.row
JOIN graph_edges e ON e.org_id = :org_id AND e.row = v.edge_row
UNION
SELECT e.to_row FROM wanted m
JOIN graph_evidence v ON v.org_id = :org_id AND v.memory_row = m.row
JOIN graph_edges e ON e.org_id = :org_id AND e.row = v.edge_row

-- nodes_joined: nodes at the other ends of the edges that touch these; a list of rows
SELECT e.to_row FROM unnest(:rows::bigint[]) AS j(value)
JOIN graph_edges e ON e.org_id = :org_id AND e.from_row = j.value
UNION
SELECT e.from_row FROM unnest(:rows::bigint[]) AS j(value)
JOIN graph_edges e ON e.org_id = :org_id AND e.to_row = j.value

-- end_of_memory: until when a memory m counts, as far as is known; 9999 is after all that is kept (a fragment)
coalesce(least(m.expires_at, m.invalid_at), TIMESTAMPTZ '9999-12-31 23:59:59+00')

-- nodes_end: until when the memories count that have these nodes; a list of rows
SELECT n.row, $end_of_memory FROM unnest(:rows::bigint[]) AS j(value)
JOIN graph_nodes n ON n.org_id = :org_id AND n.row = j.value AND n.node_type = 'memory'
JOIN memories m ON m.org_id = n.org_id AND m.row = n.memory_row

-- edges_end: until when a memory that may be seen states these edges; a list of rows
SELECT v.edge_row, max($end_of_memory) FROM unnest(:rows::bigint[]) AS j(value)
JOIN graph_edges e ON e.org_id = :org_id AND e.row = j.value AND e.is_users = 0
JOIN graph_evidence v ON v.org_id = e.org_id AND v.edge_row = e.row
JOIN memories m ON m.org_id = v.org_id AND m.row = v.memory_row
WHERE $visible_memory GROUP BY v.edge_row

-- nodes_linked: those of these nodes on which a memory hangs that may be seen; a list of rows
SELECT n.row FROM unnest(:rows::bigint[]) AS j(value)
JOIN graph_nodes n ON n.org_id = :org_id AND n.row = j.value WHERE $is_linked

-- next_turn: when a memory m that begins or ceases to hold later does so next (a fragment)
CASE WHEN m.valid_at > :now THEN m.valid_at ELSE $end_of_memory END

-- is_later: whether a memory m in reach begins or ceases to hold later (a fragment)
m.org_id = :org_id AND m.deleted_at IS NULL
  AND (m.valid_at > :now OR (coalesce(m.expires_at, m.invalid_at) IS NOT NULL AND $end_of_memory > :now))
  AND (CAST(:in_projects AS text) IS NULL OR strpos(:in_projects, chr(31) || m.project_id || chr(31)) > 0)
  AND (CAST(:in_users AS text) IS NULL OR strpos(:in_users, chr(31) || m.user_id || chr(31)) > 0)
  AND (CAST(:in_labels AS text) IS NULL OR strpos(:in_labels, chr(31) || m.classification || chr(31)) > 0)
  AND (CAST(:hidden AS text) IS NULL OR strpos(:hidden, chr(31) || m.row::text || chr(31)) = 0)

-- turning_of: the same of a list of ids
SELECT m.id, $next_turn FROM unnest(:ids::text[]) AS j(value) JOIN memories m ON m.org_id = :org_id AND m.id = j.value
WHERE $is_later

-- own_nodes: the own nodes of memories by id, a list
SELECT m.id, l.node_row FROM unnest(:ids::text[]) AS j(value)
JOIN memories m ON m.org_id = :org_id AND m.id = j.value
JOIN memory_node_links l ON l.org_id = m.org_id AND l.memory_row = m.row AND l.role = 'self'

-- nodes_described: what these nodes are; a list of rows
SELECT n.row, n.id, n.project_id, n.node_type, n.node_key, n.label, n.importance_weight, n.feedback_weight
FROM unnest(:rows::bigint[]) AS j(value) JOIN graph_nodes n ON n.org_id = :org_id AND n.row = j.value

-- nodes_by_memory: what memories hang on, their own nodes included, but not what all of a place share
SELECT m.id, l.node_row FROM unnest(:ids::text[]) WITH ORDINALITY AS j(value, key)
JOIN memories m ON m.org_id = :org_id AND m.id = j.value
JOIN memory_node_links l ON l.org_id = m.org_id AND l.memory_row = m.row AND l.role NOT IN ('type', 'scope', 'subject')
ORDER BY j.key, l.role <> 'self', l.node_row

-- memories_at: the newest memories that hang on each of these nodes, a list of rows, and may be answered
SELECT j.value, w.id FROM unnest(:rows::bigint[]) AS j(value) CROSS JOIN LATERAL (
  SELECT m.id, l.memory_row FROM memory_node_links l
  JOIN memories m ON m.org_id = l.org_id AND m.row = l.memory_row
  WHERE l.org_id = :org_id AND l.node_row = j.value AND $is_looked_at AND $is_answered
  ORDER BY l.memory_row DESC LIMIT :limit) w
ORDER BY j.value, w.memory_row DESC

-- memories_at_of: the same by the memories of one place: node, row of the memory, its id
SELECT l.node_row, l.memory_row, m.id FROM memories m
JOIN memory_node_links l ON l.org_id = m.org_id AND l.memory_row = m.row AND l.node_row = ANY(:rows::bigint[])
WHERE m.org_id = :org_id AND m.project_id = :project_id AND m.user_id = :user_id AND $is_answered

-- is_answered: whether the memory m may be answered for what it hangs on by the link l (a fragment)
l.role NOT IN ('type', 'scope', 'subject') AND m.layer <> 'rule' AND m.type <> 'rule' AND $visible_memory

-- contradictions: what contradicts these memories; a list of ids
-- planned once
SELECT a.id, n.node_key, $seen_confidence FROM unnest(:ids::text[]) AS j(value)
JOIN memories a ON a.org_id = :org_id AND a.id = j.value
JOIN memory_node_links own ON own.org_id = a.org_id AND own.memory_row = a.row AND own.role = 'self'
JOIN graph_edges e ON e.org_id = own.org_id AND e.from_row = own.node_row AND e.edge_type = 'contradicts'
JOIN graph_nodes n ON n.org_id = e.org_id AND n.row = e.to_row AND n.node_type = 'memory'
WHERE $is_reachable
ORDER BY 1, 2, e.row
