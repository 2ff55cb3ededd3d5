-- tidy_quiet_looks: looks in sessions of an org that found nothing to say, before a moment, the oldest
SELECT org_id, id FROM context_injection_logs
WHERE org_id = :org_id AND phase = 'in_session' AND outcome = 'no-match' AND created_at < :before
ORDER BY created_at LIMIT :limit

-- tidy_old_looks: the log of sessions of an org that were over before a moment, the oldest
SELECT log.org_id, log.id FROM context_injection_logs AS log
LEFT JOIN sessions AS session ON session.org_id = log.org_id AND session.id = log.session_id
WHERE log.org_id = :org_id AND log.created_at < :before AND (session.id IS NULL OR session.ended_at < :before)
ORDER BY log.created_at LIMIT :limit

-- tidy_ranks_drop: the ranks behind one row of the log
DELETE FROM retrieval_ab_logs WHERE org_id = :org_id AND retrieval_id = :retrieval_id

-- tidy_look_drop: one row of the log
DELETE FROM context_injection_logs WHERE org_id = :org_id AND id = :id

-- tidy_host_sessions: sessions of hosts in an org that were over before a moment, the oldest
SELECT org_id, host, host_session, agent_id FROM host_sessions
WHERE org_id = :org_id AND ended_at IS NOT NULL AND ended_at < :before ORDER BY ended_at LIMIT :limit

-- tidy_past_drop: which sessions of ours served one
DELETE FROM host_session_past WHERE org_id = :org_id AND host = :host AND host_session = :host_session AND agent_id = :agent_id

-- tidy_host_session_drop: that one was there
DELETE FROM host_sessions WHERE org_id = :org_id AND host = :host AND host_session = :host_session AND agent_id = :agent_id
