-- is_stated: whether a memory that may be seen says the edge e, not only by where it is filed (a fragment)
EXISTS (
  SELECT 1 FROM graph_evidence v JOIN memories m ON m.org_id = :org_id AND m.row = v.memory_row
  WHERE v.org_id = :org_id AND v.edge_row = e.row AND v.origin <> 'metadata' AND $visible_memory)

-- has_any_witness: whether a memory that may be seen says the edge e, in whatever way (a fragment)
EXISTS (
  SELECT 1 FROM graph_evidence v JOIN memories m ON m.org_id = :org_id AND m.row = v.memory_row
  WHERE v.org_id = :org_id AND v.edge_row = e.row AND $visible_memory)

-- has_hidden_end: whether the edge e has an end that is a memory which may not be seen (a fragment)
EXISTS (
  SELECT 1 FROM graph_nodes n
  WHERE n.org_id = :org_id AND n.row IN (e.from_row, e.to_row) AND n.node_type = 'memory'
    AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.row = n.memory_row AND $visible_memory))

-- is_users_edge: whether a person made the edge e for this reach, and both ends are known to it (a fragment)
(e.is_users = 1 AND $is_placed_edge
  AND NOT EXISTS (
    SELECT 1 FROM graph_nodes n WHERE n.org_id = :org_id AND n.row IN (e.from_row, e.to_row) AND NOT $is_known_node))

-- is_spelled_so: whether one of the newest memories that may be seen spells the node n as its label does: the
-- label comes from the first memory that named it, and that one may be private (a fragment)
EXISTS (
  SELECT 1 FROM (
    SELECT m.row AS row FROM memory_node_links l JOIN memories m ON m.org_id = :org_id AND m.row = l.memory_row
    WHERE l.org_id = :org_id AND l.node_row = n.row AND $visible_memory
    ORDER BY l.memory_row DESC LIMIT 64) seen
  JOIN memories s ON s.org_id = :org_id AND s.row = seen.row
  WHERE strpos(concat_ws(' ', s.content, s.title, s.tags, s.category, s.paths, s.author),
    CASE WHEN length(n.label) = 120 THEN substr(n.label, 1, 117) ELSE n.label END) > 0)

-- nodes_shown: what may be said about these nodes; a list of rows
SELECT n.row, n.id, n.node_type, n.node_key,
  CASE
    WHEN n.node_type = 'memory' THEN (
      SELECT coalesce(nullif(m.title, ''), substr(m.content, 1, 400)) FROM memories m
      WHERE m.org_id = :org_id AND m.row = n.memory_row)
    WHEN n.node_type IN ('memory_type', 'repo', 'user') OR $is_spelled_so THEN n.label
    ELSE n.node_key
  END,
  n.project_id, n.importance_weight
FROM graph_nodes n WHERE n.org_id = :org_id AND n.row = ANY(:rows::bigint[]) AND $is_seen_node
ORDER BY n.row

-- edges_seen: edges of these nodes, a list of rows; what is said before what only files, or the newest first.
-- `only`: facts, those of them that are about things, whatever is stated, or '' for all
SELECT $edge_columns FROM (
  SELECT o.row FROM unnest(:rows::bigint[]) AS j(value)
  JOIN graph_edges o ON o.org_id = :org_id AND o.from_row = j.value
  UNION
  SELECT i.row FROM unnest(:rows::bigint[]) AS j(value)
  JOIN graph_edges i ON i.org_id = :org_id AND i.to_row = j.value) found
JOIN graph_edges e ON e.org_id = :org_id AND e.row = found.row
JOIN graph_nodes f ON f.org_id = :org_id AND f.row = e.from_row
JOIN graph_nodes t ON t.org_id = :org_id AND t.row = e.to_row
WHERE (:edge_type = '' OR e.edge_type = :edge_type)
  AND (:only = '' OR (:only = 'facts' AND $is_fact)
    OR (:only = 'things' AND $is_fact AND f.node_type <> 'memory') OR (:only = 'stated' AND ($is_users_edge OR $is_stated)))
  AND $is_seen_edge
ORDER BY CASE WHEN :newest THEN e.last_reinforced_at END DESC, CASE WHEN :newest THEN false ELSE $is_stated END DESC,
  e.weight * $seen_confidence DESC, e.row DESC LIMIT :limit

-- facts_seen: what is said about things, the surest first, then the newest
SELECT $edge_columns FROM graph_edges e
JOIN graph_nodes f ON f.org_id = :org_id AND f.row = e.from_row
JOIN graph_nodes t ON t.org_id = :org_id AND t.row = e.to_row
WHERE e.org_id = :org_id AND (e.is_users = 1 OR e.edge_type NOT IN ('time', 'entity', 'mention'))
  AND (:projects::text[] IS NULL OR e.project_id = ANY(:projects::text[]))
  AND (e.expires_at IS NULL OR e.expires_at > :now) AND f.node_type <> 'memory' AND t.node_type <> 'memory'
  AND ($is_stated OR $is_users_edge)
