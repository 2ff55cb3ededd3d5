-- inject_columns: an inject in the order of Inject's fields (a fragment, used as $inject_columns)
id, org_id, session_id, agent, kind, phase, text, content_hash, observation_ids, node_ids, source_ids, state,
  receipt, attempts, fencing_token, reason, enqueued_at, first_delivered_at, last_delivered_at, ended_at

-- inject_room: a session that may get an inject, how many wait there, and what speaks since a moment against what was
-- rendered before: 1, rights have changed; 2, a fact or a conflict was taken back
SELECT s.state, s.project_id, s.user_id, s.agent,
  (SELECT count(*) FROM session_memory_injects i
   WHERE i.org_id = :org_id AND i.session_id = :session_id AND i.state = 'pending'),
  CASE WHEN EXISTS (SELECT 1 FROM policies p WHERE p.org_id IN ('', :org_id) AND p.loaded_at > :since)
    OR coalesce((SELECT CAST(m.value AS bigint) FROM meta m WHERE m.key = 'policy_dropped_at'), 0) > :moment
    OR coalesce((SELECT CAST(m.value AS bigint) FROM meta m WHERE m.key = 'policy_dropped_at/' || :org_id), 0) > :moment
    OR EXISTS (SELECT 1 FROM agents a WHERE a.org_id = :org_id AND a.agent = s.agent AND a.updated_at > :since)
    OR EXISTS (SELECT 1 FROM cross_project_transfer_grants g
      WHERE g.org_id = :org_id AND g.dest_project = s.project_id AND g.revoked_at > :since) THEN 1
    WHEN coalesce((SELECT CAST(m.value AS bigint) FROM meta m WHERE m.key = 'taken_back_at/' || :org_id), 0) > :moment
    THEN 2 ELSE 0 END
FROM sessions s WHERE s.org_id = :org_id AND s.id = :session_id

-- inject_insert: put a text at the end of a session's queue, unless it is there already. One that was cancelled waits
-- again in its old place, under its id: what spoke against it may no longer do so
INSERT INTO session_memory_injects
  (org_id, id, session_id, agent, kind, phase, text, content_hash, observation_ids, node_ids, source_ids, enqueued_at)
VALUES
  (:org_id, :id, :session_id, :agent, :kind, :phase, :text, :content_hash, :observation_ids, :node_ids, :source_ids,
   :enqueued_at)
ON CONFLICT (org_id, session_id, content_hash) DO UPDATE SET
  agent = excluded.agent, kind = excluded.kind, phase = excluded.phase, text = excluded.text,
  observation_ids = excluded.observation_ids, node_ids = excluded.node_ids, source_ids = excluded.source_ids,
  enqueued_at = excluded.enqueued_at, state = 'pending', receipt = '', attempts = 0, fencing_token = 0, reason = '',
  first_delivered_at = NULL, last_delivered_at = NULL, ended_at = NULL
WHERE session_memory_injects.state = 'cancelled'
RETURNING $inject_columns

-- inject_make_room: what the agent has, or may have, is to be told once more, under an id that its worker does not know yet
UPDATE session_memory_injects SET content_hash = content_hash || ':' || id
WHERE org_id = :org_id AND session_id = :session_id AND content_hash = :content_hash
  AND (state = 'acked' OR (state = 'cancelled' AND last_delivered_at IS NOT NULL))

-- inject_by_hash: the inject of a session with this text, unless it was cancelled
SELECT $inject_columns FROM session_memory_injects
WHERE org_id = :org_id AND session_id = :session_id AND content_hash = :content_hash AND state <> 'cancelled'

-- inject_list: the queue of a session, first in first
SELECT $inject_columns FROM session_memory_injects
WHERE org_id = :org_id AND session_id = :session_id AND (CAST(:state AS text) IS NULL OR state = :state) ORDER BY seq

-- next_inject: the one in flight, else the oldest that waits (a fragment, used as $next_inject)
coalesce(
    (SELECT d.seq FROM session_memory_injects d
     WHERE d.org_id = :org_id AND d.session_id = :session_id AND d.state = 'delivered'),
    (SELECT w.seq FROM session_memory_injects w
     WHERE w.org_id = :org_id AND w.session_id = :session_id AND w.state = 'pending' ORDER BY w.seq LIMIT 1))

