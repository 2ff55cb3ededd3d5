-- memory_columns: what makes up a memory, in the order of the values (a fragment, used as $memory_columns)
id, org_id, project_id, user_id, agent, session_id, namespace, type, layer, title, content, tags,
  category, paths, author, thread, at, origin, tool_call, parents, trust, classification, confidence, weight,
  upsert_key, content_hash, valid_at, invalid_at, superseded_by, expires_at, created_at, updated_at, deleted_at,
  version, metadata

-- memory_insert: store a new memory
INSERT INTO memories (
  row, $memory_columns
) VALUES (
  :row, :id, :org_id, :project_id, :user_id, :agent, :session_id, :namespace, :type, :layer, :title, :content, :tags,
  :category, :paths, :author, :thread, :at, :origin, :tool_call, :parents, :trust, :classification, :confidence,
  :weight, :upsert_key, :content_hash, :valid_at, :invalid_at, :superseded_by, :expires_at, :created_at,
  :updated_at, :deleted_at, :version, :metadata
)

-- memory_update: write the present state of a memory back
UPDATE memories SET
  type = :type, layer = :layer, title = :title, content = :content, tags = :tags, category = :category,
  paths = :paths, author = :author, thread = :thread, at = :at, origin = :origin, parents = :parents,
  trust = :trust, classification = :classification, confidence = :confidence, weight = :weight,
  upsert_key = :upsert_key, content_hash = :content_hash, valid_at = :valid_at, invalid_at = :invalid_at,
  superseded_by = :superseded_by, expires_at = :expires_at, updated_at = :updated_at, deleted_at = :deleted_at,
  version = :version, change = :change, metadata = :metadata
WHERE org_id = :org_id AND id = :id AND version = :expected_version

-- memory_by_id: one memory of the org
SELECT $memory_columns
FROM memories
WHERE org_id = :org_id AND id = :id

-- memory_ids_between: memories of the org whose id lies in a range, to resolve a shortened id
SELECT id, project_id, user_id FROM memories
WHERE org_id = :org_id AND id >= :low AND id < :high AND (:with_deleted OR deleted_at IS NULL) LIMIT 1000

-- memory_row_of: the dense row of a memory
SELECT row FROM memories WHERE org_id = :org_id AND id = :id

-- memory_weight: the present weight of a memory
SELECT weight FROM memories WHERE org_id = :org_id AND id = :id

-- memory_live_duplicate: a live memory with the same text in the same place
SELECT id FROM memories
WHERE org_id = :org_id AND project_id = :project_id AND user_id = :user_id AND type = :type
  AND content_hash = :content_hash AND deleted_at IS NULL AND superseded_by = '' AND invalid_at IS NULL

-- memory_live_upsert: the live memory with this upsert key
SELECT id FROM memories
WHERE org_id = :org_id AND project_id = :project_id AND user_id = :user_id AND type = :type
  AND upsert_key = :upsert_key AND upsert_key <> ''
  AND deleted_at IS NULL AND superseded_by = '' AND invalid_at IS NULL

-- memory_key_until: memories with this upsert key that hold until a time after some moment
SELECT id FROM memories
WHERE org_id = :org_id AND project_id = :project_id AND user_id = :user_id AND type = :type
  AND upsert_key = :upsert_key AND upsert_key <> ''
  AND deleted_at IS NULL AND invalid_at IS NOT NULL AND invalid_at > :moment

-- memory_expired_working: working memories whose time is over
SELECT id FROM memories
WHERE org_id = :org_id AND layer = 'working' AND deleted_at IS NULL AND expires_at <= :now

-- memory_working_overflow: working memories of one user beyond the newest `keep`
SELECT id FROM memories
WHERE org_id = :org_id AND user_id = :user_id AND layer = 'working' AND deleted_at IS NULL
ORDER BY updated_at DESC, created_at DESC, id DESC
LIMIT 1000000 OFFSET :keep

-- memory_delete: remove the row for good
DELETE FROM memories WHERE org_id = :org_id AND id = :id

-- memory_page: memories of the org in id order after a cursor, for export, copy and re-indexing
SELECT $memory_columns FROM memories
WHERE org_id = :org_id AND id > :after AND deleted_at IS NULL ORDER BY id LIMIT :limit

-- version_insert: keep the state that a change is about to replace
INSERT INTO memory_versions (org_id, memory_id, version, change, changed_at, state)
SELECT org_id, id, version, change, updated_at, :state FROM memories WHERE org_id = :org_id AND id = :memory_id

-- memory_change: what made the present state of a memory
SELECT change FROM memories WHERE org_id = :org_id AND id = :memory_id

-- version_list: earlier states of a memory, oldest first
SELECT version, change, changed_at, state FROM memory_versions
WHERE org_id = :org_id AND memory_id = :memory_id ORDER BY version

-- version_before: the states of a memory before one of them, the newest first
SELECT version, state FROM memory_versions
WHERE org_id = :org_id AND memory_id = :memory_id AND version < :version ORDER BY version DESC

-- version_restate: note something more with a state that is kept
UPDATE memory_versions SET state = :state WHERE org_id = :org_id AND memory_id = :memory_id AND version = :version

-- version_delete: forget all earlier states
DELETE FROM memory_versions WHERE org_id = :org_id AND memory_id = :memory_id

-- memory_count_all: live memories of all orgs, counted up to a number
SELECT count(*) FROM (SELECT 1 FROM memories WHERE deleted_at IS NULL LIMIT :most) AS found

-- memory_ahead: memories that were stored or changed by a clock ahead of the present one, beyond what clocks differ
SELECT id, project_id FROM memories WHERE org_id = :org_id AND (created_at > :beyond OR updated_at > :beyond)

-- memory_redate: that was now; what began or ended then does so now, what is to do so later stays
UPDATE memories SET
  at = CASE WHEN at > :now AND at <= created_at THEN :now ELSE at END,
  valid_at = CASE WHEN valid_at > :now AND valid_at <= created_at THEN :now ELSE valid_at END,
  invalid_at = CASE WHEN invalid_at > :now AND invalid_at <= updated_at THEN :now ELSE invalid_at END,
  created_at = CASE WHEN created_at > :now THEN :now ELSE created_at END,
  updated_at = CASE WHEN updated_at > :now THEN :now ELSE updated_at END
WHERE org_id = :org_id AND (created_at > :beyond OR updated_at > :beyond)

-- memory_newest: when the newest memory of any org was stored
SELECT max(created_at) FROM memories

-- memories_imported: what files brought to a place and is still current
SELECT id, content_hash, metadata, version FROM memories
WHERE org_id = :org_id AND project_id = :project_id AND user_id = :user_id AND origin = 'import'
  AND deleted_at IS NULL AND superseded_by = '' AND invalid_at IS NULL
ORDER BY id

-- memory_is_at: whether a row still holds this version of a live memory
SELECT 1 FROM memories WHERE row = :row AND org_id = :org_id AND version = :version AND deleted_at IS NULL

-- terms_stray: index entries of forgotten memories
SELECT t.memory_row FROM memory_terms t
LEFT JOIN memories m ON m.row = t.memory_row AND m.org_id = t.org_id AND m.deleted_at IS NULL
WHERE t.org_id = :org_id AND m.row IS NULL
