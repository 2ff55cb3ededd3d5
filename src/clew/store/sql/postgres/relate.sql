-- similar_at: what the memories with these nodes, a list of rows, are similar to, as far as likeness was found:
-- node, other node, other memory, edge, weight, project of the edge, place of the one and of the other, whether it is over
SELECT e.from_row, e.to_row, n.memory_row, e.row, e.weight, e.project_id, o.project_id, o.user_id, m.project_id, m.user_id,
  (m.deleted_at IS NOT NULL OR m.superseded_by <> '' OR coalesce(m.expires_at <= :now, false)
    OR coalesce(m.invalid_at <= :now, false))::int
FROM unnest(:rows::bigint[]) AS j(value)
JOIN graph_edges e ON e.org_id = :org_id AND e.from_row = j.value
JOIN graph_nodes n ON n.org_id = e.org_id AND n.row = e.to_row
JOIN memories m ON m.org_id = n.org_id AND m.row = n.memory_row
JOIN graph_nodes p ON p.org_id = e.org_id AND p.row = e.from_row
JOIN memories o ON o.org_id = p.org_id AND o.row = p.memory_row
WHERE e.edge_type = 'similar_to' AND EXISTS (
  SELECT 1 FROM graph_evidence v WHERE v.org_id = :org_id AND v.edge_row = e.row AND v.origin = 'similar')
ORDER BY 1, 2, 4

-- relations_at: the edges that were found between the memory with a node and others
SELECT e.row FROM graph_edges e WHERE e.org_id = :org_id AND e.from_row = :node_row
  AND EXISTS (SELECT 1 FROM graph_evidence v
    WHERE v.org_id = :org_id AND v.edge_row = e.row AND v.origin IN ('similar', 'rule', 'llm'))
UNION
SELECT e.row FROM graph_edges e WHERE e.org_id = :org_id AND e.to_row = :node_row
  AND EXISTS (SELECT 1 FROM graph_evidence v
    WHERE v.org_id = :org_id AND v.edge_row = e.row AND v.origin IN ('similar', 'rule', 'llm'))
ORDER BY 1

-- first_end: when the first of the memories at the ends of an edge ends (a fragment)
(SELECT min(m.expires_at) FROM graph_edges e
 JOIN graph_nodes n ON n.org_id = e.org_id AND n.row IN (e.from_row, e.to_row)
 JOIN memories m ON m.org_id = n.org_id AND m.row = n.memory_row WHERE e.org_id = :org_id AND e.row = :edge_row)

-- relation_renew: what was found between two memories lasts as long as both do now
UPDATE graph_evidence SET expires_at = $first_end
WHERE org_id = :org_id AND edge_row = :edge_row AND origin IN ('similar', 'rule', 'llm')
  AND expires_at IS DISTINCT FROM $first_end

-- found_by_others: other memories that said something of the one with a node before a moment, by rules or a model
SELECT m.id FROM (
  SELECT row FROM graph_edges WHERE org_id = :org_id AND from_row = :node_row
  UNION
  SELECT row FROM graph_edges WHERE org_id = :org_id AND to_row = :node_row) e
JOIN graph_evidence v ON v.org_id = :org_id AND v.edge_row = e.row
JOIN memories m ON m.org_id = :org_id AND m.row = v.memory_row
WHERE v.origin IN ('rule', 'llm') AND v.memory_row <> :memory_row AND v.at < :before AND m.deleted_at IS NULL
GROUP BY m.id ORDER BY m.id

-- job_subjects: a page of the memories of an org for which there may be something to do; in the order of rows
SELECT row, id FROM memories
WHERE org_id = :org_id AND row > :after AND deleted_at IS NULL AND superseded_by = '' ORDER BY row LIMIT :limit
