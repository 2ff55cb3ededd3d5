-- Without statistics SQLite takes the org for as selective as a session or a memory, and would walk all of the org:
-- hence the hints. A CROSS JOIN keeps the order in which its tables are written.

-- shown_to: what was shown to a session, oldest first
SELECT project_id, observation_ids, session_summary_ids, graph_node_ids, graph_edge_keys, delivered
FROM context_injection_logs INDEXED BY context_injection_logs_session
WHERE session_id = :session_id AND org_id = :org_id ORDER BY created_at, id

-- history_of: how a weight changed, oldest first
SELECT target_kind, target_key, session_id, project_id, outcome, previous_weight, new_weight, alpha, recorded_at
FROM weight_history INDEXED BY weight_history_target
WHERE org_id = :org_id AND target_kind = :kind AND target_key = :key ORDER BY seq

-- outcomes_with_tokens: sessions whose outcome is known, with the tokens that reached their agent: what was on the queue
-- already when it was computed once more cost nothing the second time
SELECT s.work_type, s.outcome, coalesce(sum(l.actual_tokens), 0)
FROM sessions s LEFT JOIN context_injection_logs l INDEXED BY context_injection_logs_session
  ON l.session_id = s.id AND l.org_id = s.org_id AND l.delivered = 1 AND NOT EXISTS (
    SELECT 1 FROM context_injection_logs e INDEXED BY context_injection_logs_session
    WHERE e.session_id = l.session_id AND e.org_id = l.org_id AND e.delivered = 1 AND l.delivery_id <> ''
      AND e.delivery_id = l.delivery_id AND (e.created_at, e.id) < (l.created_at, l.id))
WHERE s.org_id = :org_id AND s.outcome <> '' AND s.created_at >= :since AND s.created_at < :until
  AND (:project_id = '' OR s.project_id = :project_id)
GROUP BY s.id, s.work_type, s.outcome

-- memories_shown: how many live memories were in some block, and in one that reached an agent; of those of memories_alive
SELECT count(*), coalesce(sum(shown.delivered), 0) FROM (
  SELECT o.value AS id, max(l.delivered) AS delivered
  FROM context_injection_logs l, json_each(l.observation_ids) o
  WHERE l.org_id = :org_id AND l.created_at >= :since AND l.created_at < :until
    AND (:project_id = '' OR l.project_id = :project_id)
  GROUP BY o.value
) shown CROSS JOIN memories m ON m.org_id = :org_id AND m.id = shown.id AND m.deleted_at IS NULL
WHERE :project_id = '' OR m.project_id IN (:project_id, '')

-- samples_of: how many outcomes and verdicts moved each of these memories
SELECT wanted.value, count(f.seq) FROM json_each(:ids) wanted
LEFT JOIN feedback_ledger f ON f.org_id = :org_id AND f.target_kind = 'memory' AND f.target_key = wanted.value
GROUP BY wanted.value

-- retired: those of these memories that outcomes have put below a weight often enough
SELECT m.id FROM json_each(:ids) wanted
CROSS JOIN memories m ON m.org_id = :org_id AND m.id = wanted.value AND m.weight < :below
WHERE (SELECT count(*) FROM feedback_ledger f
       WHERE f.org_id = :org_id AND f.target_kind = 'memory' AND f.target_key = m.id) >= :samples

-- top_memories: which memories were shown most, and how their sessions went
SELECT o.value, count(DISTINCT l.session_id),
  count(DISTINCT CASE WHEN s.outcome = 'accepted' THEN s.id END),
  count(DISTINCT CASE WHEN s.outcome IN ('rework', 'rejected') THEN s.id END),
  m.weight
FROM context_injection_logs l CROSS JOIN json_each(l.observation_ids) o
CROSS JOIN memories m ON m.org_id = l.org_id AND m.id = o.value AND m.deleted_at IS NULL
LEFT JOIN sessions s ON s.org_id = l.org_id AND s.id = l.session_id
WHERE l.org_id = :org_id AND l.created_at >= :since AND l.created_at < :until AND l.delivered = 1
  AND (:project_id = '' OR l.project_id = :project_id)
GROUP BY o.value, m.weight ORDER BY 2 DESC, 1 LIMIT :limit
