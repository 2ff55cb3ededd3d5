-- counter_next: advance a counter of the org by `step` and return its new value
INSERT INTO counters (org_id, name, value) VALUES (:org_id, :name, :step)
ON CONFLICT (org_id, name) DO UPDATE SET value = counters.value + excluded.value
RETURNING value

-- counter_get: the present value of a counter
SELECT value FROM counters WHERE org_id = :org_id AND name = :name

-- change_insert: note in the change log that a row changed
INSERT INTO change (org_id, seq, project_id, kind, row_id, op)
VALUES (:org_id, :seq, :project_id, :kind, :row_id, :op)

-- change_since: what changed after a sequence number, oldest first
SELECT seq, project_id, kind, row_id, op FROM change
WHERE org_id = :org_id AND seq > :seq ORDER BY seq LIMIT :limit

-- change_oldest: the oldest sequence number still kept
SELECT min(seq) FROM change WHERE org_id = :org_id

-- change_prune: drop all but the newest entries
DELETE FROM change WHERE org_id = :org_id AND seq <= :upto

-- meta_get: one fact about this store
SELECT value FROM meta WHERE key = :key

-- meta_at_opening: what opening a store asks, at once
SELECT key, value FROM meta WHERE key IN (:analyser, :purge_pending, :copy_state)

-- meta_put: set one fact about this store
INSERT INTO meta (key, value) VALUES (:key, :value) ON CONFLICT (key) DO UPDATE SET value = excluded.value

-- meta_get_of_org: one fact about an org
SELECT value FROM meta WHERE key = :fact || '/' || :org_id

-- meta_put_of_org: set one fact about an org
INSERT INTO meta (key, value) VALUES (:fact || '/' || :org_id, :value)
ON CONFLICT (key) DO UPDATE SET value = excluded.value

-- lease_token_next: a number above all that were given to holders of leases of the org before
INSERT INTO counters (org_id, name, value) VALUES (:org_id, 'lease', 1)
ON CONFLICT (org_id, name) DO UPDATE SET value = counters.value + excluded.value
RETURNING value

-- lease_get: the present lease on a key
SELECT holder, token, expires_at, attempts, reason FROM leases WHERE org_id = :org_id AND key = :key

-- lease_put: take a lease, replacing one that has run out
INSERT INTO leases (org_id, key, holder, token, expires_at, attempts)
VALUES (:org_id, :key, :holder, :token, :expires_at, :attempts)
ON CONFLICT (org_id, key) DO UPDATE SET
  holder = excluded.holder, token = excluded.token, expires_at = excluded.expires_at,
  attempts = excluded.attempts

-- lease_extend: hold a lease longer
UPDATE leases SET expires_at = :expires_at WHERE org_id = :org_id AND key = :key AND token = :token

-- lease_drop: give a lease back
DELETE FROM leases WHERE org_id = :org_id AND key = :key AND token = :token

-- lease_fail: give a lease back and keep the reason
UPDATE leases SET expires_at = :expires_at, reason = :reason WHERE org_id = :org_id AND key = :key AND token = :token
