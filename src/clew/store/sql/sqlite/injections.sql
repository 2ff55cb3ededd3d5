-- memories_at_nodes: the newest memories that hang on these nodes and may be seen; ids in hexadecimal, a JSON list
SELECT j.value, (
  SELECT json_group_array(id) FROM (
    SELECT m.id AS id FROM memory_node_links l CROSS JOIN memories m ON m.row = l.memory_row
    WHERE l.org_id = :org_id AND l.node_row = n.row AND $visible_memory
    ORDER BY l.memory_row DESC LIMIT :per_node))
FROM json_each(:nodes) j CROSS JOIN graph_nodes n ON n.org_id = :org_id AND n.id = unhex(j.value)

-- injection_said: which of these memories, a JSON list, another text on a session's queue says, or has said
SELECT DISTINCT o.value
FROM session_memory_injects i CROSS JOIN json_each(i.observation_ids) o
WHERE i.org_id = :org_id AND i.session_id = :session_id AND i.state IN ('pending', 'delivered', 'acked')
  AND i.text <> :text AND o.value IN (SELECT value FROM json_each(:ids))
