-- in_dispute: whether anything in the org contradicts anything
SELECT EXISTS (SELECT 1 FROM conflicts WHERE org_id = :org_id) OR EXISTS (
  SELECT 1 FROM graph_edges INDEXED BY graph_edges_contradicts WHERE org_id = :org_id AND edge_type = 'contradicts')

-- conflicts_of_rows: conflicts that touch these memories; a JSON list of rows
SELECT $conflict_columns FROM (
  SELECT c.* FROM json_each(:rows) j
  CROSS JOIN conflicts c INDEXED BY conflicts_a ON c.org_id = :org_id AND c.a_row = j.value
  UNION
  SELECT c.* FROM json_each(:rows) j
  CROSS JOIN conflicts c INDEXED BY conflicts_b ON c.org_id = :org_id AND c.b_row = j.value
) c CROSS JOIN memories a ON a.row = c.a_row CROSS JOIN memories b ON b.row = c.b_row

-- conflict_list: conflicts between memories in reach, the surest first, from one on; with :all also those that are over
SELECT $conflict_columns FROM $conflict_tables
WHERE c.org_id = :org_id
  AND (c.confidence < :sure OR (c.confidence = :sure AND c.id > :after))
  AND (:projects IS NULL OR (a.project_id IN (SELECT value FROM json_each(:projects))
    AND b.project_id IN (SELECT value FROM json_each(:projects))))
  AND (:users IS NULL OR (a.user_id IN (SELECT value FROM json_each(:users))
    AND b.user_id IN (SELECT value FROM json_each(:users))))
  AND (:all OR ($conflict_stands AND NOT (c.keep = 'both' AND $same_texts)))
ORDER BY c.confidence DESC, c.id LIMIT :limit

-- rows_of_ids: the rows of memories by id, a JSON list
SELECT m.row FROM json_each(:ids) j CROSS JOIN memories m ON m.org_id = :org_id AND m.id = j.value

-- conflict_of_pair: the conflict between two memories, whichever came first
SELECT $conflict_columns FROM $conflict_tables
WHERE c.org_id = :org_id AND min(c.a_row, c.b_row) = min(:one, :other) AND max(c.a_row, c.b_row) = max(:one, :other)
