-- policies_of: what was added for an org and for all of them, those for all first
SELECT org_id, name, text, version, loaded_by, loaded_at FROM policies WHERE org_id IN ('', :org_id) ORDER BY 1, 2

-- policy_orgs: the orgs that have policies of their own
SELECT DISTINCT org_id FROM policies WHERE org_id <> '' ORDER BY 1

-- policy_put: add a policy, or replace the one of this name
INSERT INTO policies (org_id, name, text, version, loaded_by, loaded_at)
VALUES (:org_id, :name, :text, :version, :loaded_by, :loaded_at)
ON CONFLICT (org_id, name) DO UPDATE SET text = excluded.text, version = excluded.version,
  loaded_by = excluded.loaded_by, loaded_at = excluded.loaded_at

-- policy_drop: take an added policy away
DELETE FROM policies WHERE org_id = :org_id AND name = :name

-- policy_version: two numbers, one of them moves with every change to the policies of an org
SELECT coalesce((SELECT value FROM counters WHERE org_id = '' AND name = 'policies'), 0),
       coalesce((SELECT value FROM counters WHERE org_id = :org_id AND name = 'policies'), 0)

-- agent_get: what is known of an agent
SELECT clearance, suspended, can_write FROM agents WHERE org_id = :org_id AND agent = :agent

-- agent_put: say what is known of an agent
INSERT INTO agents (org_id, agent, clearance, suspended, can_write, updated_by, updated_at)
VALUES (:org_id, :agent, :clearance, :suspended, :can_write, :by, :at)
ON CONFLICT (org_id, agent) DO UPDATE SET clearance = excluded.clearance, suspended = excluded.suspended,
  can_write = excluded.can_write, updated_by = excluded.updated_by, updated_at = excluded.updated_at
