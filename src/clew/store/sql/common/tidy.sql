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

-- tidy_told_drop: how a session went that is not of our making, with what is left of its log
DELETE FROM session_diagnostics WHERE org_id = :org_id AND session_id = (
    SELECT log.session_id FROM context_injection_logs AS log WHERE log.org_id = :org_id AND log.id = :id)
  AND NOT EXISTS (
    SELECT 1 FROM sessions AS session
    WHERE session.org_id = :org_id AND session.id = session_diagnostics.session_id)

-- tidy_sessions: sessions of an org that were over before a moment, of which no log is left and to which no session of a
-- host goes back, the oldest
SELECT session.org_id, session.id FROM sessions AS session
WHERE session.org_id = :org_id AND session.created_at < :before AND session.ended_at < :before
  AND NOT EXISTS (
    SELECT 1 FROM context_injection_logs AS log WHERE log.org_id = session.org_id AND log.session_id = session.id)
  AND session.id NOT IN (SELECT past.session_id FROM host_session_past AS past WHERE past.org_id = :org_id)
ORDER BY session.created_at LIMIT :limit

-- tidy_session_injects_drop: what one was told
DELETE FROM session_memory_injects WHERE org_id = :org_id AND session_id = :session_id

-- tidy_session_told_drop: how it went
DELETE FROM session_diagnostics WHERE org_id = :org_id AND session_id = :session_id

-- tidy_session_drop: that it was there
DELETE FROM sessions WHERE org_id = :org_id AND id = :id

-- tidy_weights: of the first so many changes of weights of an org, in their order, those from before a moment
SELECT org_id, seq FROM (
  SELECT org_id, seq, recorded_at FROM weight_history WHERE org_id = :org_id ORDER BY seq LIMIT :limit) AS first
WHERE recorded_at < :before

-- tidy_weight_drop: that a weight changed
DELETE FROM weight_history WHERE org_id = :org_id AND seq = :seq
