-- Half of the pages that an import wrote were of this index: hashes come in no order, and it held each as 64 letters
-- behind the names of its place. 128 bits of it tell texts apart as well.
DROP INDEX memories_live_content;
CREATE UNIQUE INDEX memories_live_content ON memories (org_id, unhex(substr(content_hash, 1, 32)), project_id, user_id, type)
  WHERE deleted_at IS NULL AND superseded_by = '' AND invalid_at IS NULL;
