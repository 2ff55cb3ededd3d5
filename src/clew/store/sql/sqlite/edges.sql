-- edges_upto: the last row of the next page of an org's edges. Here and below in the order of rows, not by an index
-- of the org, which would be walked for each page
SELECT max(row) FROM (
  SELECT row FROM graph_edges NOT INDEXED WHERE org_id = :org_id AND row > :after ORDER BY row LIMIT :limit)

-- edges_tally: the edges of a page by type: how many, and how many are below a confidence
SELECT edge_type, count(*), sum(confidence < :threshold) FROM graph_edges NOT INDEXED
WHERE org_id = :org_id AND row > :after AND row <= :upto GROUP BY edge_type

-- edges_aged: the edges of a page that nothing has reinforced since a moment, without those that people made
SELECT row, project_id, from_row, to_row, edge_type, label, confidence, last_reinforced_at
FROM graph_edges NOT INDEXED
WHERE org_id = :org_id AND row > :after AND row <= :upto AND is_users = 0 AND last_reinforced_at < :before ORDER BY row

-- edge_fade: give an edge the confidence it decayed to, unless it changed meanwhile
UPDATE graph_edges SET confidence = :confidence, last_reinforced_at = :anchor
WHERE row = :row AND org_id = :org_id AND confidence = :old_confidence AND last_reinforced_at = :old_anchor
  AND is_users = 0

-- edge_seen: one edge as a reach sees it: its row, whether a person made it for this reach, and whether it is seen
SELECT e.row, e.is_users AND ($is_placed_edge), $is_seen_edge FROM graph_edges e
WHERE e.org_id = :org_id AND e.from_row = :from_row AND e.to_row = :to_row AND e.edge_type = :edge_type
  AND e.project_id = :project_id

-- edge_witnesses: which of these memories state an edge; a JSON list of rows
SELECT v.memory_row FROM json_each(:memory_rows) j
CROSS JOIN graph_evidence v ON v.org_id = :org_id AND v.edge_row = :edge_row AND v.memory_row = j.value

-- edge_first_witness: the memory that was the first to state an edge, and what the edge says
SELECT v.memory_row, e.from_row, e.to_row, e.edge_type
FROM graph_edges e CROSS JOIN graph_evidence v ON v.org_id = e.org_id AND v.edge_row = e.row
WHERE e.row = :row AND e.org_id = :org_id AND v.origin = 'stated' ORDER BY v.at, v.memory_row LIMIT 1

-- edge_rebase: give an edge what it would have begun with, and what its further witnesses add
UPDATE graph_edges SET base_confidence = :base, confidence = min(1.0, :base + :step * max(0, witnesses - 1))
WHERE row = :row AND org_id = :org_id AND is_users = 0

-- seen_witnesses: the witnesses of the edge e that may be seen, as [[ids], first time, last time] (a fragment)
(SELECT json_array(json_group_array(m.id ORDER BY m.row), min(v.at), max(v.at))
 FROM graph_evidence v CROSS JOIN memories m INDEXED BY memories_seen ON m.row = v.memory_row
 WHERE v.org_id = :org_id AND v.edge_row = e.row AND $visible_memory)

-- edges_within: a page of the edges that a reach sees: their ends, what they say, and their witnesses within it. The
-- label and the times are of all who state it: where some may not be seen, only the times of the others are told
SELECT row, from_type, from_key, from_project, to_type, to_key, to_project, project_id, edge_type,
  CASE WHEN is_all_seen THEN label ELSE '' END, weight, sure, is_persons,
  CASE WHEN is_all_seen AND is_persons = is_users THEN created_at ELSE seen ->> 1 END,
  CASE WHEN is_all_seen AND is_persons = is_users THEN last_reinforced_at ELSE seen ->> 2 END, seen -> 0
FROM (
  SELECT *, json_array_length(seen, '$[0]') = witnesses AS is_all_seen FROM (
    SELECT e.row AS row, a.node_type AS from_type, a.node_key AS from_key, a.project_id AS from_project,
      b.node_type AS to_type, b.node_key AS to_key, b.project_id AS to_project, e.project_id AS project_id,
      e.edge_type AS edge_type, e.label AS label, e.weight AS weight, $seen_confidence AS sure,
      e.is_users AS is_users, e.is_users AND ($is_placed_edge) AS is_persons, e.created_at AS created_at,
      e.last_reinforced_at AS last_reinforced_at, e.witnesses AS witnesses, $seen_witnesses AS seen
    FROM graph_edges e NOT INDEXED
    CROSS JOIN graph_nodes a ON a.row = e.from_row CROSS JOIN graph_nodes b ON b.row = e.to_row
    WHERE e.row > :after AND $is_seen_edge ORDER BY e.row LIMIT :limit))
ORDER BY row

-- is_known_node: whether a memory that may be seen hangs on the node n, or states something about it (a fragment)
($is_linked OR EXISTS (
  SELECT 1 FROM graph_edges o CROSS JOIN graph_evidence v ON v.org_id = o.org_id AND v.edge_row = o.row
  CROSS JOIN memories m INDEXED BY memories_seen ON m.row = v.memory_row
  WHERE o.org_id = :org_id AND o.from_row = n.row AND $visible_memory)
OR EXISTS (
  SELECT 1 FROM graph_edges o CROSS JOIN graph_evidence v ON v.org_id = o.org_id AND v.edge_row = o.row
  CROSS JOIN memories m INDEXED BY memories_seen ON m.row = v.memory_row
  WHERE o.org_id = :org_id AND o.to_row = n.row AND $visible_memory))

