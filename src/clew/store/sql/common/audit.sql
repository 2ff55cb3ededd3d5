-- audit_insert: note who did what; ids and hashes only
INSERT INTO audit (org_id, seq, at, actor, action, kind, memory_id, content_hash, decision, policy_ids, detail,
                   prev_hash, hash)
VALUES (:org_id, :seq, :at, :actor, :action, :kind, :memory_id, :content_hash, :decision, :policy_ids, :detail,
        :prev_hash, :hash)

-- audit_columns: an entry as it is sealed
org_id, seq, at, actor, action, kind, memory_id, content_hash, decision, policy_ids, detail, prev_hash, hash

-- audit_head: the last entry of an org
SELECT seq, hash FROM audit WHERE org_id = :org_id ORDER BY seq DESC LIMIT 1

-- audit_page: entries after a number, oldest first
SELECT $audit_columns FROM audit WHERE org_id = :org_id AND seq > :after ORDER BY seq LIMIT :limit

-- audit_latest: entries before a number, newest first
SELECT $audit_columns FROM audit
WHERE org_id = :org_id AND seq < :before AND at >= :since AND (:action = '' OR action = :action)
ORDER BY seq DESC LIMIT :limit

-- audit_orgs: every org that has a log
SELECT org_id FROM counters WHERE name = 'audit' ORDER BY 1
