-- replay_get: what is known of a request that named a key
SELECT request, status, headers, answer, created_at FROM idempotency_keys
WHERE org_id = :org_id AND principal = :principal AND key = :key

-- replay_begin: a request is under way; one that was begun before is taken over
INSERT INTO idempotency_keys (org_id, principal, key, request, created_at)
VALUES (:org_id, :principal, :key, :request, :created_at)
ON CONFLICT (org_id, principal, key) DO UPDATE SET
  request = excluded.request, status = 0, headers = '{}', answer = excluded.answer, created_at = excluded.created_at

-- replay_finish: what it was answered; not when somebody else has taken it over
UPDATE idempotency_keys SET status = :status, headers = :headers, answer = :answer
WHERE org_id = :org_id AND principal = :principal AND key = :key AND created_at = :created_at AND status = 0

-- replay_drop: it came to nothing, so it may be tried again
DELETE FROM idempotency_keys
WHERE org_id = :org_id AND principal = :principal AND key = :key AND created_at = :created_at AND status = 0

-- replays_drop_org: answers may quote what is forgotten for good
DELETE FROM idempotency_keys WHERE org_id = :org_id

-- replays_sweep: a day is over
DELETE FROM idempotency_keys WHERE org_id = :org_id AND created_at < :before
