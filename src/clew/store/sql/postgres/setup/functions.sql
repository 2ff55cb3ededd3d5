-- What is asked before an org is known, of all orgs together, or where row-level security would keep an index from being
-- used. Every function here runs with the owner's rights and returns ids, numbers, times and settings, never the text of
-- a memory: a test knows the names of all that they return. Replaced whenever `clew migrate` runs. Where a table is large
-- and its orgs are few, a query hops from one org to the next instead of reading every row.

-- The org this transaction is bound to: '' where it is bound to the platform's rows, NULL where it is not bound.
CREATE OR REPLACE FUNCTION clew_bound() RETURNS text STABLE PARALLEL SAFE LANGUAGE sql AS $$
  SELECT CASE current_setting('clew.org', true) WHEN chr(31) THEN '' ELSE nullif(current_setting('clew.org', true), '') END
$$;

-- Which orgs there are ----------------------------------------------------------------------------------------------

-- Every org that has something here.
CREATE OR REPLACE FUNCTION clew_orgs() RETURNS TABLE (org_id text)
STABLE SECURITY DEFINER SET search_path FROM CURRENT LANGUAGE sql AS $$
  WITH RECURSIVE hop (org) AS (
    SELECT min(t.org_id) FROM sessions t
    UNION ALL
    SELECT (SELECT min(t.org_id) FROM sessions t WHERE t.org_id > hop.org) FROM hop WHERE hop.org IS NOT NULL)
  SELECT c.org_id FROM counters c UNION SELECT f.org_id FROM org_features f UNION SELECT p.org_id FROM project_memory_config p
  UNION SELECT hop.org FROM hop WHERE hop.org IS NOT NULL UNION SELECT o.org_id FROM orgs o
$$;

-- Those with an audit log.
CREATE OR REPLACE FUNCTION clew_audit_orgs() RETURNS TABLE (org_id text)
STABLE SECURITY DEFINER SET search_path FROM CURRENT LANGUAGE sql AS $$
  SELECT c.org_id FROM counters c WHERE c.name = 'audit'
$$;

-- Those with policies of their own.
CREATE OR REPLACE FUNCTION clew_policy_orgs() RETURNS TABLE (org_id text)
STABLE SECURITY DEFINER SET search_path FROM CURRENT LANGUAGE sql AS $$
  SELECT DISTINCT p.org_id FROM policies p WHERE p.org_id <> ''
$$;

-- Those with a mode of the rollout, or counted requests.
CREATE OR REPLACE FUNCTION clew_rollout_orgs() RETURNS TABLE (org_id text)
STABLE SECURITY DEFINER SET search_path FROM CURRENT LANGUAGE sql AS $$
  WITH RECURSIVE hop (org) AS (
    SELECT min(t.org_id) FROM graph_rollout_metrics t
    UNION ALL
    SELECT (SELECT min(t.org_id) FROM graph_rollout_metrics t WHERE t.org_id > hop.org) FROM hop WHERE hop.org IS NOT NULL)
  SELECT hop.org FROM hop WHERE hop.org IS NOT NULL UNION SELECT c.org_id FROM graph_rollout_config c
$$;

-- Those that say how long things are kept.
CREATE OR REPLACE FUNCTION clew_retention_orgs() RETURNS TABLE (org_id text)
STABLE SECURITY DEFINER SET search_path FROM CURRENT LANGUAGE sql AS $$
  SELECT DISTINCT p.org_id FROM retention_policies p
$$;

-- Those with memories whose part of the graph is still to be made.
CREATE OR REPLACE FUNCTION clew_pending_orgs(asked_attempts bigint, asked_patient timestamptz) RETURNS TABLE (org_id text)
STABLE SECURITY DEFINER SET search_path FROM CURRENT LANGUAGE sql AS $$
  WITH RECURSIVE hop (org) AS (
    SELECT min(t.org_id) FROM graph_pending t
    UNION ALL
    SELECT (SELECT min(t.org_id) FROM graph_pending t WHERE t.org_id > hop.org) FROM hop WHERE hop.org IS NOT NULL)
  SELECT hop.org FROM hop WHERE hop.org IS NOT NULL AND EXISTS (
    SELECT 1 FROM graph_pending p WHERE p.org_id = hop.org AND p.attempts < asked_attempts
      AND (p.attempts <= 2 OR p.at <= asked_patient))
$$;

