-- A new holder of an upsert key also ends those whose end lies ahead: they are found by their key.
CREATE INDEX memories_key_ends ON memories (org_id, project_id, user_id, type, upsert_key)
  WHERE upsert_key <> '' AND deleted_at IS NULL AND invalid_at IS NOT NULL;
