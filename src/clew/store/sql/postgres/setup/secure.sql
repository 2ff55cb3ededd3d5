-- Row-level security for every table that has an org, those of later migrations included, and the rights of the
-- application's role. Run after each migration; changes nothing the second time.
DO $$
DECLARE
  found record;
BEGIN
  FOR found IN
    SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p') AND EXISTS (
      SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'org_id' AND NOT a.attisdropped)
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', found.name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', found.name);
    EXECUTE format('DROP POLICY IF EXISTS of_org ON %I', found.name);
    EXECUTE format('CREATE POLICY of_org ON %I USING (org_id = (SELECT clew_bound())) '
      'WITH CHECK (org_id = (SELECT clew_bound()))', found.name);
    -- Migrations and the named functions run as the owner, who has to see every org.
    EXECUTE format('DROP POLICY IF EXISTS of_owner ON %I', found.name);
    EXECUTE format('CREATE POLICY of_owner ON %I TO %I USING (true) WITH CHECK (true)', found.name, current_user);
  END LOOP;
END $$;

-- What is said for all orgs is read by each of them: the recall matrix, policies, and the number that moves with these.
DROP POLICY IF EXISTS of_platform ON recall_matrix;
CREATE POLICY of_platform ON recall_matrix FOR SELECT USING (org_id = '');
DROP POLICY IF EXISTS of_platform ON policies;
CREATE POLICY of_platform ON policies FOR SELECT USING (org_id = '');
DROP POLICY IF EXISTS of_platform ON counters;
CREATE POLICY of_platform ON counters FOR SELECT USING (org_id = '' AND name = 'policies');

-- Facts about the store have no org, but some are about one: `fact/org`.
ALTER TABLE meta ENABLE ROW LEVEL SECURITY;
ALTER TABLE meta FORCE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS of_org ON meta;
CREATE POLICY of_org ON meta
  USING (strpos(key, '/') = 0 OR substr(key, strpos(key, '/') + 1) = (SELECT clew_bound()))
  WITH CHECK (strpos(key, '/') = 0 OR substr(key, strpos(key, '/') + 1) = (SELECT clew_bound()));
DO $$ BEGIN
  DROP POLICY IF EXISTS of_owner ON meta;
  EXECUTE format('CREATE POLICY of_owner ON meta TO %I USING (true) WITH CHECK (true)', current_user);
END $$;
