-- grant_put: let memories of one project be shown in another
INSERT INTO cross_project_transfer_grants (org_id, source_project, dest_project, granted_by, granted_at, revoked_at)
VALUES (:org_id, :source, :dest, :granted_by, :granted_at, NULL)
ON CONFLICT (org_id, dest_project, source_project) DO UPDATE SET
  granted_by = excluded.granted_by, granted_at = excluded.granted_at, revoked_at = NULL
WHERE cross_project_transfer_grants.revoked_at IS NOT NULL

-- grant_revoke: end a grant that is in force
UPDATE cross_project_transfer_grants SET revoked_at = :now
WHERE org_id = :org_id AND dest_project = :dest AND source_project = :source AND revoked_at IS NULL

-- grants_all: every grant of an org, also those that were revoked
SELECT source_project, dest_project, granted_by, granted_at, revoked_at FROM cross_project_transfer_grants
WHERE org_id = :org_id ORDER BY dest_project, source_project

-- grants_into: what may be shown in a project
SELECT source_project, dest_project, granted_by, granted_at, revoked_at FROM cross_project_transfer_grants
WHERE org_id = :org_id AND dest_project = :dest AND revoked_at IS NULL ORDER BY source_project

-- fingerprint_put: what a project is built with
INSERT INTO project_fingerprints (org_id, project_id, components, manifest_hash, updated_at)
VALUES (:org_id, :project_id, :components, :manifest_hash, :updated_at)
ON CONFLICT (org_id, project_id) DO UPDATE SET
  components = excluded.components, manifest_hash = excluded.manifest_hash, updated_at = excluded.updated_at

-- fingerprint_get: what one project is built with
SELECT project_id, components, manifest_hash, updated_at FROM project_fingerprints
WHERE org_id = :org_id AND project_id = :project_id

-- transferred_weight: what a memory of another project counts here
SELECT weight FROM transferred_weights
WHERE org_id = :org_id AND dest_project = :dest AND memory_id = :memory_id

-- transferred_retired: whether outcomes in this project have put a memory of another below a weight often enough
SELECT 1 FROM transferred_weights t
WHERE t.org_id = :org_id AND t.dest_project = :dest AND t.memory_id = :memory_id AND t.weight < :below
  AND (SELECT count(*) FROM feedback_ledger f
       WHERE f.org_id = :org_id AND f.target_kind = 'transferred'
         AND f.target_key = t.memory_id || '@' || t.dest_project) >= :samples

-- transferred_weights_drop: forget what a memory counts in the projects that its own was ever granted to
DELETE FROM transferred_weights WHERE org_id = :org_id AND memory_id = :memory_id AND dest_project IN (
  SELECT dest_project FROM cross_project_transfer_grants WHERE org_id = :org_id AND source_project = :source)

-- retention_put: how long something is kept
INSERT INTO retention_policies (org_id, id, project_id, classification, type, ttl_days, action, created_by, created_at)
VALUES (:org_id, :id, :project_id, :classification, :type, :ttl_days, :action, :created_by, :created_at)
ON CONFLICT (org_id, id) DO UPDATE SET
  ttl_days = excluded.ttl_days, action = excluded.action,
  created_by = excluded.created_by, created_at = excluded.created_at

-- retention_drop: keep it without limit again
DELETE FROM retention_policies WHERE org_id = :org_id AND id = :id

-- retention_list: every policy of an org
SELECT id, ttl_days, action, project_id, classification, type, created_by, created_at FROM retention_policies
WHERE org_id = :org_id ORDER BY project_id, classification, type

-- retention_orgs: the orgs that have policies, after one of them
SELECT DISTINCT org_id FROM retention_policies WHERE org_id > :after ORDER BY org_id LIMIT :limit

-- retention_page: memories of the org after one of them, forgotten ones included
SELECT $memory_columns FROM memories WHERE org_id = :org_id AND id > :after ORDER BY id LIMIT :limit
