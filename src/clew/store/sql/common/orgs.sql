-- org_named: an org by its id or its slug
SELECT org_id, slug, name, created_at, created_by FROM orgs WHERE org_id = :name OR slug = :name

-- org_insert: a new org
INSERT INTO orgs (org_id, slug, name, created_at, created_by)
VALUES (:org_id, :slug, :name, :created_at, :created_by)

-- org_members_list: who is in an org
SELECT user_id, role FROM org_members WHERE org_id = :org_id ORDER BY user_id

-- org_member_role: what a user is in an org
SELECT role FROM org_members WHERE org_id = :org_id AND user_id = :user_id

-- org_member_put: add a member, or change its role
INSERT INTO org_members (org_id, user_id, role) VALUES (:org_id, :user_id, :role)
ON CONFLICT (org_id, user_id) DO UPDATE SET role = excluded.role

-- org_member_drop: remove a member
DELETE FROM org_members WHERE org_id = :org_id AND user_id = :user_id

-- org_owners_count: how many owners an org has
SELECT count(*) FROM org_members WHERE org_id = :org_id AND role = 'owner'

-- org_memberships: the orgs in which a user is
SELECT o.org_id, o.slug, m.role FROM org_members m JOIN orgs o ON o.org_id = m.org_id
WHERE m.user_id = :user_id ORDER BY m.org_id

-- org_mappings: which org a user wants for which owner of repositories
SELECT owner, mapped_org FROM org_owner_mappings WHERE user_id = :user_id ORDER BY owner

-- org_mapping_put: map an owner, instead of what it was mapped to
INSERT INTO org_owner_mappings (user_id, owner, mapped_org) VALUES (:user_id, :owner, :mapped_org)
ON CONFLICT (user_id, owner) DO UPDATE SET mapped_org = excluded.mapped_org

-- org_mapping_drop: map an owner no longer
DELETE FROM org_owner_mappings WHERE user_id = :user_id AND owner = :owner

-- org_routing: a user's mode and active org
SELECT mode, active_org FROM org_routing WHERE user_id = :user_id

-- org_routing_put: set a user's mode and active org
INSERT INTO org_routing (user_id, mode, active_org) VALUES (:user_id, :mode, :active_org)
ON CONFLICT (user_id) DO UPDATE SET mode = excluded.mode, active_org = excluded.active_org
