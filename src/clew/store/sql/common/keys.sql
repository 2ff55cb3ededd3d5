-- key_columns: a key without its hash
org_id, id, name, user_id, agent, roles, created_at, created_by, expires_at, revoked_at, last_used_at

-- key_insert: a new key
INSERT INTO api_keys (org_id, id, hash, name, user_id, agent, roles, created_at, created_by, expires_at)
VALUES (:org_id, :id, :hash, :name, :user_id, :agent, :roles, :created_at, :created_by, :expires_at)

-- key_by_hash: the key that a token belongs to, whatever its org
SELECT $key_columns FROM api_keys WHERE hash = :hash

-- key_by_id: a key of an org
SELECT $key_columns FROM api_keys WHERE org_id = :org_id AND id = :id

-- keys_page: the keys of an org, oldest first
SELECT $key_columns FROM api_keys WHERE org_id = :org_id AND id > :after ORDER BY id LIMIT :limit

-- keys_of_user: the keys of an org that act as a user and were not revoked
SELECT $key_columns FROM api_keys WHERE org_id = :org_id AND user_id = :user_id AND revoked_at IS NULL ORDER BY id

-- key_revoke: use a key no more
UPDATE api_keys SET revoked_at = :at WHERE org_id = :org_id AND id = :id AND revoked_at IS NULL

-- key_used: note that a key was used
UPDATE api_keys SET last_used_at = :at
WHERE org_id = :org_id AND id = :id AND (last_used_at IS NULL OR last_used_at < :at)
