-- memories_at_nodes: the newest memories that hang on these nodes and may be seen; ids in hexadecimal, a JSON list
SELECT j.value, (
  SELECT coalesce(json_agg(found.id ORDER BY found.memory_row DESC), '[]')::text FROM (
    SELECT m.id, l.memory_row FROM memory_node_links l JOIN memories m ON m.org_id = :org_id AND m.row = l.memory_row
    WHERE l.org_id = :org_id AND l.node_row = n.row AND $visible_memory
    ORDER BY l.memory_row DESC LIMIT :per_node) AS found)
FROM unnest(:nodes::text[]) AS j (value) JOIN graph_nodes n ON n.org_id = :org_id AND n.id = decode(j.value, 'hex')

-- injection_said: which of these memories, a list, another text on a session's queue says, or has said
SELECT DISTINCT o.value
FROM session_memory_injects i
CROSS JOIN jsonb_array_elements_text(clew_json(i.observation_ids)) AS o (value)
WHERE i.org_id = :org_id AND i.session_id = :session_id AND i.state IN ('pending', 'delivered', 'acked')
  AND i.text <> :text AND o.value = ANY(:ids::text[])
