-- session_held: whether this worker holds the session, and whoever asks may see it (a fragment, used as $session_held)
l.holder = :worker AND l.token = :token AND l.expires_at > ($clock)
  AND (:projects IS NULL OR s.project_id IN (SELECT value FROM json_each(:projects)))
  AND (:users IS NULL OR s.user_id IN (SELECT value FROM json_each(:users)))

-- inject_dead_list: what was given up in the sessions of these users, or of all, newest first; '' is any agent
SELECT $inject_columns FROM session_memory_injects
WHERE org_id = :org_id AND state = 'dead' AND EXISTS (
  SELECT 1 FROM sessions s WHERE s.org_id = :org_id AND s.id = session_memory_injects.session_id
    AND (:every_user OR s.user_id IN (SELECT value FROM json_each(:users))) AND (:agent = '' OR s.agent = :agent))
ORDER BY seq DESC LIMIT :limit

-- source_gone: whether memory or summary j behind an inject may no longer be told (a fragment, used as $source_gone)
m.deleted_at IS NOT NULL OR (m.id IS NULL AND j.value GLOB 'mem_*')
    OR (m.id IS NULL AND j.value GLOB 'sum_*'
      AND NOT EXISTS (SELECT 1 FROM session_summaries t WHERE t.org_id = :org_id AND t.id = j.value))
    OR m.classification = 'restricted' OR m.superseded_by <> '' OR m.invalid_at <= :now OR m.expires_at <= :now
    OR EXISTS (SELECT 1 FROM quarantine q WHERE q.org_id = :org_id AND q.id = j.value)
    OR (m.project_id <> '' AND EXISTS (SELECT 1 FROM project_memory_config o
      WHERE o.org_id = :org_id AND o.project_id = m.project_id AND o.memory_enabled = 0))

-- source_changed: memories behind inject i that may no longer be told as they were (a fragment, used as $source_changed)
SELECT 1 FROM json_each(i.source_ids) j LEFT JOIN memories m ON m.org_id = :org_id AND m.id = j.value
    WHERE m.updated_at > i.enqueued_at OR $source_gone

-- inject_sources_gone: whether a memory behind an inject may no longer be told as it was then: forgotten, in
-- quarantine, replaced, over, restricted, changed since, or of a project whose memory is off. What outcomes make of its
-- weight is no change of it. An id that is not of our making belongs to someone else's store of memories: of that we know
-- nothing
SELECT EXISTS (
  SELECT 1 FROM json_each(:ids) j LEFT JOIN memories m ON m.org_id = :org_id AND m.id = j.value
  WHERE m.updated_at > :since OR $source_gone
)

-- injects_forget: no text that rests on one of a JSON list of memories stays, nor is it delivered
UPDATE session_memory_injects SET
  text = '[forgotten]',
  reason = CASE WHEN state IN ('pending', 'delivered') THEN 'source_forgotten' ELSE reason END,
  ended_at = CASE WHEN state IN ('pending', 'delivered') THEN :now ELSE ended_at END,
  state = CASE WHEN state IN ('pending', 'delivered') THEN 'cancelled' ELSE state END
WHERE org_id = :org_id AND source_ids <> '[]' AND EXISTS (
  SELECT 1 FROM json_each(source_ids) o WHERE o.value IN (SELECT value FROM json_each(:ids))
)
