-- copy_columns: of every table, those of its primary key first, as (table, column, type, place in the key)
SELECT c.relname::text, a.attname::text, format_type(a.atttypid, NULL), array_position(i.indkey::int2[], a.attnum)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') ORDER BY 1, 4 NULLS LAST, a.attnum

-- copy_contents: how many rows each org has in which table
SELECT name, org_id, number FROM clew_contents()

-- copy_identity: the same for every way to reach this database
SELECT pg_postmaster_start_time(), current_database()

-- copy_sequences: what gives out the rows of a table
SELECT c.relname::text, pg_get_serial_sequence(c.relname, a.attname)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attidentity <> '' AND NOT a.attisdropped
WHERE c.relnamespace = current_schema()::regnamespace ORDER BY 1

-- copy_sequence_set: never give out what was given out
SELECT setval(:sequence::regclass, greatest(:last, nextval(:sequence::regclass)))

-- copy_tokens: how many tokens of leases were given out
SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM lease_tokens

-- copy_hidden: tables whose rows row-level security hides from the function that counts them, because it belongs to
-- another role than the one that may see every org
SELECT c.relname::text FROM pg_class c
JOIN pg_proc f ON f.pronamespace = c.relnamespace AND f.proname = 'clew_contents'
JOIN pg_roles r ON r.oid = f.proowner
WHERE c.relnamespace = current_schema()::regnamespace AND c.relrowsecurity AND NOT (r.rolsuper OR r.rolbypassrls)
  AND NOT EXISTS (
    SELECT 1 FROM pg_policy p, unnest(p.polroles) AS of (role)
    WHERE p.polrelid = c.oid AND p.polname = 'of_owner' AND pg_has_role(f.proowner, of.role, 'USAGE'))
ORDER BY 1

-- copy_of_users_clear: empty a table of what belongs to users
SELECT clew_copy_clear(:table)

-- copy_mapping_put: map an owner
SELECT clew_mapping_put(:user_id, :owner, :mapped_org)

-- copy_routing_put: set a user's mode and active org
SELECT clew_routing_put(:user_id, :mode, :active_org)

-- copy_documents: index the terms of memories of one org
INSERT INTO memory_fts (memory_row, org_id, terms)
SELECT d.row, :org_id, CAST(d.terms AS tsvector) FROM unnest(:rows::bigint[], :texts::text[]) AS d (row, terms)