ORDER BY $seen_confidence DESC, e.last_reinforced_at DESC, e.row DESC LIMIT :limit

-- witnesses_seen: the newest memories that state an edge, as far as they may be seen
SELECT m.id, v.sentence FROM graph_evidence v JOIN memories m ON m.org_id = :org_id AND m.row = v.memory_row
WHERE v.org_id = :org_id AND v.edge_row = :edge_row AND $visible_memory
ORDER BY v.memory_row DESC LIMIT :limit

-- memories_linked: the memories that hang on these nodes, newest first; a list of rows
SELECT m.id, l.role, m.type, m.title, m.content, m.updated_at
FROM memory_node_links l JOIN memories m ON m.org_id = :org_id AND m.row = l.memory_row
WHERE l.org_id = :org_id AND l.node_row = ANY(:rows::bigint[]) AND $visible_memory
ORDER BY m.updated_at DESC, m.row DESC, l.role LIMIT :limit

-- nodes_named_by: what memories that may be seen hang on; a list of ids
SELECT m.id, l.node_row, l.role FROM unnest(:ids::text[]) AS j(value)
JOIN memories m ON m.org_id = :org_id AND m.id = j.value
JOIN memory_node_links l ON l.org_id = :org_id AND l.memory_row = m.row
WHERE $visible_memory ORDER BY m.row, l.role, l.node_row

-- nodes_beside: from these nodes to the memories that hang on them, and from memories to what they hang on
SELECT l.node_row AS here, own.node_row AS there
FROM unnest(:rows::bigint[]) AS j(value) JOIN memory_node_links l ON l.org_id = :org_id AND l.node_row = j.value
JOIN memories m ON m.org_id = :org_id AND m.row = l.memory_row
JOIN memory_node_links own ON own.org_id = :org_id AND own.memory_row = l.memory_row AND own.role = 'self'
WHERE l.role IN ('tag', 'category', 'mention') AND $visible_memory
UNION
SELECT own.node_row, l.node_row
FROM unnest(:rows::bigint[]) AS j(value) JOIN memory_node_links own ON own.org_id = :org_id AND own.node_row = j.value
JOIN memories m ON m.org_id = :org_id AND m.row = own.memory_row
JOIN memory_node_links l ON l.org_id = :org_id AND l.memory_row = own.memory_row
WHERE own.role = 'self' AND l.role IN ('tag', 'category', 'mention') AND $visible_memory
ORDER BY there DESC, here LIMIT :limit

-- projects_seen: the projects in which a reach sees memories
WITH RECURSIVE $places_of_org
SELECT DISTINCT project FROM hop WHERE :users::text[] IS NULL OR person = ANY(:users::text[])

-- keys_seen: the newest nodes that may be seen, by their keys
SELECT n.row, n.node_key FROM graph_nodes n
WHERE n.org_id = :org_id AND n.node_type NOT IN ('memory', 'memory_type')
  AND (:projects::text[] IS NULL OR n.project_id = ANY(:projects::text[])) AND $is_seen_node
ORDER BY n.row DESC LIMIT :limit

-- seen_edges: the ends of every edge that may be seen, from the memories that state them: for looking at all of
-- the graph this is several times faster than asking for each edge who states it (a fragment, tables of a WITH)
hidden AS MATERIALIZED (
  SELECT n.row FROM graph_nodes n WHERE n.org_id = :org_id AND n.node_type = 'memory' AND NOT EXISTS (
    SELECT 1 FROM memories m WHERE m.row = n.memory_row AND $visible_memory)
), stated AS MATERIALIZED (
  SELECT DISTINCT v.edge_row FROM memories m
  JOIN graph_evidence v ON v.org_id = :org_id AND v.memory_row = m.row
  WHERE m.org_id = :org_id AND $visible_memory
), seen AS MATERIALIZED (
  SELECT e.from_row, e.to_row FROM stated JOIN graph_edges e ON e.org_id = :org_id AND e.row = stated.edge_row
  WHERE (e.expires_at IS NULL OR e.expires_at > :now)
    AND e.from_row NOT IN (SELECT row FROM hidden) AND e.to_row NOT IN (SELECT row FROM hidden)
  UNION ALL
  SELECT e.from_row, e.to_row FROM graph_edges e
  WHERE e.org_id = :org_id AND e.is_users = 1 AND e.row NOT IN (SELECT edge_row FROM stated) AND $is_seen_edge)

-- nodes_connected: the nodes on which most hangs, with links, edges out and edges in; active edges only
WITH $seen_edges, links AS (
  SELECT l.node_row AS node, count(*) AS number
  FROM memory_node_links l JOIN memories m ON m.org_id = :org_id AND m.row = l.memory_row
  WHERE l.org_id = :org_id AND $visible_memory GROUP BY l.node_row
), starting AS (SELECT from_row AS node, count(*) AS number FROM seen GROUP BY 1
), ending AS (SELECT to_row AS node, count(*) AS number FROM seen GROUP BY 1)
SELECT n.row, coalesce(links.number, 0), coalesce(starting.number, 0), coalesce(ending.number, 0)
FROM graph_nodes n
LEFT JOIN links ON links.node = n.row
LEFT JOIN starting ON starting.node = n.row
LEFT JOIN ending ON ending.node = n.row
WHERE n.org_id = :org_id AND (links.number > 0 OR starting.number > 0 OR ending.number > 0)
ORDER BY coalesce(links.number, 0) + coalesce(starting.number, 0) + coalesce(ending.number, 0) DESC,
  n.node_type, n.node_key, n.project_id LIMIT :limit

