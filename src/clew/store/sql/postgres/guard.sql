-- guarded_rows: what policies see of every memory within a reach
SELECT m.row, m.id, m.project_id, m.user_id, m.classification, m.author FROM memories m
WHERE m.org_id = :org_id AND m.deleted_at IS NULL
  AND $in_reach

-- hidden_rows: memories within a reach whose label is not among its labels
SELECT m.row FROM memories m
WHERE m.org_id = :org_id AND m.deleted_at IS NULL
  AND $in_reach
  AND strpos(:in_labels, chr(31) || m.classification || chr(31)) = 0
