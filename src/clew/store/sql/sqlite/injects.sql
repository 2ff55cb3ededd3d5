-- inject_sources_gone: whether a memory behind an inject was forgotten or put into quarantine. An id that is not of
-- our making belongs to someone else's store of memories: of that we know nothing
SELECT EXISTS (
  SELECT 1 FROM json_each(:ids) j
  LEFT JOIN memories m ON m.org_id = :org_id AND m.id = j.value
  WHERE m.deleted_at IS NOT NULL OR (m.id IS NULL AND j.value GLOB 'mem_*')
    OR EXISTS (SELECT 1 FROM quarantine q WHERE q.org_id = :org_id AND q.id = j.value)
)

-- injects_forget: no text that quotes one of a JSON list of memories stays, nor is it delivered
UPDATE session_memory_injects SET
  text = '[forgotten]',
  reason = CASE WHEN state IN ('pending', 'delivered') THEN 'source_forgotten' ELSE reason END,
  ended_at = CASE WHEN state IN ('pending', 'delivered') THEN :now ELSE ended_at END,
  state = CASE WHEN state IN ('pending', 'delivered') THEN 'cancelled' ELSE state END
WHERE org_id = :org_id AND observation_ids <> '[]' AND EXISTS (
  SELECT 1 FROM json_each(observation_ids) o WHERE o.value IN (SELECT value FROM json_each(:ids))
)
