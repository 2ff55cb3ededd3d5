-- edge_by_key: one edge: its row, and whether a person made it
SELECT row, is_users FROM graph_edges
WHERE org_id = :org_id AND from_row = :from_row AND to_row = :to_row AND edge_type = :edge_type
  AND project_id = :project_id

-- edge_claim: whose alone an edge is that a person made; '' for all who see its ends
UPDATE graph_edges SET user_id = :user_id WHERE row = :row AND org_id = :org_id

-- edge_restore: give an edge that comes from a file what it had there
UPDATE graph_edges SET
  confidence = :confidence, base_confidence = :base, last_reinforced_at = :anchor, created_at = :created_at
WHERE row = :row AND org_id = :org_id

-- names_of_memory: what a memory names and is about
SELECT name, is_subject FROM memory_names WHERE org_id = :org_id AND memory_row = :memory_row

-- graph_counts: nodes, edges and links of an org
SELECT (SELECT count(*) FROM graph_nodes WHERE org_id = :org_id), (SELECT count(*) FROM graph_edges WHERE org_id = :org_id),
  (SELECT count(*) FROM memory_node_links WHERE org_id = :org_id)

-- is_loose_node: whether a node x is of a memory that is not there (a fragment)
x.node_type = 'memory' AND NOT EXISTS (
  SELECT 1 FROM memories m WHERE m.org_id = x.org_id AND m.id = x.node_key AND m.deleted_at IS NULL)

-- sweep_evidence: drop witnesses without an edge or a live memory
DELETE FROM graph_evidence AS x WHERE x.org_id = :org_id AND ($is_loose_evidence)

-- sweep_links: drop links without a node or a live memory
DELETE FROM memory_node_links AS x WHERE x.org_id = :org_id AND ($is_loose_link)

-- sweep_nodes: drop nodes of memories that are not there
DELETE FROM graph_nodes AS x WHERE x.org_id = :org_id AND ($is_loose_node)

-- sweep_names: drop what memories named that are not there
DELETE FROM memory_names AS x WHERE x.org_id = :org_id AND $has_no_memory

-- sweep_pending: drop what was still to be made of memories that are not there
DELETE FROM graph_pending AS x WHERE x.org_id = :org_id AND $has_no_memory
