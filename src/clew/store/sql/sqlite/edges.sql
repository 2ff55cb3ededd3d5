-- reached_memory: whether a live memory m lies within a reach (a fragment)
m.deleted_at IS NULL AND (:projects IS NULL OR m.project_id IN (SELECT value FROM json_each(:projects)))
  AND (:users IS NULL OR m.user_id IN (SELECT value FROM json_each(:users)))

-- edges_upto: the last row of the next page of edges, all orgs
SELECT max(row) FROM (SELECT row FROM graph_edges WHERE row > :after ORDER BY row LIMIT :limit)

-- edges_tally: the edges of a page by type: how many, and how many are below a confidence
SELECT edge_type, count(*), sum(confidence < :threshold) FROM graph_edges
WHERE row > :after AND row <= :upto GROUP BY edge_type

-- edges_aged: the edges of a page that nothing has reinforced since a moment, without those that people made
SELECT row, org_id, project_id, from_row, to_row, edge_type, label, confidence, last_reinforced_at FROM graph_edges
WHERE row > :after AND row <= :upto AND is_users = 0 AND last_reinforced_at < :before ORDER BY row

-- edge_fade: give an edge the confidence it decayed to, unless it changed meanwhile
UPDATE graph_edges SET confidence = :confidence, last_reinforced_at = :anchor
WHERE row = :row AND confidence = :old_confidence AND last_reinforced_at = :old_anchor AND is_users = 0

-- edge_by_key: one edge: its row, and whether a person made it
SELECT row, is_users FROM graph_edges
WHERE org_id = :org_id AND from_row = :from_row AND to_row = :to_row AND edge_type = :edge_type
  AND project_id = :project_id

-- edge_restore: give an edge that comes from a file what it had there
UPDATE graph_edges SET
  confidence = :confidence, base_confidence = :base, last_reinforced_at = :anchor, created_at = :created_at
WHERE row = :row AND org_id = :org_id

-- edges_within: a page of the edges that a reach sees: their ends, what they say, and their witnesses within it
SELECT e.row, a.node_type, a.node_key, a.project_id, b.node_type, b.node_key, b.project_id, e.project_id,
  e.edge_type, e.label, e.weight, e.confidence, e.is_users, e.created_at, e.last_reinforced_at,
  (SELECT json_group_array(m.id ORDER BY m.row) FROM graph_evidence v JOIN memories m ON m.row = v.memory_row
   WHERE v.org_id = e.org_id AND v.edge_row = e.row AND $reached_memory) AS witnesses
FROM graph_edges e NOT INDEXED
CROSS JOIN graph_nodes a ON a.row = e.from_row CROSS JOIN graph_nodes b ON b.row = e.to_row
WHERE e.row > :after AND e.org_id = :org_id
  AND CASE a.node_type WHEN 'memory' THEN EXISTS (
    SELECT 1 FROM memories m WHERE m.org_id = :org_id AND m.id = a.node_key AND $reached_memory) ELSE 1 END
  AND CASE b.node_type WHEN 'memory' THEN EXISTS (
    SELECT 1 FROM memories m WHERE m.org_id = :org_id AND m.id = b.node_key AND $reached_memory) ELSE 1 END
  AND (witnesses <> '[]' OR (e.is_users
    AND (:projects IS NULL OR e.project_id IN (SELECT value FROM json_each(:projects)))
    AND EXISTS (SELECT 1 FROM memory_node_links l JOIN memories m ON m.row = l.memory_row
      WHERE l.org_id = :org_id AND l.node_row = a.row AND $reached_memory)
    AND EXISTS (SELECT 1 FROM memory_node_links l JOIN memories m ON m.row = l.memory_row
      WHERE l.org_id = :org_id AND l.node_row = b.row AND $reached_memory)))
ORDER BY e.row LIMIT :limit

-- nodes_seen: those of these nodes that a memory within a reach hangs on or states something about; a JSON list
SELECT j.value FROM json_each(:rows) j WHERE EXISTS (
  SELECT 1 FROM memory_node_links l JOIN memories m ON m.row = l.memory_row
  WHERE l.org_id = :org_id AND l.node_row = j.value AND $reached_memory)
OR EXISTS (
  SELECT 1 FROM graph_edges e CROSS JOIN graph_evidence v ON v.org_id = e.org_id AND v.edge_row = e.row
  CROSS JOIN memories m ON m.row = v.memory_row
  WHERE e.org_id = :org_id AND e.from_row = j.value AND $reached_memory)