-- nodes_connected_of: the same, of these nodes alone; a list of rows
WITH counted AS MATERIALIZED (
  SELECT n.row, n.node_type, n.node_key, n.project_id,
    (SELECT count(*) FROM memory_node_links l JOIN memories m ON m.org_id = :org_id AND m.row = l.memory_row
     WHERE l.org_id = :org_id AND l.node_row = n.row AND $visible_memory) AS links,
    (SELECT count(*) FROM graph_edges e WHERE e.from_row = n.row AND $is_seen_edge) AS starting,
    (SELECT count(*) FROM graph_edges e WHERE e.to_row = n.row AND $is_seen_edge) AS ending
  FROM graph_nodes n WHERE n.org_id = :org_id AND n.row = ANY(:rows::bigint[]))
SELECT row, links, starting, ending FROM counted WHERE links + starting + ending > 0
ORDER BY links + starting + ending DESC, node_type, node_key, project_id LIMIT :limit

-- is_placed: whether a memory m lives within a reach, also when it expired or no longer holds (a fragment)
m.deleted_at IS NULL AND (:projects::text[] IS NULL OR m.project_id = ANY(:projects::text[]))
  AND (:users::text[] IS NULL OR m.user_id = ANY(:users::text[]))
  AND (CAST(:in_labels AS text) IS NULL OR strpos(:in_labels, chr(31) || m.classification || chr(31)) > 0)
  AND (CAST(:hidden AS text) IS NULL OR strpos(:hidden, chr(31) || m.row || chr(31)) = 0)

-- counted_edges: every edge that memories within a reach state, expired or not; for the owner every edge of the
-- org (a fragment, tables of a WITH)
foreign_nodes AS MATERIALIZED (
  SELECT n.row FROM graph_nodes n
  WHERE NOT :everything AND n.org_id = :org_id AND n.node_type = 'memory' AND NOT EXISTS (
    SELECT 1 FROM memories m WHERE m.org_id = :org_id AND m.row = n.memory_row AND $is_placed)
), stated AS MATERIALIZED (
  SELECT DISTINCT v.edge_row FROM memories m
  JOIN graph_evidence v ON v.org_id = :org_id AND v.memory_row = m.row
  WHERE NOT :everything AND m.org_id = :org_id AND $is_placed
), counted AS MATERIALIZED (
  SELECT e.from_row, e.to_row, e.edge_type, (e.expires_at IS NULL OR e.expires_at > :now) AS is_active
  FROM graph_edges e
  WHERE e.org_id = :org_id AND (:everything OR $is_users_edge OR (
    e.row IN (SELECT edge_row FROM stated)
    AND e.from_row NOT IN (SELECT row FROM foreign_nodes) AND e.to_row NOT IN (SELECT row FROM foreign_nodes))))

-- count_edges: edges by type, and how many of them have expired
WITH $counted_edges
SELECT edge_type, count(*), count(*) FILTER (WHERE NOT is_active) FROM counted GROUP BY 1 ORDER BY 1

-- count_nodes: nodes by type, and how many of them have neither a memory nor an active edge
WITH $counted_edges, ends AS MATERIALIZED (
  SELECT touched.node, bool_or(touched.is_active) AS is_active FROM (
    SELECT from_row AS node, is_active FROM counted UNION ALL SELECT to_row, is_active FROM counted) AS touched
  GROUP BY touched.node
), linked AS MATERIALIZED (
  SELECT DISTINCT l.node_row FROM memory_node_links l JOIN memories m ON m.org_id = :org_id AND m.row = l.memory_row
  WHERE l.org_id = :org_id AND $is_placed)
SELECT n.node_type, count(*), count(*) FILTER (WHERE linked.node_row IS NULL AND NOT coalesce(ends.is_active, false))
FROM graph_nodes n LEFT JOIN ends ON ends.node = n.row LEFT JOIN linked ON linked.node_row = n.row
WHERE n.org_id = :org_id AND (:everything OR ends.node IS NOT NULL OR linked.node_row IS NOT NULL)
GROUP BY 1 ORDER BY 1

-- count_links: how many times memories hang on nodes
SELECT count(*) FROM memory_node_links l JOIN memories m ON m.org_id = :org_id AND m.row = l.memory_row
WHERE l.org_id = :org_id AND $is_placed

-- count_pending: memories whose part of the graph is still to be made, by reason
SELECT p.reason, count(*), max(p.at)
FROM graph_pending p JOIN memories m ON m.org_id = :org_id AND m.row = p.memory_row
WHERE p.org_id = :org_id AND $is_placed GROUP BY 1 ORDER BY 1