-- nodes_seen: those of these nodes that a memory within a reach hangs on or states something about; a JSON list
SELECT n.row FROM json_each(:rows) j CROSS JOIN graph_nodes n ON n.row = j.value
WHERE n.org_id = :org_id AND $is_known_node

-- projects_of: every project of an org
SELECT DISTINCT project_id FROM memories WHERE org_id = :org_id AND deleted_at IS NULL

-- names_by: those of these memories that name one of these; JSON lists of numbers
SELECT DISTINCT n.memory_row FROM json_each(:names) j CROSS JOIN json_each(:rows) r
CROSS JOIN memory_names n ON n.org_id = :org_id AND n.name = j.value AND n.is_subject = 0 AND n.memory_row = r.value

-- pending_failures: how many memories of an org could not be mapped, and how many of those are given up
SELECT count(*), coalesce(sum(attempts >= :max_attempts), 0) FROM graph_pending WHERE org_id = :org_id AND attempts > 0

-- has_no_memory: whether what x refers to is no live memory (a fragment)
NOT EXISTS (SELECT 1 FROM memories m WHERE m.row = x.memory_row AND m.org_id = x.org_id AND m.deleted_at IS NULL)

-- is_loose_evidence: whether a witness x has no edge or no live memory (a fragment)
NOT EXISTS (SELECT 1 FROM graph_edges e WHERE e.row = x.edge_row AND e.org_id = x.org_id) OR $has_no_memory

-- is_loose_link: whether a link x has no node or no live memory (a fragment)
NOT EXISTS (SELECT 1 FROM graph_nodes n WHERE n.row = x.node_row AND n.org_id = x.org_id) OR $has_no_memory

-- is_stranded: whether an edge x is only a person's, and no memory hangs on one of its ends any more, nor states
-- anything about it: nobody sees such an edge, nor could take it back (a fragment)
(x.is_users AND x.witnesses = 0 AND EXISTS (
  SELECT 1 FROM graph_nodes n WHERE n.row IN (x.from_row, x.to_row)
    AND NOT EXISTS (SELECT 1 FROM memory_node_links l WHERE l.org_id = x.org_id AND l.node_row = n.row)
    AND NOT EXISTS (
      SELECT 1 FROM graph_edges o WHERE o.org_id = x.org_id AND o.from_row = n.row AND o.witnesses > 0)
    AND NOT EXISTS (
      SELECT 1 FROM graph_edges o WHERE o.org_id = x.org_id AND o.to_row = n.row AND o.witnesses > 0)))

-- drop_stranded: drop the stranded edges of these nodes, a JSON list of rows; returns what they touched. A node on
-- which a memory hangs is not looked at: it may have thousands of edges. The + keeps the planner from walking the org
DELETE FROM graph_edges AS x WHERE +x.org_id = :org_id AND $is_stranded AND x.row IN (
  WITH bare AS MATERIALIZED (
    SELECT j.value AS node FROM json_each(:rows) j WHERE NOT EXISTS (
      SELECT 1 FROM memory_node_links l WHERE l.org_id = :org_id AND l.node_row = j.value))
  SELECT e.row FROM bare CROSS JOIN graph_edges e ON e.org_id = :org_id AND e.from_row = bare.node
  UNION
  SELECT e.row FROM bare CROSS JOIN graph_edges e ON e.org_id = :org_id AND e.to_row = bare.node)
RETURNING from_row, to_row

-- is_loose_edge: whether an edge x lacks a node at one end, nobody states it, or nobody sees it (a fragment)
NOT EXISTS (SELECT 1 FROM graph_nodes n WHERE n.row = x.from_row AND n.org_id = x.org_id)
OR NOT EXISTS (SELECT 1 FROM graph_nodes n WHERE n.row = x.to_row AND n.org_id = x.org_id)
OR (x.is_users = 0 AND NOT EXISTS (
  SELECT 1 FROM graph_evidence v WHERE v.org_id = x.org_id AND v.edge_row = x.row))
OR $is_stranded

-- dangling: how many witnesses, links, edges and nodes of an org refer to what is not there
SELECT (SELECT count(*) FROM graph_evidence x WHERE x.org_id = :org_id AND ($is_loose_evidence)),
  (SELECT count(*) FROM memory_node_links x WHERE x.org_id = :org_id AND ($is_loose_link)),
  (SELECT count(*) FROM graph_edges x NOT INDEXED WHERE x.org_id = :org_id AND ($is_loose_edge)),
  (SELECT count(*) FROM graph_nodes x NOT INDEXED WHERE x.org_id = :org_id AND ($is_loose_node))

-- sweep_edges: drop edges without a node at one end, or that nobody states or sees; returns what they touched
DELETE FROM graph_edges AS x WHERE x.org_id = :org_id AND ($is_loose_edge) RETURNING project_id, from_row, to_row
