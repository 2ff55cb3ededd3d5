-- host_event_add: keep an event; nothing happens when it is known
INSERT INTO host_events
  (org_id, event_id, host, host_session, agent_id, event, kind, fingerprint, session_id, project_id, user_id, teller, roles,
   facts, ends, state, at)
VALUES
  (:org_id, :event_id, :host, :host_session, :agent_id, :event, :kind, :fingerprint, '', '', :user_id, :teller, :roles,
   '', '', 'done', :at)
ON CONFLICT (org_id, event_id) DO NOTHING

-- host_event_last: when the last event of a session came
SELECT max(at) FROM host_events WHERE org_id = :org_id AND host = :host AND host_session = :host_session

-- host_event_place: what the event says, whose it is, and that someone has to look at it
UPDATE host_events SET session_id = :session_id, project_id = :project_id, facts = :facts, ends = :ends, state = :state
WHERE org_id = :org_id AND event_id = :event_id

-- host_event_repeated: whether the same was told under another id since a moment
SELECT 1 FROM host_events
WHERE org_id = :org_id AND host = :host AND host_session = :host_session AND at >= :since
  AND agent_id = :agent_id AND fingerprint = :fingerprint AND event_id <> :event_id
LIMIT 1

-- host_event_unprint: the answer to an event was never printed
UPDATE host_events SET unprinted = 1 WHERE org_id = :org_id AND event_id = :event_id

-- host_event_unprinted: whether that is known of an event
SELECT unprinted FROM host_events WHERE org_id = :org_id AND event_id = :event_id

-- host_fact_columns: an event in the order of StoredFact's fields (a fragment)
org_id, event_id, host, host_session, agent_id, facts, at, event, kind, session_id, project_id, user_id, ends,
  teller, roles

-- host_events_waiting: what nobody has looked at in an org, oldest first
SELECT $host_fact_columns FROM host_events
WHERE org_id = :org_id AND state = 'new' ORDER BY at, event_id LIMIT :limit

-- host_events_orgs: orgs with events that nobody has looked at, the one that waits longest first
SELECT org_id FROM host_events WHERE state = 'new' GROUP BY org_id ORDER BY min(at), org_id LIMIT :limit

-- host_event_facts: the last so many facts of a session up to a moment, newest first
SELECT $host_fact_columns FROM host_events
WHERE org_id = :org_id AND host = :host AND host_session = :host_session AND at <= :until AND facts <> ''
ORDER BY at DESC, event_id DESC LIMIT :limit

-- host_event_captured: looked at; what was forgotten meanwhile stays forgotten
UPDATE host_events SET state = 'done', facts = CASE WHEN facts = '' THEN '' ELSE :facts END
WHERE org_id = :org_id AND event_id = :event_id

-- host_facts_clear: of what was looked at in an org before a moment, only the last fact of each session stays
UPDATE host_events SET facts = ''
WHERE org_id = :org_id AND state = 'done' AND at < :before AND facts <> ''
  AND EXISTS (
    SELECT 1 FROM host_events AS later
    WHERE later.org_id = host_events.org_id AND later.host = host_events.host
      AND later.host_session = host_events.host_session AND later.at > host_events.at AND later.facts <> '')

-- host_facts_forget: no fact stays of one session of ours, nor what later ones of the same host session carry of it
UPDATE host_events SET facts = '', state = 'done'
WHERE org_id = :org_id AND facts <> '' AND (session_id = :session_id OR (state = 'done' AND (host, host_session) IN (
  SELECT mine.host, mine.host_session FROM host_events AS mine
  WHERE mine.org_id = :org_id AND mine.session_id = :session_id)))

-- host_events_drop: events of an org that were looked at before a moment; told again after that, they would be new
DELETE FROM host_events WHERE org_id = :org_id AND state = 'done' AND at < :before