OR EXISTS (
  SELECT 1 FROM graph_edges e CROSS JOIN graph_evidence v ON v.org_id = e.org_id AND v.edge_row = e.row
  CROSS JOIN memories m ON m.row = v.memory_row
  WHERE e.org_id = :org_id AND e.to_row = j.value AND $reached_memory)

-- projects_of: every project of an org
SELECT DISTINCT project_id FROM memories WHERE org_id = :org_id AND deleted_at IS NULL

-- names_of_memory: what a memory names and is about
SELECT name, is_subject FROM memory_names WHERE org_id = :org_id AND memory_row = :memory_row

-- names_by: those of these memories that name one of these; JSON lists of numbers
SELECT DISTINCT n.memory_row FROM json_each(:names) j CROSS JOIN json_each(:rows) r
CROSS JOIN memory_names n ON n.org_id = :org_id AND n.name = j.value AND n.is_subject = 0 AND n.memory_row = r.value

-- pending_failures: how many memories could not be mapped, and how many of those are given up, all orgs
SELECT count(*), coalesce(sum(attempts >= :max_attempts), 0) FROM graph_pending WHERE attempts > 0

-- graph_counts: nodes, edges and links of an org
SELECT (SELECT count(*) FROM graph_nodes WHERE org_id = :org_id), (SELECT count(*) FROM graph_edges WHERE org_id = :org_id),
  (SELECT count(*) FROM memory_node_links WHERE org_id = :org_id)

-- has_no_memory: whether what x refers to is no live memory (a fragment)
NOT EXISTS (SELECT 1 FROM memories m WHERE m.row = x.memory_row AND m.org_id = x.org_id AND m.deleted_at IS NULL)

-- is_loose_evidence: whether a witness x has no edge or no live memory (a fragment)
NOT EXISTS (SELECT 1 FROM graph_edges e WHERE e.row = x.edge_row AND e.org_id = x.org_id) OR $has_no_memory

-- is_loose_link: whether a link x has no node or no live memory (a fragment)
NOT EXISTS (SELECT 1 FROM graph_nodes n WHERE n.row = x.node_row AND n.org_id = x.org_id) OR $has_no_memory

-- is_loose_edge: whether an edge x lacks a node at one end, or nobody states it (a fragment)
NOT EXISTS (SELECT 1 FROM graph_nodes n WHERE n.row = x.from_row AND n.org_id = x.org_id)
OR NOT EXISTS (SELECT 1 FROM graph_nodes n WHERE n.row = x.to_row AND n.org_id = x.org_id)
OR (x.is_users = 0 AND NOT EXISTS (
  SELECT 1 FROM graph_evidence v WHERE v.org_id = x.org_id AND v.edge_row = x.row))

-- is_loose_node: whether a node x is of a memory that is not there (a fragment)
x.node_type = 'memory' AND NOT EXISTS (
  SELECT 1 FROM memories m WHERE m.org_id = x.org_id AND m.id = x.node_key AND m.deleted_at IS NULL)

-- dangling: how many witnesses, links, edges and nodes refer to what is not there
SELECT (SELECT count(*) FROM graph_evidence x WHERE $is_loose_evidence),
  (SELECT count(*) FROM memory_node_links x WHERE $is_loose_link),
  (SELECT count(*) FROM graph_edges x WHERE $is_loose_edge),
  (SELECT count(*) FROM graph_nodes x WHERE $is_loose_node)

-- sweep_evidence: drop witnesses without an edge or a live memory
DELETE FROM graph_evidence AS x WHERE $is_loose_evidence

-- sweep_links: drop links without a node or a live memory
DELETE FROM memory_node_links AS x WHERE $is_loose_link

-- sweep_edges: drop edges without a node at one end, or that nobody states; returns what they touched
DELETE FROM graph_edges AS x WHERE $is_loose_edge RETURNING org_id, project_id, from_row, to_row

-- sweep_nodes: drop nodes of memories that are not there
DELETE FROM graph_nodes AS x WHERE $is_loose_node

-- sweep_names: drop what memories named that are not there
DELETE FROM memory_names AS x WHERE $has_no_memory

-- sweep_pending: drop what was still to be made of memories that are not there
DELETE FROM graph_pending AS x WHERE $has_no_memory
