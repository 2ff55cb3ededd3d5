-- edges_upto: the last row of the next page of an org's edges
SELECT max(page.row) FROM (
  SELECT e.row FROM graph_edges e WHERE e.org_id = :org_id AND e.row > :after ORDER BY e.row LIMIT :limit) AS page

-- edges_tally: the edges of a page by type: how many, and how many are below a confidence
SELECT edge_type, count(*), count(*) FILTER (WHERE confidence < :threshold::double precision) FROM graph_edges
WHERE org_id = :org_id AND row > :after AND row <= :upto GROUP BY edge_type ORDER BY edge_type

-- edges_aged: the edges of a page that nothing has reinforced since a moment, without those that people made
SELECT row, project_id, from_row, to_row, edge_type, label, confidence, last_reinforced_at FROM graph_edges
WHERE org_id = :org_id AND row > :after AND row <= :upto AND is_users = 0 AND last_reinforced_at < :before ORDER BY row

-- edge_fade: give an edge the confidence it decayed to, unless it changed meanwhile
UPDATE graph_edges SET confidence = :confidence, last_reinforced_at = :anchor
WHERE row = :row AND org_id = :org_id AND confidence = :old_confidence::double precision
  AND last_reinforced_at = :old_anchor AND is_users = 0

-- edge_seen: one edge as a reach sees it: its row, whether a person made it for this reach, and whether it is seen
SELECT e.row, (e.is_users = 1 AND ($is_placed_edge))::int, $is_seen_edge::int FROM graph_edges e
WHERE e.org_id = :org_id AND e.from_row = :from_row AND e.to_row = :to_row AND e.edge_type = :edge_type
  AND e.project_id = :project_id

-- edge_witnesses: which of these memories state an edge; a list of rows
SELECT v.memory_row FROM graph_evidence v
WHERE v.org_id = :org_id AND v.edge_row = :edge_row AND v.memory_row = ANY(:memory_rows::bigint[])
ORDER BY v.memory_row

-- edge_first_witness: the memory that was the first to state an edge, and what the edge says
SELECT v.memory_row, e.from_row, e.to_row, e.edge_type
FROM graph_edges e JOIN graph_evidence v ON v.org_id = e.org_id AND v.edge_row = e.row
WHERE e.row = :row AND e.org_id = :org_id AND v.origin = 'stated' ORDER BY v.at, v.memory_row LIMIT 1

-- edge_rebase: give an edge what it would have begun with, and what its further witnesses add
UPDATE graph_edges SET base_confidence = :base::double precision,
  confidence = least(1.0, :base::double precision + :step::double precision * greatest(0, witnesses - 1))
WHERE row = :row AND org_id = :org_id AND is_users = 0

-- seen_witnesses: the witnesses of the edge e that may be seen: how many, their ids as JSON, the first and the last
-- time (a fragment)
(SELECT count(*) AS number, coalesce(json_agg(m.id ORDER BY m.row), '[]')::text AS ids, min(v.at) AS first_at,
   max(v.at) AS last_at
 FROM graph_evidence v JOIN memories m ON m.org_id = v.org_id AND m.row = v.memory_row
 WHERE v.org_id = :org_id AND v.edge_row = e.row AND $visible_memory)

-- edges_within: a page of the edges that a reach sees: their ends, what they say, and their witnesses within it. The
-- label and the times are of all who state it: where some may not be seen, only the times of the others are told
SELECT e.row, e.from_type, e.from_key, e.from_project, e.to_type, e.to_key, e.to_project, e.project_id, e.edge_type,
  CASE WHEN seen.number = e.witnesses THEN e.label ELSE '' END, e.weight, $seen_confidence, e.is_persons::int,
  CASE WHEN seen.number = e.witnesses AND e.is_persons = (e.is_users = 1) THEN e.created_at ELSE seen.first_at END,
  CASE WHEN seen.number = e.witnesses AND e.is_persons = (e.is_users = 1)
    THEN e.last_reinforced_at ELSE seen.last_at END,
  seen.ids
FROM (
  SELECT e.*, a.node_type AS from_type, a.node_key AS from_key, a.project_id AS from_project,
    b.node_type AS to_type, b.node_key AS to_key, b.project_id AS to_project,
    (e.is_users = 1 AND ($is_placed_edge)) AS is_persons
  FROM graph_edges e
  JOIN graph_nodes a ON a.org_id = :org_id AND a.row = e.from_row
  JOIN graph_nodes b ON b.org_id = :org_id AND b.row = e.to_row
  WHERE e.org_id = :org_id AND e.row > :after AND $is_seen_edge ORDER BY e.row LIMIT :limit) AS e
CROSS JOIN LATERAL $seen_witnesses AS seen
ORDER BY e.row

-- is_known_node: whether a memory that may be seen hangs on the node n, or states something about it (a fragment)
($is_linked OR EXISTS (
  SELECT 1 FROM graph_edges o JOIN graph_evidence v ON v.org_id = :org_id AND v.edge_row = o.row
  JOIN memories m ON m.org_id = :org_id AND m.row = v.memory_row
  WHERE o.org_id = :org_id AND o.from_row = n.row AND $visible_memory)
OR EXISTS (
  SELECT 1 FROM graph_edges o JOIN graph_evidence v ON v.org_id = :org_id AND v.edge_row = o.row
  JOIN memories m ON m.org_id = :org_id AND m.row = v.memory_row
  WHERE o.org_id = :org_id AND o.to_row = n.row AND $visible_memory))

