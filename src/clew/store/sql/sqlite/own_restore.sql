-- Only a restore from a file uses these.

-- counters_all: every counter of every org
SELECT org_id, name, value FROM counters ORDER BY 1, 2

-- counter_set: put a counter to a value
INSERT INTO counters (org_id, name, value) VALUES (:org_id, :name, :value)
ON CONFLICT (org_id, name) DO UPDATE SET value = excluded.value

-- change_clear: empty the change log, after everything changed at once
DELETE FROM change

-- leases_clear: end every lease
DELETE FROM leases