-- Those with jobs.
CREATE OR REPLACE FUNCTION clew_job_orgs() RETURNS TABLE (org_id text)
STABLE SECURITY DEFINER SET search_path FROM CURRENT LANGUAGE sql AS $$
  WITH RECURSIVE hop (org) AS (
    SELECT min(t.org_id) FROM jobs t
    UNION ALL
    SELECT (SELECT min(t.org_id) FROM jobs t WHERE t.org_id > hop.org) FROM hop WHERE hop.org IS NOT NULL)
  SELECT hop.org FROM hop WHERE hop.org IS NOT NULL
$$;

-- When the first job of each may be claimed.
CREATE OR REPLACE FUNCTION clew_jobs_first() RETURNS TABLE (org_id text, due_at timestamptz)
STABLE SECURITY DEFINER SET search_path FROM CURRENT LANGUAGE sql AS $$
  WITH RECURSIVE hop (org) AS (
    SELECT min(t.org_id) FROM jobs t WHERE t.state <> 'dead'
    UNION ALL
    SELECT (SELECT min(t.org_id) FROM jobs t WHERE t.org_id > hop.org AND t.state <> 'dead') FROM hop WHERE hop.org IS NOT NULL)
  SELECT hop.org, (SELECT min(j.due_at) FROM jobs j WHERE j.org_id = hop.org AND j.state <> 'dead')
  FROM hop WHERE hop.org IS NOT NULL
$$;

-- Those with hook events that nobody has looked at.
CREATE OR REPLACE FUNCTION clew_host_events() RETURNS TABLE (org_id text, number bigint, oldest timestamptz)
STABLE SECURITY DEFINER SET search_path FROM CURRENT LANGUAGE sql AS $$
  SELECT e.org_id, count(*), min(e.at) FROM host_events e WHERE e.state = 'new' GROUP BY e.org_id
$$;

-- How much there is --------------------------------------------------------------------------------------------------

-- Jobs by state.
CREATE OR REPLACE FUNCTION clew_jobs() RETURNS TABLE (state text, number bigint)
STABLE SECURITY DEFINER SET search_path FROM CURRENT LANGUAGE sql AS $$
  SELECT j.state, count(*) FROM jobs j GROUP BY j.state
$$;

-- Injects in a state; each of the three has an index, which it is found by.
CREATE OR REPLACE FUNCTION clew_injects(asked_state text) RETURNS TABLE (number bigint, oldest timestamptz)
STABLE SECURITY DEFINER SET search_path FROM CURRENT LANGUAGE sql AS $$
  SELECT count(*), min(i.enqueued_at) FROM session_memory_injects i WHERE i.state = 'pending' AND asked_state = 'pending'
  HAVING asked_state = 'pending'
  UNION ALL
  SELECT count(*), min(i.enqueued_at) FROM session_memory_injects i WHERE i.state = 'delivered' AND asked_state = 'delivered'
  HAVING asked_state = 'delivered'
  UNION ALL
  SELECT count(*), min(i.enqueued_at) FROM session_memory_injects i WHERE i.state = 'dead' AND asked_state = 'dead'
  HAVING asked_state = 'dead'
$$;

-- Live memories, counted up to a number.
CREATE OR REPLACE FUNCTION clew_memories(asked_most bigint) RETURNS TABLE (number bigint)
STABLE SECURITY DEFINER SET search_path FROM CURRENT LANGUAGE sql AS $$
  SELECT count(*) FROM (SELECT 1 FROM memories m WHERE m.deleted_at IS NULL LIMIT asked_most) AS found
$$;

-- When the newest memory was stored: at the end of each place's part of the index.
CREATE OR REPLACE FUNCTION clew_newest_memory() RETURNS TABLE (newest timestamptz)
STABLE SECURITY DEFINER SET search_path FROM CURRENT LANGUAGE sql AS $$
  WITH RECURSIVE hop (org, project, person, created_at) AS (
    (SELECT m.org_id, m.project_id, m.user_id, m.created_at FROM memories m
     ORDER BY m.org_id DESC, m.project_id DESC, m.user_id DESC, m.created_at DESC LIMIT 1)
    UNION ALL
    SELECT n.org_id, n.project_id, n.user_id, n.created_at FROM hop CROSS JOIN LATERAL (
      SELECT m.org_id, m.project_id, m.user_id, m.created_at FROM memories m
      WHERE (m.org_id, m.project_id, m.user_id) < (hop.org, hop.project, hop.person)
      ORDER BY m.org_id DESC, m.project_id DESC, m.user_id DESC, m.created_at DESC LIMIT 1) n)
  SELECT max(hop.created_at) FROM hop
$$;

-- Whether anybody has a key that is valid.
CREATE OR REPLACE FUNCTION clew_has_keys(asked_now timestamptz) RETURNS boolean
STABLE SECURITY DEFINER SET search_path FROM CURRENT LANGUAGE sql AS $$
  SELECT EXISTS (
    SELECT 1 FROM api_keys k WHERE k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > asked_now))