-- nodes_seen: those of these nodes that a memory within a reach hangs on or states something about; a list of rows
SELECT n.row FROM graph_nodes n
WHERE n.org_id = :org_id AND n.row = ANY(:rows::bigint[]) AND $is_known_node ORDER BY n.row

-- projects_of: every project of an org
SELECT DISTINCT project_id FROM memories WHERE org_id = :org_id AND deleted_at IS NULL ORDER BY project_id

-- names_by: those of these memories that name one of these; lists of numbers
SELECT DISTINCT n.memory_row FROM memory_names n
WHERE n.org_id = :org_id AND n.name = ANY(:names::bigint[]) AND n.is_subject = 0
  AND n.memory_row = ANY(:rows::bigint[])

-- pending_failures: how many memories of an org could not be mapped, and how many of those are given up
SELECT count(*), count(*) FILTER (WHERE attempts >= :max_attempts) FROM graph_pending
WHERE org_id = :org_id AND attempts > 0

-- has_no_memory: whether what x refers to is no live memory (a fragment)
NOT EXISTS (SELECT 1 FROM memories m WHERE m.org_id = x.org_id AND m.row = x.memory_row AND m.deleted_at IS NULL)

-- is_loose_evidence: whether a witness x has no edge or no live memory (a fragment)
NOT EXISTS (SELECT 1 FROM graph_edges e WHERE e.org_id = x.org_id AND e.row = x.edge_row) OR $has_no_memory

-- is_loose_link: whether a link x has no node or no live memory (a fragment)
NOT EXISTS (SELECT 1 FROM graph_nodes n WHERE n.org_id = x.org_id AND n.row = x.node_row) OR $has_no_memory

-- is_stranded: whether an edge x is only a person's, and no memory hangs on one of its ends any more, nor states
-- anything about it: nobody sees such an edge, nor could take it back (a fragment)
(x.is_users = 1 AND x.witnesses = 0 AND EXISTS (
  SELECT 1 FROM graph_nodes n WHERE n.org_id = x.org_id AND n.row IN (x.from_row, x.to_row)
    AND NOT EXISTS (SELECT 1 FROM memory_node_links l WHERE l.org_id = x.org_id AND l.node_row = n.row)
    AND NOT EXISTS (
      SELECT 1 FROM graph_edges o WHERE o.org_id = x.org_id AND o.from_row = n.row AND o.witnesses > 0)
    AND NOT EXISTS (
      SELECT 1 FROM graph_edges o WHERE o.org_id = x.org_id AND o.to_row = n.row AND o.witnesses > 0)))

-- drop_stranded: drop the stranded edges of these nodes, a list of rows; returns what they touched. A node on which a
-- memory hangs is not looked at: it may have thousands of edges
DELETE FROM graph_edges AS x WHERE x.org_id = :org_id AND x.row IN (
  WITH bare AS MATERIALIZED (
    SELECT j.value AS node FROM unnest(:rows::bigint[]) AS j(value) WHERE NOT EXISTS (
      SELECT 1 FROM memory_node_links l WHERE l.org_id = :org_id AND l.node_row = j.value))
  SELECT e.row FROM bare JOIN graph_edges e ON e.org_id = :org_id AND e.from_row = bare.node
  UNION
  SELECT e.row FROM bare JOIN graph_edges e ON e.org_id = :org_id AND e.to_row = bare.node)
AND $is_stranded
RETURNING x.from_row, x.to_row

-- is_loose_edge: whether an edge x lacks a node at one end, nobody states it, or nobody sees it (a fragment)
NOT EXISTS (SELECT 1 FROM graph_nodes n WHERE n.org_id = x.org_id AND n.row = x.from_row)
OR NOT EXISTS (SELECT 1 FROM graph_nodes n WHERE n.org_id = x.org_id AND n.row = x.to_row)
OR (x.is_users = 0 AND NOT EXISTS (
  SELECT 1 FROM graph_evidence v WHERE v.org_id = x.org_id AND v.edge_row = x.row))
OR $is_stranded

-- dangling: how many witnesses, links, edges and nodes of an org refer to what is not there
SELECT (SELECT count(*) FROM graph_evidence x WHERE x.org_id = :org_id AND ($is_loose_evidence)),
  (SELECT count(*) FROM memory_node_links x WHERE x.org_id = :org_id AND ($is_loose_link)),
  (SELECT count(*) FROM graph_edges x WHERE x.org_id = :org_id AND ($is_loose_edge)),
  (SELECT count(*) FROM graph_nodes x WHERE x.org_id = :org_id AND ($is_loose_node))

-- sweep_edges: drop edges without a node at one end, or that nobody states or sees; returns what they touched
DELETE FROM graph_edges AS x WHERE x.org_id = :org_id AND ($is_loose_edge) RETURNING x.project_id, x.from_row, x.to_row
