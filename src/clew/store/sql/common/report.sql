-- report_sessions: sessions that began in a span of time, by outcome
SELECT outcome, count(*) FROM sessions
WHERE org_id = :org_id AND created_at >= :since AND created_at < :until
  AND (:every_project OR project_id = :project_id) AND (:every_user OR user_id = :user_id)
GROUP BY outcome

-- report_pushes: what was put on a queue in a span of time, how far it came, and what it cost where it was handed out; a
-- block that was there already when it was computed once more is no further push
SELECT log.phase, inject.state, inject.receipt, count(*),
  sum(CASE WHEN inject.first_delivered_at IS NULL THEN 0 ELSE 1 END),
  sum(CASE WHEN inject.first_delivered_at IS NULL THEN 0 ELSE log.actual_tokens END)
FROM context_injection_logs AS log
JOIN session_memory_injects AS inject ON inject.org_id = log.org_id AND inject.id = log.delivery_id
LEFT JOIN sessions AS session ON session.org_id = log.org_id AND session.id = log.session_id
WHERE log.org_id = :org_id AND log.created_at >= :since AND log.created_at < :until AND log.delivery_id <> ''
  AND NOT EXISTS (
    SELECT 1 FROM context_injection_logs AS earlier
    WHERE earlier.org_id = log.org_id AND earlier.session_id = log.session_id
      AND earlier.created_at <= log.created_at AND earlier.delivery_id = log.delivery_id
      AND (earlier.created_at, earlier.id) < (log.created_at, log.id))
  AND (:every_project OR log.project_id = :project_id) AND (:every_user OR session.user_id = :user_id)
GROUP BY log.phase, inject.state, inject.receipt

-- report_looks: looks for something to say between start and end of a session, by what came of them
SELECT log.outcome, count(*)
FROM context_injection_logs AS log
LEFT JOIN sessions AS session ON session.org_id = log.org_id AND session.id = log.session_id
WHERE log.org_id = :org_id AND log.created_at >= :since AND log.created_at < :until AND log.phase = 'in_session'
  AND (:every_project OR log.project_id = :project_id) AND (:every_user OR session.user_id = :user_id)
GROUP BY log.outcome

-- report_denied: what policies refused in a span of time; the log is in the order of time
SELECT count(*) FROM audit
WHERE org_id = :org_id AND decision = 'deny' AND at >= :since AND at < :until
  AND seq > coalesce(
    (SELECT seq FROM audit WHERE org_id = :org_id AND at < :since ORDER BY seq DESC LIMIT 1), 0
  )

-- report_quarantined: texts that were kept apart in a span of time and still are
SELECT count(*) FROM quarantine
WHERE org_id = :org_id AND at >= :since AND at < :until AND (:every_project OR project_id = :project_id)

-- report_hooks: hook events of a span of time, by host and event
SELECT host, event, count(*) FROM host_events
WHERE state = 'done' AND at >= :since AND at < :until AND org_id = :org_id
  AND (:every_project OR project_id = :project_id)
GROUP BY host, event ORDER BY host, event
