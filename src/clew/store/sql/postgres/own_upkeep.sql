-- server_facts: the server's version, the extension's, connections in use and allowed
SELECT current_setting('server_version'), (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
  (SELECT sum(numbackends)::bigint FROM pg_stat_database), current_setting('max_connections')::bigint

-- tables_unforced: tables of an org without forced row-level security
SELECT c.relname FROM pg_class c
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
  AND NOT (c.relrowsecurity AND c.relforcerowsecurity) AND EXISTS (
    SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'org_id' AND NOT a.attisdropped)
ORDER BY 1

-- role_facts: who we are, and whether row-level security binds us
SELECT r.rolname, CASE WHEN r.rolsuper OR r.rolbypassrls OR EXISTS (
    SELECT 1 FROM pg_class c WHERE c.relowner = r.oid AND c.relnamespace = current_schema()::regnamespace)
  THEN 0 ELSE 1 END
FROM pg_roles r WHERE r.rolname = current_user

-- indices_invalid: indices that the server does not use, because making them was interrupted
SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE c.relnamespace = current_schema()::regnamespace AND NOT i.indisvalid ORDER BY 1

-- database_size: bytes of our tables and their indices
SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'

-- setup_found: what the functions and rights that are in place were made from
SELECT hash FROM clew_setup

-- owners: the roles that tables and functions of the schema belong to, the one with the most first
SELECT pg_get_userbyid(o.owner)::text FROM (
  SELECT relowner AS owner FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')
  UNION ALL
  SELECT proowner FROM pg_proc WHERE pronamespace = current_schema()::regnamespace) AS o
GROUP BY o.owner ORDER BY count(*) DESC, 1
