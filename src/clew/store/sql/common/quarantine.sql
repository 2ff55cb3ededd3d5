-- quarantine_put: keep a text apart; the same text in the same place is kept once
INSERT INTO quarantine (org_id, id, project_id, user_id, content_hash, reasons, state, at, expires_at)
VALUES (:org_id, :id, :project_id, :user_id, :content_hash, :reasons, :state, :at, :expires_at)
ON CONFLICT DO NOTHING

-- quarantine_same: what is kept of this text in this place
SELECT reasons, state, at, expires_at
FROM quarantine
WHERE org_id = :org_id AND project_id = :project_id AND user_id = :user_id AND content_hash = :content_hash

-- quarantine_get: one that has not expired
SELECT reasons, state, at, expires_at
FROM quarantine
WHERE org_id = :org_id AND id = :id AND expires_at > :now

-- quarantine_page: those of an org that have not expired, newest first; after a cursor if there is one
SELECT reasons, state, at, expires_at
FROM quarantine
WHERE org_id = :org_id AND expires_at > :now AND (CAST(:cursor AS text) IS NULL OR id < :cursor)
  AND (CAST(:project_id AS text) IS NULL OR project_id = :project_id)
ORDER BY id DESC
LIMIT :limit

-- quarantine_has_expired: whether any of an org has had its time
SELECT EXISTS (SELECT 1 FROM quarantine WHERE org_id = :org_id AND expires_at <= :now)

-- quarantine_drop: remove one
DELETE FROM quarantine
WHERE org_id = :org_id AND id = :id

-- quarantine_forget: remove a text of one place
DELETE FROM quarantine
WHERE org_id = :org_id AND project_id = :project_id AND user_id = :user_id AND content_hash = :content_hash

-- quarantine_expire: remove what has had its time
DELETE FROM quarantine
WHERE org_id = :org_id AND expires_at <= :now
