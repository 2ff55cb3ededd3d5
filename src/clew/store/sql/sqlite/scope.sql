-- segment_columns: what the read model keeps of a memory (a fragment, used as $segment_columns). Of its marks 1 is that
-- it was replaced, 2 that it is never put before an agent unasked: guard/trust.py
m.id, m.layer, m.type, m.valid_at, m.invalid_at, m.expires_at,
  (m.superseded_by <> '') + 2 * (m.trust NOT IN ('agent', 'user') OR m.classification = 'restricted'), m.updated_at,
  m.weight, m.row, m.title, m.author, m.thread, t.length, t.terms, CASE WHEN e.space = :space THEN e.vector END

-- scope_rows: what the read model keeps of every memory in one place of the org
SELECT $segment_columns
FROM memories m
JOIN memory_terms t ON t.memory_row = m.row
LEFT JOIN memory_embeddings e ON e.memory_row = m.row
WHERE m.org_id = :org_id AND m.project_id = :project_id AND m.user_id = :user_id AND m.deleted_at IS NULL
LIMIT :limit

-- scope_rows_org: the same for the whole org; `users` is a JSON list, or NULL for all
SELECT $segment_columns
FROM memories m
JOIN memory_terms t ON t.memory_row = m.row
LEFT JOIN memory_embeddings e ON e.memory_row = m.row
WHERE m.org_id = :org_id AND m.deleted_at IS NULL
  AND (:users IS NULL OR m.user_id IN (SELECT value FROM json_each(:users)))
LIMIT :limit

-- scope_rows_by_id: the same for a JSON list of ids, with their places
SELECT $segment_columns, m.project_id, m.user_id
FROM json_each(:ids) j
CROSS JOIN memories m ON m.org_id = :org_id AND m.id = j.value  -- in this order: the list is short
JOIN memory_terms t ON t.memory_row = m.row
LEFT JOIN memory_embeddings e ON e.memory_row = m.row
WHERE m.deleted_at IS NULL

-- scope_rows_by_row: the same for a JSON list of rows
SELECT $segment_columns, m.project_id, m.user_id
FROM json_each(:rows) j
CROSS JOIN memories m ON m.row = j.value
JOIN memory_terms t ON t.memory_row = m.row
LEFT JOIN memory_embeddings e ON e.memory_row = m.row
WHERE m.org_id = :org_id AND m.deleted_at IS NULL

-- is_shown: whether the label of a memory is among those of the reach, where only it decides (a fragment)
(:only_labels IS NULL OR instr(:only_labels, char(31) || classification || char(31)))

-- scope_size: how many memories one place of the org holds, and their analysed length
SELECT count(*), coalesce(sum(t.length), 0) FROM memories m JOIN memory_terms t ON t.memory_row = m.row
WHERE m.org_id = :org_id AND m.project_id = :project_id AND m.user_id = :user_id AND m.deleted_at IS NULL
  AND $is_shown

-- scope_size_org: the same for the whole org
SELECT count(*), coalesce(sum(t.length), 0) FROM memories m JOIN memory_terms t ON t.memory_row = m.row
WHERE m.org_id = :org_id AND m.deleted_at IS NULL AND $is_shown
  AND (:users IS NULL OR m.user_id IN (SELECT value FROM json_each(:users)))

-- scope_vectors: vectors of a scope after a row, for one too large to keep in memory. In the order of an index that
-- has all that is asked: each page would otherwise read and sort the rest of the org
SELECT m.row, e.vector FROM memories m INDEXED BY memories_seen
CROSS JOIN memory_embeddings e ON e.memory_row = m.row AND e.space = :space
WHERE m.org_id = :org_id AND m.deleted_at IS NULL AND m.row > :after AND $is_shown
  AND (:projects IS NULL OR m.project_id IN (SELECT value FROM json_each(:projects)))
  AND (:users IS NULL OR m.user_id IN (SELECT value FROM json_each(:users)))
ORDER BY m.row LIMIT :limit

-- scope_newest: the newest memories of each layer
SELECT row FROM (
  SELECT row, row_number() OVER (PARTITION BY layer ORDER BY updated_at DESC, row DESC) AS place FROM memories
  WHERE org_id = :org_id AND deleted_at IS NULL AND $is_shown
    AND (:projects IS NULL OR project_id IN (SELECT value FROM json_each(:projects)))
    AND (:users IS NULL OR user_id IN (SELECT value FROM json_each(:users)))
) WHERE place <= :limit

-- rows_of_users: those of a JSON list of rows that belong to some users
SELECT m.row FROM json_each(:rows) j CROSS JOIN memories m ON m.row = j.value
WHERE m.org_id = :org_id AND m.user_id IN (SELECT value FROM json_each(:users))

-- memories_by_id: full memories for a JSON list of ids
SELECT $memory_columns FROM memories
WHERE org_id = :org_id AND id IN (SELECT value FROM json_each(:ids)) AND deleted_at IS NULL

-- memories_by_row: the same for a JSON list of rows, each by its key: by the org, SQLite would read all of it
SELECT $memory_columns FROM memories
WHERE +org_id = :org_id AND row IN (SELECT value FROM json_each(:rows)) AND deleted_at IS NULL

