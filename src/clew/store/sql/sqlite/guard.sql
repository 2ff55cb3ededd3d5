-- guarded_rows: what policies see of every memory within a reach
SELECT m.row, m.id, m.project_id, m.user_id, m.classification, m.author FROM memories m
WHERE m.org_id = :org_id AND m.deleted_at IS NULL
  AND (:projects IS NULL OR m.project_id IN (SELECT value FROM json_each(:projects)))
  AND (:users IS NULL OR m.user_id IN (SELECT value FROM json_each(:users)))

-- hidden_rows: memories within a reach whose label is not among its labels
SELECT m.row FROM memories m
WHERE m.org_id = :org_id AND m.deleted_at IS NULL
  AND (:projects IS NULL OR m.project_id IN (SELECT value FROM json_each(:projects)))
  AND (:users IS NULL OR m.user_id IN (SELECT value FROM json_each(:users)))
  AND NOT instr(:in_labels, char(31) || m.classification || char(31))