-- host_hook_fired: count a hook
INSERT INTO host_hooks (org_id, host, event, count, first_at, last_at) VALUES (:org_id, :host, :event, 1, :at, :at)
ON CONFLICT (org_id, host, event) DO UPDATE SET count = host_hooks.count + 1,
  last_at = CASE WHEN host_hooks.last_at > excluded.last_at THEN host_hooks.last_at ELSE excluded.last_at END

-- host_hook_has_fired: whether a hook fired since a moment
SELECT 1 FROM host_hooks WHERE org_id = :org_id AND host = :host AND event = :event AND last_at >= :since

-- host_hooks_fired: when each hook fired
SELECT host, event, count, first_at, last_at FROM host_hooks WHERE org_id = :org_id ORDER BY host, event

-- host_session_columns: a session of a host in the order of HostSession's fields (a fragment)
host, host_session, session_id, token, created_at, updated_at, agent_id, source, project_id, user_id, branch, printed,
  printed_event, printed_kind, printed_at, ended_at

-- host_session_get: the session of a host, or of a subagent in it
SELECT $host_session_columns FROM host_sessions
WHERE org_id = :org_id AND host = :host AND host_session = :host_session AND agent_id = :agent_id

-- host_session_agents: the subagents of a host's session that have not ended
SELECT $host_session_columns FROM host_sessions
WHERE org_id = :org_id AND host = :host AND host_session = :host_session AND agent_id <> '' AND ended_at IS NULL

-- host_sessions_idle: sessions of hosts of which nothing was heard since a moment
SELECT $host_session_columns FROM host_sessions
WHERE org_id = :org_id AND ended_at IS NULL AND updated_at < :before ORDER BY updated_at LIMIT :limit

-- host_session_put: which session of ours serves the session of a host now
INSERT INTO host_sessions
  (org_id, host, host_session, agent_id, session_id, token, source, project_id, user_id, branch, printed, printed_event,
   printed_kind, printed_at, created_at, updated_at, ended_at)
VALUES
  (:org_id, :host, :host_session, :agent_id, :session_id, :token, :source, :project_id, :user_id, :branch, :printed,
   :printed_event, :printed_kind, :printed_at, :created_at, :updated_at, :ended_at)
ON CONFLICT (org_id, host, host_session, agent_id) DO UPDATE SET
  session_id = excluded.session_id, token = excluded.token, source = excluded.source, project_id = excluded.project_id,
  user_id = excluded.user_id, branch = excluded.branch, printed = excluded.printed,
  printed_event = excluded.printed_event, printed_kind = excluded.printed_kind, printed_at = excluded.printed_at,
  created_at = excluded.created_at, updated_at = excluded.updated_at, ended_at = excluded.ended_at

-- host_session_printed: the answer to an event is printed
UPDATE host_sessions SET printed_at = :at
WHERE (org_id, host, host_session, agent_id) IN
  (SELECT org_id, host, host_session, agent_id FROM host_events WHERE org_id = :org_id AND event_id = :event_id)
  AND user_id = :user_id AND printed_event = :event_id AND printed_at IS NULL

-- host_session_unprinted: it never arrived; what it brought comes again
UPDATE host_sessions SET printed = '', printed_event = '', printed_kind = '', printed_at = NULL
WHERE org_id = :org_id AND host = :host AND host_session = :host_session AND agent_id = :agent_id
  AND printed_event = :event_id

-- host_past_add: remember that a session of ours served the session of a host
INSERT INTO host_session_past (org_id, host, host_session, agent_id, session_id, source, opened_at)
VALUES (:org_id, :host, :host_session, :agent_id, :session_id, :source, :opened_at)
ON CONFLICT (org_id, host, host_session, agent_id, session_id) DO UPDATE SET source = excluded.source

-- host_past: the sessions of ours that served the session of a host, oldest first
SELECT session_id, source FROM host_session_past
WHERE org_id = :org_id AND host = :host AND host_session = :host_session AND agent_id = :agent_id
ORDER BY opened_at, session_id

-- host_session_work: what a session is about, where that was not known when it started
UPDATE sessions SET work_type = :work_type, issue = :issue, title = :title
WHERE org_id = :org_id AND id = :id AND title = ''
