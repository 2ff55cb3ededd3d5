-- replay_recorded: what was asked for sessions, the newest first, from a place in that order on
SELECT l.id, l.created_at, l.session_id, l.project_id, s.user_id, l.work_type, l.phase, l.query_text,
  l.observation_ids, l.delivered, s.outcome,
  (SELECT count(*) FROM retrieval_ab_logs r WHERE r.org_id = l.org_id AND r.retrieval_id = l.id)
FROM context_injection_logs l JOIN sessions s ON s.org_id = l.org_id AND s.id = l.session_id
WHERE l.org_id = :org_id AND l.created_at >= :since AND (l.created_at, l.id) < (:before, :before_id)
  AND l.query_text <> '' AND (:project_id = '' OR l.project_id = :project_id)
ORDER BY l.created_at DESC, l.id DESC LIMIT :limit

-- replay_verdict: what was said last about a memory itself, whoever said it
SELECT outcome FROM feedback_ledger
WHERE org_id = :org_id AND target_kind = 'memory' AND target_key = :key AND outcome IN ('up', 'outdated', 'wrong')
ORDER BY seq DESC LIMIT 1
