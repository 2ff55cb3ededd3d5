-- segment_columns: what the read model keeps of a memory (a fragment, used as $segment_columns). Of its marks 1 is that
-- it was replaced, 2 that it is never put before an agent unasked: guard/trust.py
m.id, m.layer, m.type, m.valid_at, m.invalid_at, m.expires_at, CAST(m.superseded_by <> '' AS integer)
    + 2 * CAST(m.trust NOT IN ('agent', 'user') OR m.classification = 'restricted' AS integer), m.updated_at,
  m.weight, m.row, m.title, m.author, m.thread, t.length, t.terms, CASE WHEN e.space = :space THEN e.vector END

-- segment_tables: where that comes from (a fragment, used as $segment_tables)
JOIN memory_terms t ON t.org_id = m.org_id AND t.memory_row = m.row
LEFT JOIN memory_embeddings e ON e.org_id = m.org_id AND e.memory_row = m.row

-- in_reach: conditions of a reach, NULL for all (a fragment, used as $in_reach)
(:projects::text[] IS NULL OR m.project_id = ANY(:projects::text[]))
  AND (:users::text[] IS NULL OR m.user_id = ANY(:users::text[]))

-- is_shown: whether the label of a memory is among those of the reach, where only it decides (a fragment)
(CAST(:only_labels AS text) IS NULL OR strpos(:only_labels, chr(31) || m.classification || chr(31)) > 0)

-- scope_rows: what the read model keeps of every memory in one place of the org
SELECT $segment_columns
FROM memories m
$segment_tables
WHERE m.org_id = :org_id AND m.project_id = :project_id AND m.user_id = :user_id AND m.deleted_at IS NULL
LIMIT :limit

-- scope_rows_org: the same for the whole org; `users` is a list, or NULL for all
SELECT $segment_columns
FROM memories m
$segment_tables
WHERE m.org_id = :org_id AND m.deleted_at IS NULL
  AND (:users::text[] IS NULL OR m.user_id = ANY(:users::text[]))
LIMIT :limit

-- scope_rows_by_id: the same for a list of ids, with their places
SELECT $segment_columns, m.project_id, m.user_id
FROM unnest(:ids::text[]) WITH ORDINALITY AS j(value, place)
JOIN memories m ON m.org_id = :org_id AND m.id = j.value
$segment_tables
WHERE m.deleted_at IS NULL
ORDER BY j.place

-- scope_rows_by_row: the same for a list of rows that ascend. Each by its key: a join would read the whole scope
SELECT $segment_columns, m.project_id, m.user_id
FROM memories m
CROSS JOIN LATERAL (
  SELECT x.length, x.terms FROM memory_terms x WHERE x.org_id = :org_id AND x.memory_row = m.row LIMIT 1) t
LEFT JOIN LATERAL (
  SELECT x.space, x.vector FROM memory_embeddings x WHERE x.org_id = :org_id AND x.memory_row = m.row LIMIT 1) e ON true
WHERE m.org_id = :org_id AND m.row = ANY(:rows::bigint[]) AND m.deleted_at IS NULL
ORDER BY m.row

-- scope_size: how many memories one place of the org holds, and their analysed length
SELECT count(*), CAST(coalesce(sum(t.length), 0) AS bigint)
FROM memories m JOIN memory_terms t ON t.org_id = m.org_id AND t.memory_row = m.row
WHERE m.org_id = :org_id AND m.project_id = :project_id AND m.user_id = :user_id AND m.deleted_at IS NULL
  AND $is_shown

-- scope_size_org: the same for the whole org
SELECT count(*), CAST(coalesce(sum(t.length), 0) AS bigint)
FROM memories m JOIN memory_terms t ON t.org_id = m.org_id AND t.memory_row = m.row
WHERE m.org_id = :org_id AND m.deleted_at IS NULL AND $is_shown
  AND (:users::text[] IS NULL OR m.user_id = ANY(:users::text[]))

-- scope_vectors: vectors of one place after a row, for a scope too large to keep in memory
SELECT m.row, e.vector FROM memories m
JOIN memory_embeddings e ON e.org_id = m.org_id AND e.memory_row = m.row AND e.space = :space
WHERE m.org_id = :org_id AND m.deleted_at IS NULL AND m.row > :after AND $is_shown
  AND $in_reach
ORDER BY m.row LIMIT :limit

-- scope_newest: the newest memories of each layer. Place by place, where these can be listed: from the end of an
-- index, however many there are
SELECT row FROM (
  SELECT w.row, row_number() OVER (PARTITION BY w.layer ORDER BY w.updated_at DESC, w.row DESC) AS place
  FROM unnest(ARRAY['rule', 'working', 'long_term']) AS y(layer)
  CROSS JOIN unnest(:projects::text[]) AS p(value) CROSS JOIN unnest(:users::text[]) AS u(value)
  CROSS JOIN LATERAL (
    SELECT m.row, m.layer, m.updated_at FROM memories m
    WHERE m.org_id = :org_id AND m.project_id = p.value AND m.user_id = u.value AND m.layer = y.layer
      AND m.deleted_at IS NULL AND $is_shown
    ORDER BY m.updated_at DESC, m.row DESC LIMIT :limit) w
  UNION ALL
  SELECT m.row, row_number() OVER (PARTITION BY m.layer ORDER BY m.updated_at DESC, m.row DESC)
  FROM memories m
  WHERE m.org_id = :org_id AND m.deleted_at IS NULL AND (:projects::text[] IS NULL OR :users::text[] IS NULL)
    AND $in_reach AND $is_shown
) AS placed WHERE place <= :limit

