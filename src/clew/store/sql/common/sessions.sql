-- session_columns: a session in the order of AgentSession's fields (a fragment, used as $session_columns)
id, org_id, project_id, user_id, agent, work_type, issue, issue_id, title, description, state, worker_id,
  provider_session, fencing_token, stop_requested, outcome, created_at, claimed_at, ended_at

-- session_insert: a new session, still without a worker
INSERT INTO sessions (org_id, id, project_id, user_id, agent, work_type, issue, issue_id, title, description, created_at)
VALUES (:org_id, :id, :project_id, :user_id, :agent, :work_type, :issue, :issue_id, :title, :description, :created_at)

-- session_by_id: one session
SELECT $session_columns FROM sessions WHERE org_id = :org_id AND id = :id

-- session_list: sessions of an org before a moment and id, newest first; state NULL: any
SELECT $session_columns FROM sessions
WHERE org_id = :org_id AND (created_at, id) < (:before, :before_id) AND (CAST(:state AS text) IS NULL OR state = :state)
ORDER BY created_at DESC, id DESC LIMIT :limit

-- session_list_project: the same of one project
SELECT $session_columns FROM sessions
WHERE org_id = :org_id AND project_id = :project_id AND (created_at, id) < (:before, :before_id)
  AND (CAST(:state AS text) IS NULL OR state = :state)
ORDER BY created_at DESC, id DESC LIMIT :limit

-- session_claim: give a session to a worker; the lock itself is its lease
UPDATE sessions SET state = 'running', worker_id = :worker_id, fencing_token = :fencing_token,
  provider_session = :provider_session, claimed_at = coalesce(claimed_at, :now)
WHERE org_id = :org_id AND id = :id AND state IN ('queued', 'running')

-- session_move: from one state to another, unless somebody was faster
UPDATE sessions SET state = :state, outcome = :outcome, ended_at = :ended_at
WHERE org_id = :org_id AND id = :id AND state = :old

-- session_ask_stop: the next refresh tells the worker
UPDATE sessions SET stop_requested = 1 WHERE org_id = :org_id AND id = :id

-- session_lock: whether anyone holds the lock of a session, and whether it is this worker with this token
SELECT holder = :worker AND token = :token FROM leases
WHERE org_id = :org_id AND key = 'session:' || :id AND expires_at > ($clock)

-- session_unlock: nobody holds it any more
DELETE FROM leases WHERE org_id = :org_id AND key = 'session:' || :id

-- sessions_abandoned: sessions of an org that nobody ended and whose lock ran out before a moment, the oldest; where there
-- is no lock any more, as after a restore, those that were claimed before one. Those of a host end with the host's
SELECT $session_columns FROM sessions
WHERE org_id = :org_id AND state IN ('running', 'finalizing') AND claimed_at < :claimed_before
  AND NOT EXISTS (
    SELECT 1 FROM leases l
    WHERE l.org_id = sessions.org_id AND l.key = 'session:' || sessions.id AND l.expires_at >= :lock_before)
  AND id NOT IN (SELECT h.session_id FROM host_sessions h WHERE h.org_id = :org_id AND h.ended_at IS NULL)
ORDER BY created_at LIMIT :limit

-- session_words: what is kept of the words of a place's sessions, each with its session
SELECT id, title FROM sessions
WHERE org_id = :org_id AND project_id = :project_id AND user_id = :user_id AND title <> ''
UNION ALL SELECT id, description FROM sessions
WHERE org_id = :org_id AND project_id = :project_id AND user_id = :user_id AND description <> ''
UNION ALL SELECT session_id, facts FROM host_events
WHERE org_id = :org_id AND project_id = :project_id AND user_id = :user_id AND session_id <> '' AND facts <> ''
UNION ALL SELECT session_id, text FROM session_summaries
WHERE org_id = :org_id AND project_id = :project_id AND user_id = :user_id AND text <> ''

-- session_texts_forget: what a session was said to be about
UPDATE sessions SET title = '', description = '' WHERE org_id = :org_id AND id = :id
