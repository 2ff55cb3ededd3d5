-- session_held: whether this worker holds the session, and whoever asks may see it (a fragment, used as $session_held)
l.holder = :worker AND l.token = :token AND l.expires_at > ($clock)
  AND (:projects::text[] IS NULL OR s.project_id = ANY(:projects::text[]))
  AND (:users::text[] IS NULL OR s.user_id = ANY(:users::text[]))

-- inject_dead_list: what was given up in the sessions of these users, or of all, newest first; '' is any agent
SELECT $inject_columns FROM session_memory_injects
WHERE org_id = :org_id AND state = 'dead' AND EXISTS (
  SELECT 1 FROM sessions s WHERE s.org_id = :org_id AND s.id = session_memory_injects.session_id
    AND (:every_user OR s.user_id = ANY(:users::text[])) AND (:agent = '' OR s.agent = :agent))
ORDER BY seq DESC LIMIT :limit

-- source_gone: whether memory or summary j behind an inject may no longer be told (a fragment, used as $source_gone)
m.deleted_at IS NOT NULL OR (m.id IS NULL AND starts_with(j.value, 'mem_'))
    OR (m.id IS NULL AND starts_with(j.value, 'sum_')
      AND NOT EXISTS (SELECT 1 FROM session_summaries t WHERE t.org_id = :org_id AND t.id = j.value))
    OR m.classification = 'restricted' OR m.superseded_by <> '' OR m.invalid_at <= :now OR m.expires_at <= :now
    OR EXISTS (SELECT 1 FROM quarantine q WHERE q.org_id = :org_id AND q.id = j.value)
    OR (m.project_id <> '' AND EXISTS (SELECT 1 FROM project_memory_config o
      WHERE o.org_id = :org_id AND o.project_id = m.project_id AND o.memory_enabled = 0))

-- source_changed: memories behind inject i that may no longer be told as they were (a fragment, used as $source_changed)
SELECT 1 FROM jsonb_array_elements_text(clew_json(i.source_ids)) AS j (value)
    LEFT JOIN memories m ON m.org_id = :org_id AND m.id = j.value
    WHERE m.updated_at > i.enqueued_at OR $source_gone

-- inject_sources_gone: whether a memory behind an inject may no longer be told as it was then: forgotten, in
-- quarantine, replaced, over, restricted, changed since, or of a project whose memory is off. What outcomes make of its
-- weight is no change of it. An id that is not of our making belongs to someone else's store of memories: of that we know
-- nothing
SELECT EXISTS (
  SELECT 1 FROM unnest(:ids::text[]) AS j (value) LEFT JOIN memories m ON m.org_id = :org_id AND m.id = j.value
  WHERE m.updated_at > :since OR $source_gone
)

-- injects_forget: no text that rests on one of a list of memories stays, nor is it delivered
UPDATE session_memory_injects SET
  text = '[forgotten]',
  reason = CASE WHEN state IN ('pending', 'delivered') THEN 'source_forgotten' ELSE reason END,
  ended_at = CASE WHEN state IN ('pending', 'delivered') THEN :now ELSE ended_at END,
  state = CASE WHEN state IN ('pending', 'delivered') THEN 'cancelled' ELSE state END
WHERE org_id = :org_id AND source_ids <> '[]' AND EXISTS (
  SELECT 1 FROM jsonb_array_elements_text(clew_json(source_ids)) AS o (value)
  WHERE o.value = ANY(:ids::text[])
)

-- inject_head: who asks, and what is next for the session. Found first: with row-level security no index is used for a
-- comparison with anything computed from other columns
WITH first AS MATERIALIZED (SELECT $next_inject AS seq)
SELECT s.project_id, s.user_id, s.state, s.stop_requested,
  CASE WHEN l.holder = :worker AND l.token = :token AND l.expires_at > ($clock) THEN 1 ELSE 0 END,
  CASE WHEN c.memory_enabled = 0 OR c.runtime_inject_enabled = 0 THEN 0 ELSE 1 END,
  coalesce(a.suspended, 0), i.seq, i.id, i.text, i.kind, i.attempts, i.source_ids, i.enqueued_at
FROM sessions s CROSS JOIN first
LEFT JOIN leases l ON l.org_id = :org_id AND l.key = 'session:' || :session_id
LEFT JOIN project_memory_config c ON c.org_id = :org_id AND c.project_id = s.project_id
LEFT JOIN agents a ON a.org_id = :org_id AND a.agent = s.agent
LEFT JOIN session_memory_injects i ON i.org_id = :org_id AND i.seq = first.seq
WHERE s.org_id = :org_id AND s.id = :session_id