-- inject_head: who asks, and what is next for the session
SELECT s.project_id, s.user_id, s.state, s.stop_requested,
  CASE WHEN l.holder = :worker AND l.token = :token AND l.expires_at > ($clock) THEN 1 ELSE 0 END,
  CASE WHEN c.memory_enabled = 0 OR c.runtime_inject_enabled = 0 THEN 0 ELSE 1 END,
  coalesce(a.suspended, 0), i.seq, i.id, i.text, i.kind, i.attempts, i.source_ids, i.enqueued_at
FROM sessions s
LEFT JOIN leases l ON l.org_id = s.org_id AND l.key = 'session:' || :session_id
LEFT JOIN project_memory_config c ON c.org_id = s.org_id AND c.project_id = s.project_id
LEFT JOIN agents a ON a.org_id = s.org_id AND a.agent = s.agent
LEFT JOIN session_memory_injects i ON i.org_id = s.org_id AND i.seq = $next_inject
WHERE s.org_id = :org_id AND s.id = :session_id

-- handed_out: what an inject becomes (a fragment, used as $handed_out)
state = 'delivered', attempts = attempts + 1, fencing_token = :token,
  receipt = CASE receipt WHEN '' THEN 'printed' ELSE receipt END,
  first_delivered_at = coalesce(first_delivered_at, :now), last_delivered_at = :now

-- inject_take: hand out what is next where nothing speaks against it, in one look. No row: there is nothing, or it takes
-- a closer one (inject_head)
UPDATE session_memory_injects AS i SET $handed_out
WHERE i.org_id = :org_id AND i.seq = (SELECT $next_inject) AND i.state IN ('pending', 'delivered') AND i.attempts < :most
  AND EXISTS (
    SELECT 1 FROM sessions s JOIN leases l ON l.org_id = :org_id AND l.key = 'session:' || :session_id
    LEFT JOIN project_memory_config c ON c.org_id = :org_id AND c.project_id = s.project_id
    LEFT JOIN agents a ON a.org_id = :org_id AND a.agent = s.agent
    WHERE s.org_id = :org_id AND s.id = :session_id AND s.state = 'running' AND s.stop_requested = 0 AND $session_held
      AND (i.kind <> 'memory' OR (coalesce(c.memory_enabled, 1) <> 0 AND coalesce(c.runtime_inject_enabled, 1) <> 0
        AND coalesce(a.suspended, 0) = 0)))
  AND (i.kind = 'user' OR i.source_ids = '[]' OR NOT EXISTS ($source_changed))
RETURNING id, text, kind, attempts

-- inject_hand_out: in flight, once more
UPDATE session_memory_injects SET $handed_out
WHERE org_id = :org_id AND seq = :seq AND state IN ('pending', 'delivered')

-- inject_close: an inject that will not be delivered any more, and why
UPDATE session_memory_injects SET state = :state, reason = :reason, ended_at = :now
WHERE org_id = :org_id AND seq = :seq AND state IN ('pending', 'delivered')

-- inject_cancel: the same of a delivery by its id
UPDATE session_memory_injects SET state = 'cancelled', reason = :reason, ended_at = :now
WHERE org_id = :org_id AND id = :id AND state IN ('pending', 'delivered')

-- inject_receipt_target: who asks, and what became of a delivery so far
SELECT s.project_id, s.user_id, s.worker_id, s.fencing_token, s.ended_at,
  CASE WHEN l.holder = :worker AND l.token = :token AND l.expires_at > ($clock) THEN 1 ELSE 0 END,
  i.seq, i.state, i.receipt
FROM sessions s
LEFT JOIN leases l ON l.org_id = s.org_id AND l.key = 'session:' || :session_id
LEFT JOIN session_memory_injects i ON i.org_id = s.org_id AND i.id = :delivery_id AND i.session_id = s.id
WHERE s.org_id = :org_id AND s.id = :session_id

-- acknowledged: what an inject becomes (a fragment, used as $acknowledged)
state = 'acked', receipt = :receipt, ended_at = coalesce(ended_at, :now),
  fencing_token = CASE state WHEN 'delivered' THEN :token ELSE fencing_token END

-- inject_confirm: the agent has what is in flight, and its worker holds the session, in one look. No row: it takes a
-- closer one (inject_receipt_target). Handing out need not last: after a crash the row may bear the token of the worker before
UPDATE session_memory_injects AS i SET $acknowledged
WHERE i.org_id = :org_id AND i.id = :delivery_id AND i.session_id = :session_id AND i.state = 'delivered'
  AND i.receipt IN ('', 'printed')
  AND EXISTS (
    SELECT 1 FROM sessions s JOIN leases l ON l.org_id = :org_id AND l.key = 'session:' || :session_id
    WHERE s.org_id = :org_id AND s.id = :session_id AND s.ended_at IS NULL AND $session_held)
