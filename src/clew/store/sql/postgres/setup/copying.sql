-- What copying a whole store asks: how much each org has of what, and what belongs to users instead of orgs.

-- Rows by table and org; org '' is the platform or, where a table has no org, the whole store. Facts about the store
-- that are about an org are its rows.
CREATE OR REPLACE FUNCTION clew_contents() RETURNS TABLE (name text, org_id text, number bigint)
STABLE SECURITY DEFINER SET search_path FROM CURRENT LANGUAGE plpgsql AS $$
DECLARE
  found record;
BEGIN
  FOR found IN
    SELECT c.relname::text AS relname, EXISTS (
      SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'org_id' AND NOT a.attisdropped) AS has_org
    FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
  LOOP
    IF found.relname = 'meta' THEN
      RETURN QUERY SELECT found.relname, CASE WHEN strpos(m.key, '/') > 0 THEN substr(m.key, strpos(m.key, '/') + 1) ELSE '' END,
        count(*) FROM meta m GROUP BY 2;
    ELSIF found.has_org THEN
      RETURN QUERY EXECUTE format('SELECT %L::text, t.org_id::text, count(*) FROM %I t GROUP BY t.org_id',
        found.relname, found.relname);
    ELSE
      RETURN QUERY EXECUTE format('SELECT %L::text, ''''::text, count(*) FROM %I t HAVING count(*) > 0',
        found.relname, found.relname);
    END IF;
  END LOOP;
END $$;

-- Which org every user wants for which owner of repositories.
CREATE OR REPLACE FUNCTION clew_all_mappings() RETURNS TABLE (user_id text, owner text, mapped_org text)
STABLE SECURITY DEFINER SET search_path FROM CURRENT LANGUAGE sql AS $$
  SELECT m.user_id, m.owner, m.mapped_org FROM org_owner_mappings m
$$;

-- Every user's mode and active org.
CREATE OR REPLACE FUNCTION clew_all_routing() RETURNS TABLE (user_id text, mode text, active_org text)
STABLE SECURITY DEFINER SET search_path FROM CURRENT LANGUAGE sql AS $$
  SELECT r.user_id, r.mode, r.active_org FROM org_routing r
$$;

-- Empty one of the two, which is nobody's right otherwise: only in a store that is itself an unfinished copy.
CREATE OR REPLACE FUNCTION clew_copy_clear(asked text) RETURNS void
SECURITY DEFINER SET search_path FROM CURRENT LANGUAGE sql AS $$
  DELETE FROM org_owner_mappings
  WHERE asked = 'org_owner_mappings' AND EXISTS (SELECT 1 FROM meta WHERE key = 'copy_state');
  DELETE FROM org_routing WHERE asked = 'org_routing' AND EXISTS (SELECT 1 FROM meta WHERE key = 'copy_state');
$$;
