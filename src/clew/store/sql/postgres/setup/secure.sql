-- Policies beside those that every table of an org gets (postgres_schema.py). Run when the setup has changed.

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