-- rows_of_users: those of a list of rows that belong to some users
SELECT m.row FROM unnest(:rows::bigint[]) WITH ORDINALITY AS j(value, place)
JOIN memories m ON m.org_id = :org_id AND m.row = j.value
WHERE m.user_id = ANY(:users::text[])
ORDER BY j.place

-- memories_by_id: full memories for a list of ids
SELECT $memory_columns FROM memories
WHERE org_id = :org_id AND id = ANY(:ids::text[]) AND deleted_at IS NULL

-- memories_by_row: the same for a list of rows
SELECT $memory_columns FROM memories
WHERE org_id = :org_id AND row = ANY(:rows::bigint[]) AND deleted_at IS NULL

-- ids_taken: which of a list of ids exist, forgotten ones included
SELECT id FROM memories WHERE org_id = :org_id AND id = ANY(:ids::text[])

-- hashes_live: which of a list of content hashes a live memory of this place and type has
SELECT content_hash FROM memories
WHERE org_id = :org_id AND project_id = :project_id AND user_id = :user_id AND type = :type
  AND content_hash = ANY(:hashes::text[])
  AND deleted_at IS NULL AND superseded_by = '' AND invalid_at IS NULL

-- has_tags: whether a memory carries one of some tags (a fragment, used as $has_tags)
(:tags::text[] IS NULL OR clew_json(m.tags) ?| :tags::text[])

-- ids_matching: memories that carry a tag, or come from an agent, session or namespace, when asked
SELECT m.id FROM memories m
WHERE m.org_id = :org_id AND m.deleted_at IS NULL
  AND $in_reach
  AND (:agent = '' OR m.agent = :agent) AND (:session_id = '' OR m.session_id = :session_id)
  AND (:namespace = '' OR m.namespace = :namespace)
  AND $has_tags

-- is_listed: whether a memory passes a filter (a fragment, used as $is_listed)
$in_reach AND $is_shown
  AND (:with_deleted OR m.deleted_at IS NULL)
  AND (:with_expired OR m.expires_at IS NULL OR m.expires_at > :now)
  AND (:with_superseded OR m.superseded_by = '')
  AND (:layer = '' OR m.layer = :layer)
  AND (:types::text[] IS NULL OR m.type = ANY(:types::text[]))
  AND (:namespace = '' OR m.namespace = :namespace) AND (:agent = '' OR m.agent = :agent)
  AND (:session_id = '' OR m.session_id = :session_id)
  AND (CAST(:before AS timestamptz) IS NULL OR m.created_at < :before)
  AND (CAST(:pattern AS text) IS NULL OR m.content ~ (SELECT clew_glob(:pattern)))
  AND $has_tags
  AND (CAST(:cursor AS text) IS NULL OR m.id < :cursor)

-- memory_list: memories by filter, newest first
SELECT $memory_columns FROM memories m WHERE m.org_id = :org_id AND $is_listed ORDER BY m.id DESC LIMIT :limit

-- memory_list_few: the same where there are few in these projects: all of them are read, and none of the rest of the org
WITH m AS MATERIALIZED (SELECT * FROM memories WHERE org_id = :org_id AND project_id = ANY(:projects::text[]))
SELECT $memory_columns FROM m WHERE $is_listed ORDER BY m.id DESC LIMIT :limit

-- memories_in_projects: how many memories there are in these projects, forgotten ones included, up to a limit
SELECT count(*) FROM (
  SELECT 1 FROM memories WHERE org_id = :org_id AND project_id = ANY(:projects::text[]) LIMIT :limit) AS seen

-- counts: live memories that may be read by project, type and layer, and the bytes of their content
SELECT m.project_id, m.type, m.layer, count(*), CAST(sum(octet_length(m.content)) AS bigint) FROM memories m
WHERE m.org_id = :org_id AND m.deleted_at IS NULL
  AND $in_reach
  AND (CAST(:in_labels AS text) IS NULL OR strpos(:in_labels, chr(31) || m.classification || chr(31)) > 0)
  AND (CAST(:hidden AS text) IS NULL OR strpos(:hidden, chr(31) || m.row::text || chr(31)) = 0)
GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3

-- vector_counts: vectors of live memories that may be read, by space
SELECT e.space, count(*) FROM memories m
JOIN memory_embeddings e ON e.org_id = m.org_id AND e.memory_row = m.row
WHERE m.org_id = :org_id AND m.deleted_at IS NULL
  AND $in_reach
  AND (CAST(:in_labels AS text) IS NULL OR strpos(:in_labels, chr(31) || m.classification || chr(31)) > 0)
  AND (CAST(:hidden AS text) IS NULL OR strpos(:hidden, chr(31) || m.row::text || chr(31)) = 0)
GROUP BY 1 ORDER BY 1
