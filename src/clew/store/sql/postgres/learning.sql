-- shown_to: what was shown to a session, oldest first
SELECT project_id, observation_ids, session_summary_ids, graph_node_ids, graph_edge_keys, delivered
FROM context_injection_logs WHERE session_id = :session_id AND org_id = :org_id ORDER BY created_at, id

-- history_of: how a weight changed, oldest first
SELECT target_kind, target_key, session_id, project_id, outcome, previous_weight, new_weight, alpha, recorded_at
FROM weight_history WHERE org_id = :org_id AND target_kind = :kind AND target_key = :key ORDER BY seq

-- outcomes_with_tokens: sessions whose outcome is known, with the tokens that reached their agent: what was on the queue
-- already when it was computed once more cost nothing the second time
SELECT s.work_type, s.outcome, coalesce(sum(l.actual_tokens), 0)
FROM sessions s LEFT JOIN context_injection_logs l
  ON l.session_id = s.id AND l.org_id = s.org_id AND l.delivered = 1 AND NOT EXISTS (
    SELECT 1 FROM context_injection_logs e
    WHERE e.session_id = l.session_id AND e.org_id = l.org_id AND e.delivered = 1 AND l.delivery_id <> ''
      AND e.delivery_id = l.delivery_id AND (e.created_at, e.id) < (l.created_at, l.id))
WHERE s.org_id = :org_id AND s.outcome <> '' AND s.created_at >= :since AND s.created_at < :until
  AND (:project_id = '' OR s.project_id = :project_id)
GROUP BY s.id, s.work_type, s.outcome ORDER BY s.id

-- observations: the memories that a row l of the log names (a fragment)
jsonb_array_elements_text(clew_json(l.observation_ids)) AS o (value)

-- memories_shown: how many live memories were in some block, and in one that reached an agent; of those of memories_alive
SELECT count(*), coalesce(sum(shown.delivered), 0) FROM (
  SELECT o.value AS id, max(l.delivered) AS delivered
  FROM context_injection_logs l CROSS JOIN $observations
  WHERE l.org_id = :org_id AND l.created_at >= :since AND l.created_at < :until
    AND (:project_id = '' OR l.project_id = :project_id)
  GROUP BY o.value
) AS shown JOIN memories m ON m.org_id = :org_id AND m.id = shown.id AND m.deleted_at IS NULL
WHERE :project_id = '' OR m.project_id IN (:project_id, '')

-- samples_of: how many outcomes and verdicts moved each of these memories
SELECT wanted.value, count(f.seq) FROM unnest(:ids::text[]) AS wanted (value)
LEFT JOIN feedback_ledger f ON f.org_id = :org_id AND f.target_kind = 'memory' AND f.target_key = wanted.value
GROUP BY wanted.value

-- retired: those of these memories that outcomes have put below a weight often enough
SELECT m.id FROM unnest(:ids::text[]) AS wanted (value)
JOIN memories m ON m.org_id = :org_id AND m.id = wanted.value AND m.weight < :below
WHERE (SELECT count(*) FROM feedback_ledger f
       WHERE f.org_id = :org_id AND f.target_kind = 'memory' AND f.target_key = m.id) >= :samples

-- top_memories: which memories were shown most, and how their sessions went
SELECT m.id, count(DISTINCT l.session_id),
  count(DISTINCT CASE WHEN s.outcome = 'accepted' THEN s.id END),
  count(DISTINCT CASE WHEN s.outcome IN ('rework', 'rejected') THEN s.id END),
  m.weight
FROM context_injection_logs l CROSS JOIN $observations
JOIN memories m ON m.org_id = l.org_id AND m.id = o.value AND m.deleted_at IS NULL
LEFT JOIN sessions s ON s.org_id = l.org_id AND s.id = l.session_id
WHERE l.org_id = :org_id AND l.created_at >= :since AND l.created_at < :until AND l.delivered = 1
  AND (:project_id = '' OR l.project_id = :project_id)
GROUP BY m.id, m.weight ORDER BY 2 DESC, 1 LIMIT :limit
