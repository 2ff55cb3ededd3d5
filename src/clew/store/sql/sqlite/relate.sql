-- similar_at: what the memories with these nodes, a JSON list of rows, are similar to, as far as likeness was found:
-- node, other node, other memory, edge, weight, project of the edge, place of the one and of the other, whether it is over
SELECT e.from_row, e.to_row, n.memory_row, e.row, e.weight, e.project_id, o.project_id, o.user_id, m.project_id, m.user_id,
  m.deleted_at IS NOT NULL OR m.superseded_by <> '' OR coalesce(m.expires_at <= :now, 0) OR coalesce(m.invalid_at <= :now, 0)
FROM json_each(:rows) j
CROSS JOIN graph_edges e INDEXED BY graph_edges_ends ON e.org_id = :org_id AND e.from_row = j.value
CROSS JOIN graph_nodes n ON n.row = e.to_row
CROSS JOIN memories m ON m.row = n.memory_row
CROSS JOIN graph_nodes p ON p.row = e.from_row
CROSS JOIN memories o ON o.row = p.memory_row
WHERE e.edge_type = 'similar_to' AND EXISTS (
  SELECT 1 FROM graph_evidence v WHERE v.org_id = :org_id AND v.edge_row = e.row AND v.origin = 'similar')
ORDER BY 1, 2, 4

-- relations_at: the edges that were found between the memory with a node and others
SELECT e.row FROM graph_edges e INDEXED BY graph_edges_ends WHERE e.org_id = :org_id AND e.from_row = :node_row
  AND EXISTS (SELECT 1 FROM graph_evidence v
    WHERE v.org_id = :org_id AND v.edge_row = e.row AND v.origin IN ('similar', 'rule', 'llm'))
UNION
SELECT e.row FROM graph_edges e INDEXED BY graph_edges_to WHERE e.org_id = :org_id AND e.to_row = :node_row
  AND EXISTS (SELECT 1 FROM graph_evidence v
    WHERE v.org_id = :org_id AND v.edge_row = e.row AND v.origin IN ('similar', 'rule', 'llm'))
ORDER BY 1

-- first_end: when the first of the memories at the ends of an edge ends (a fragment)
(SELECT min(m.expires_at) FROM graph_edges e CROSS JOIN graph_nodes n ON n.row IN (e.from_row, e.to_row)
 CROSS JOIN memories m ON m.row = n.memory_row WHERE e.row = :edge_row)

-- relation_renew: what was found between two memories lasts as long as both do now
UPDATE graph_evidence SET expires_at = $first_end
WHERE org_id = :org_id AND edge_row = :edge_row AND origin IN ('similar', 'rule', 'llm') AND expires_at IS NOT $first_end

-- found_by_others: other memories that said something of the one with a node before a moment, by rules or a model
SELECT m.id FROM (
  SELECT row FROM graph_edges WHERE org_id = :org_id AND from_row = :node_row
  UNION
  SELECT row FROM graph_edges WHERE org_id = :org_id AND to_row = :node_row) e
CROSS JOIN graph_evidence v ON v.org_id = :org_id AND v.edge_row = e.row
CROSS JOIN memories m ON m.row = v.memory_row
WHERE v.origin IN ('rule', 'llm') AND v.memory_row <> :memory_row AND v.at < :before AND m.deleted_at IS NULL
GROUP BY m.id ORDER BY m.id

-- job_subjects: a page of the memories of an org for which there may be something to do; in the order of rows, or
-- the whole org would be sorted for each page
SELECT row, id FROM memories NOT INDEXED
WHERE org_id = :org_id AND row > :after AND deleted_at IS NULL AND superseded_by = '' ORDER BY row LIMIT :limit