$$;

-- Who asks, and for which org ----------------------------------------------------------------------------------------

-- The key with this hash, which only its token gives.
CREATE OR REPLACE FUNCTION clew_key(asked_hash bytea) RETURNS TABLE (
  org_id text, id text, name text, user_id text, agent text, roles text, created_at timestamptz, created_by text,
  expires_at timestamptz, revoked_at timestamptz, last_used_at timestamptz)
STABLE SECURITY DEFINER SET search_path FROM CURRENT LANGUAGE sql AS $$
  SELECT k.org_id, k.id, k.name, k.user_id, k.agent, k.roles, k.created_at, k.created_by, k.expires_at, k.revoked_at,
    k.last_used_at
  FROM api_keys k WHERE k.hash = asked_hash
$$;

-- An org by its id or slug.
CREATE OR REPLACE FUNCTION clew_org(asked_name text) RETURNS TABLE (org_id text, slug text, name text, created_at timestamptz, created_by text)
STABLE SECURITY DEFINER SET search_path FROM CURRENT LANGUAGE sql AS $$
  SELECT o.org_id, o.slug, o.name, o.created_at, o.created_by FROM orgs o
  WHERE o.org_id = asked_name OR o.slug = asked_name
$$;

-- The orgs in which a user is.
CREATE OR REPLACE FUNCTION clew_memberships(asked_user text) RETURNS TABLE (org_id text, slug text, role text)
STABLE SECURITY DEFINER SET search_path FROM CURRENT LANGUAGE sql AS $$
  SELECT o.org_id, o.slug, m.role FROM org_members m JOIN orgs o ON o.org_id = m.org_id WHERE m.user_id = asked_user
$$;

-- Which org a user wants for which owner of repositories.
CREATE OR REPLACE FUNCTION clew_mappings(asked_user text) RETURNS TABLE (owner text, mapped_org text)
STABLE SECURITY DEFINER SET search_path FROM CURRENT LANGUAGE sql AS $$
  SELECT m.owner, m.mapped_org FROM org_owner_mappings m WHERE m.user_id = asked_user
$$;

-- Map an owner, instead of what it was mapped to.
CREATE OR REPLACE FUNCTION clew_mapping_put(asked_user text, asked_owner text, asked_org text) RETURNS void
VOLATILE SECURITY DEFINER SET search_path FROM CURRENT LANGUAGE sql AS $$
  INSERT INTO org_owner_mappings (user_id, owner, mapped_org) VALUES (asked_user, asked_owner, asked_org)
  ON CONFLICT (user_id, owner) DO UPDATE SET mapped_org = excluded.mapped_org
$$;

-- Map an owner no longer.
CREATE OR REPLACE FUNCTION clew_mapping_drop(asked_user text, asked_owner text) RETURNS TABLE (owner text)
VOLATILE SECURITY DEFINER SET search_path FROM CURRENT LANGUAGE sql AS $$
  DELETE FROM org_owner_mappings m WHERE m.user_id = asked_user AND m.owner = asked_owner RETURNING m.owner
$$;

-- A user's mode and active org.
CREATE OR REPLACE FUNCTION clew_routing(asked_user text) RETURNS TABLE (mode text, active_org text)
STABLE SECURITY DEFINER SET search_path FROM CURRENT LANGUAGE sql AS $$
  SELECT r.mode, r.active_org FROM org_routing r WHERE r.user_id = asked_user
$$;

-- Set them.
CREATE OR REPLACE FUNCTION clew_routing_put(asked_user text, asked_mode text, asked_org text) RETURNS void
VOLATILE SECURITY DEFINER SET search_path FROM CURRENT LANGUAGE sql AS $$
  INSERT INTO org_routing (user_id, mode, active_org) VALUES (asked_user, asked_mode, asked_org)
  ON CONFLICT (user_id) DO UPDATE SET mode = excluded.mode, active_org = excluded.active_org
$$;

-- Look at a table that was empty when the server last did. It plans for an empty one until then, and would compare each
-- new row with all before it; by itself it comes by a minute later. Who finds somebody else at it leaves it to them.
CREATE OR REPLACE FUNCTION clew_look_at(asked_table text) RETURNS void
VOLATILE SECURITY DEFINER SET search_path FROM CURRENT LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relname = asked_table
             AND c.relkind = 'r' AND c.reltuples <= 0) THEN
    EXECUTE format('ANALYZE (SKIP_LOCKED) %I', asked_table);
  END IF;
END $$;
