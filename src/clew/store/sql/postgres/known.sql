-- What is asked before an org is known, or of all orgs together: each of these is a function that the owner of the
-- schema lends, and that tells ids, numbers and settings.

-- orgs_known: every org that has something here
SELECT org_id FROM clew_orgs() ORDER BY org_id COLLATE "C"

-- key_by_hash: the key that a token belongs to, whatever its org
SELECT $key_columns FROM clew_key(:hash)

-- audit_orgs: every org that has a log
SELECT org_id FROM clew_audit_orgs() ORDER BY org_id COLLATE "C"

-- policy_orgs: the orgs that have policies of their own
SELECT org_id FROM clew_policy_orgs() ORDER BY org_id COLLATE "C"

-- rollout_orgs: the orgs with a mode or counted requests
SELECT org_id FROM clew_rollout_orgs() ORDER BY org_id COLLATE "C"

-- retention_orgs: the orgs that have policies, after one of them
SELECT org_id FROM clew_retention_orgs() WHERE org_id COLLATE "C" > :after ORDER BY org_id COLLATE "C" LIMIT :limit

-- host_events_orgs: orgs with events that nobody has looked at, the one that waits longest first
SELECT org_id FROM clew_host_events() ORDER BY oldest, org_id COLLATE "C" LIMIT :limit

-- jobs_first: when the first job of each org may be claimed (a fragment)
clew_jobs_first()

-- job_orgs: orgs that have jobs
SELECT org_id FROM clew_job_orgs()

-- jobs_due_orgs: orgs that have jobs which may be claimed, the longest due first
SELECT org_id FROM $jobs_first WHERE due_at <= :now ORDER BY due_at, org_id COLLATE "C" LIMIT :limit

-- jobs_next: when the next job may be claimed
SELECT min(due_at) FROM $jobs_first

-- jobs_waiting: how many jobs of all orgs are still to be done
SELECT coalesce(sum(number), 0) FROM clew_jobs() WHERE state <> 'dead'

-- serving_jobs: jobs of all orgs by state
SELECT state, number FROM clew_jobs()

-- serving_has_keys: whether anybody has a key that is valid now
SELECT clew_has_keys(:now)

-- serving_pending: injects of all orgs that wait
SELECT number, oldest FROM clew_injects('pending')

-- serving_delivered: injects of all orgs that are in flight
SELECT number, oldest FROM clew_injects('delivered')

-- serving_dead: injects of all orgs that were given up
SELECT number FROM clew_injects('dead')

-- serving_host_events: hook events of all orgs from which nothing was captured yet
SELECT coalesce(sum(number), 0), min(oldest) FROM clew_host_events()

-- memory_count_all: live memories of all orgs, counted up to a number
SELECT number FROM clew_memories(:most)

-- memory_newest: when the newest memory of any org was stored
SELECT newest FROM clew_newest_memory()

-- org_named: an org by its id or its slug
SELECT org_id, slug, name, created_at, created_by FROM clew_org(:name)

-- org_memberships: the orgs in which a user is
SELECT org_id, slug, role FROM clew_memberships(:user_id) ORDER BY org_id COLLATE "C"

-- org_mappings: which org a user wants for which owner of repositories
SELECT owner, mapped_org FROM clew_mappings(:user_id) ORDER BY owner COLLATE "C"

-- org_mapping_put: map an owner, instead of what it was mapped to
SELECT clew_mapping_put(:user_id, :owner, :mapped_org)

-- org_mapping_drop: map an owner no longer
SELECT owner FROM clew_mapping_drop(:user_id, :owner)

-- org_routing: a user's mode and active org
SELECT mode, active_org FROM clew_routing(:user_id)

-- org_routing_put: set a user's mode and active org
SELECT clew_routing_put(:user_id, :mode, :active_org)