-- ids_taken: which of a JSON list of ids exist, forgotten ones included
SELECT id FROM memories WHERE org_id = :org_id AND id IN (SELECT value FROM json_each(:ids))

-- hashes_live: which of a JSON list of content hashes a live memory of this place and type has
SELECT m.content_hash FROM json_each(:hashes) j
CROSS JOIN memories m INDEXED BY memories_live_content ON m.org_id = :org_id
  AND unhex(substr(m.content_hash, 1, 32)) = unhex(substr(j.value, 1, 32)) AND m.content_hash = j.value
WHERE m.project_id = :project_id AND m.user_id = :user_id AND m.type = :type
  AND m.deleted_at IS NULL AND m.superseded_by = '' AND m.invalid_at IS NULL

-- memory_live_duplicate: a live memory with the same text in the same place
SELECT id FROM memories INDEXED BY memories_live_content
WHERE org_id = :org_id AND unhex(substr(content_hash, 1, 32)) = unhex(substr(:content_hash, 1, 32))
  AND content_hash = :content_hash AND project_id = :project_id AND user_id = :user_id AND type = :type
  AND deleted_at IS NULL AND superseded_by = '' AND invalid_at IS NULL

-- ids_matching: memories that carry a tag, or come from an agent, session or namespace, when asked
SELECT id FROM memories
WHERE org_id = :org_id AND deleted_at IS NULL
  AND (:projects IS NULL OR project_id IN (SELECT value FROM json_each(:projects)))
  AND (:users IS NULL OR user_id IN (SELECT value FROM json_each(:users)))
  AND (:agent = '' OR agent = :agent) AND (:session_id = '' OR session_id = :session_id)
  AND (:namespace = '' OR namespace = :namespace)
  AND (:tags IS NULL OR EXISTS (
    SELECT 1 FROM json_each(memories.tags) have JOIN json_each(:tags) want ON have.value = want.value))

-- is_listed: whether a memory passes a filter (a fragment, used as $is_listed)
$is_shown
  AND (:projects IS NULL OR project_id IN (SELECT value FROM json_each(:projects)))
  AND (:users IS NULL OR user_id IN (SELECT value FROM json_each(:users)))
  AND (:with_deleted OR deleted_at IS NULL)
  AND (:with_expired OR expires_at IS NULL OR expires_at > :now)
  AND (:with_superseded OR superseded_by = '')
  AND (:layer = '' OR layer = :layer)
  AND (:types IS NULL OR type IN (SELECT value FROM json_each(:types)))
  AND (:namespace = '' OR namespace = :namespace) AND (:agent = '' OR agent = :agent)
  AND (:session_id = '' OR session_id = :session_id)
  AND (:before IS NULL OR created_at < :before)
  AND (:pattern IS NULL OR content GLOB :pattern)
  AND (:tags IS NULL OR EXISTS (
    SELECT 1 FROM json_each(memories.tags) have JOIN json_each(:tags) want ON have.value = want.value))
  AND (:cursor IS NULL OR id < :cursor)

-- memory_list: memories by filter, newest first
SELECT $memory_columns FROM memories WHERE org_id = :org_id AND $is_listed ORDER BY id DESC LIMIT :limit

-- memory_list_few: the same where there are few in these projects: all of them are read, and none of the rest of the org
SELECT $memory_columns FROM memories INDEXED BY memories_scope
WHERE org_id = :org_id AND project_id IN (SELECT value FROM json_each(:projects)) AND $is_listed
ORDER BY id DESC LIMIT :limit

-- memories_in_projects: how many memories there are in these projects, forgotten ones included, up to a limit
SELECT count(*) FROM (
  SELECT 1 FROM memories INDEXED BY memories_scope
  WHERE org_id = :org_id AND project_id IN (SELECT value FROM json_each(:projects)) LIMIT :limit)

-- counts: live memories that may be read by project, type and layer, and the bytes of their content
SELECT project_id, type, layer, count(*), sum(octet_length(content)) FROM memories m
WHERE org_id = :org_id AND deleted_at IS NULL
  AND (:projects IS NULL OR project_id IN (SELECT value FROM json_each(:projects)))
  AND (:users IS NULL OR user_id IN (SELECT value FROM json_each(:users)))
  AND (:in_labels IS NULL OR instr(:in_labels, char(31) || m.classification || char(31)))
  AND (:hidden IS NULL OR NOT instr(:hidden, char(31) || m.row || char(31)))
GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3

-- vector_counts: vectors of live memories that may be read, by space
SELECT e.space, count(*) FROM memories m JOIN memory_embeddings e ON e.memory_row = m.row
WHERE m.org_id = :org_id AND m.deleted_at IS NULL
  AND (:projects IS NULL OR m.project_id IN (SELECT value FROM json_each(:projects)))
  AND (:users IS NULL OR m.user_id IN (SELECT value FROM json_each(:users)))
  AND (:in_labels IS NULL OR instr(:in_labels, char(31) || m.classification || char(31)))
  AND (:hidden IS NULL OR NOT instr(:hidden, char(31) || m.row || char(31)))
GROUP BY 1