RETURNING id

-- inject_ack: the agent has it
UPDATE session_memory_injects SET $acknowledged
WHERE org_id = :org_id AND seq = :seq AND state IN ('delivered', 'acked')

-- injects_cancel_waiting: a session that ended gets nothing more
UPDATE session_memory_injects SET state = 'cancelled', reason = :reason, ended_at = :now
WHERE org_id = :org_id AND session_id = :session_id AND state = 'pending'

-- injects_revoke: rights have changed, of an agent or in a project, '' for all of them: what memory would say under the
-- old ones is not delivered. A start block that the agent has is marked, so that it is not opened again as it is. Found
-- from the sessions that go on: there are few of them, and what others were told is kept
UPDATE session_memory_injects SET
  state = CASE state WHEN 'acked' THEN 'acked' ELSE 'cancelled' END,
  ended_at = CASE state WHEN 'acked' THEN ended_at ELSE :now END,
  reason = :reason
WHERE org_id = :org_id AND kind = 'memory' AND (phase = 'start' OR (source_ids <> '[]' AND state <> 'acked'))
  AND state IN ('pending', 'delivered', 'acked') AND session_id IN (
    SELECT s.id FROM sessions s
    WHERE s.org_id = :org_id AND s.ended_at IS NULL
      AND (:agent = '' OR s.agent = :agent) AND (:project_id = '' OR s.project_id = :project_id))

-- injects_take_back: a person took back a fact between two nodes, or two memories are no longer in conflict: what says
-- so is not delivered. A start block that the agent has is marked, as above
UPDATE session_memory_injects SET
  state = CASE state WHEN 'acked' THEN 'acked' ELSE 'cancelled' END,
  ended_at = CASE state WHEN 'acked' THEN ended_at ELSE :now END,
  reason = 'taken_back'
WHERE org_id = :org_id AND kind = 'memory' AND (phase = 'start' OR state <> 'acked')
  AND state IN ('pending', 'delivered', 'acked')
  AND ((replace(node_ids, :one, '') <> node_ids AND replace(node_ids, :other, '') <> node_ids)
    OR (replace(text, '[in conflict with ', '') <> text
      AND replace(source_ids || text, :one, '') <> source_ids || text
      AND replace(source_ids || text, :other, '') <> source_ids || text))
  AND session_id IN (SELECT s.id FROM sessions s WHERE s.org_id = :org_id AND s.ended_at IS NULL)

-- injects_reopen: a new agent process has not seen the start block; one that was marked has to be made anew
UPDATE session_memory_injects SET
  state = CASE reason WHEN '' THEN 'pending' ELSE 'cancelled' END, receipt = '', attempts = 0,
  ended_at = CASE reason WHEN '' THEN NULL ELSE ended_at END
WHERE org_id = :org_id AND session_id = :session_id AND phase = 'start' AND state = 'acked'

-- injects_give_up: what was in flight when its session ended, and was never acknowledged
UPDATE session_memory_injects SET state = 'dead', reason = :reason, ended_at = :now
WHERE org_id = :org_id AND state = 'delivered' AND EXISTS (
  SELECT 1 FROM sessions s
  WHERE s.org_id = :org_id AND s.id = session_memory_injects.session_id AND s.ended_at < :before
)

-- injects_unsourced: texts that name no memory they rest on, as programs queue them, for the sessions of a place
SELECT id, text FROM session_memory_injects
WHERE org_id = :org_id AND source_ids = '[]' AND text <> '[forgotten]' AND session_id IN (
  SELECT s.id FROM sessions s
  WHERE s.org_id = :org_id AND s.project_id = :project_id AND s.user_id = :user_id)

-- inject_forget: its text goes, nor is it delivered
UPDATE session_memory_injects SET
  text = '[forgotten]',
  reason = CASE WHEN state IN ('pending', 'delivered') THEN 'source_forgotten' ELSE reason END,
  ended_at = CASE WHEN state IN ('pending', 'delivered') THEN :now ELSE ended_at END,
  state = CASE WHEN state IN ('pending', 'delivered') THEN 'cancelled' ELSE state END
WHERE org_id = :org_id AND id = :id
