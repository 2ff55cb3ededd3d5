-- project_config: the switches of one project
SELECT memory_enabled, graph_enabled, runtime_inject_enabled, version FROM project_memory_config
WHERE org_id = :org_id AND project_id = :project_id

-- project_configs: the switches of every project of an org that has a row
SELECT project_id, memory_enabled, graph_enabled, runtime_inject_enabled, version FROM project_memory_config
WHERE org_id = :org_id ORDER BY project_id

-- project_config_put: set the switches of a project
INSERT INTO project_memory_config
  (org_id, project_id, memory_enabled, graph_enabled, runtime_inject_enabled, version, updated_by, updated_at)
VALUES (:org_id, :project_id, :memory_enabled, :graph_enabled, :runtime_inject_enabled, 1, :updated_by, :updated_at)
ON CONFLICT (org_id, project_id) DO UPDATE SET
  memory_enabled = excluded.memory_enabled, graph_enabled = excluded.graph_enabled,
  runtime_inject_enabled = excluded.runtime_inject_enabled, version = project_memory_config.version + 1,
  updated_by = excluded.updated_by, updated_at = excluded.updated_at

-- org_features: what an org's plan grants
SELECT kg_enabled, feedback_weighting_disabled FROM org_features WHERE org_id = :org_id

-- org_features_put: set what an org's plan grants
INSERT INTO org_features (org_id, kg_enabled, feedback_weighting_disabled, updated_by, updated_at)
VALUES (:org_id, :kg_enabled, :feedback_weighting_disabled, :updated_by, :updated_at)
ON CONFLICT (org_id) DO UPDATE SET
  kg_enabled = excluded.kg_enabled, feedback_weighting_disabled = excluded.feedback_weighting_disabled,
  updated_by = excluded.updated_by, updated_at = excluded.updated_at

-- orgs_known: every org that has something here
SELECT org_id FROM counters UNION SELECT org_id FROM org_features
UNION SELECT org_id FROM project_memory_config UNION SELECT org_id FROM sessions UNION SELECT org_id FROM orgs
ORDER BY 1

-- matrix_columns: one row of the recall matrix (a fragment)
org_id, work_type, graph_enabled, observation_budget, graph_budget, top_k, depth, version

-- matrix_row: what an org says about a work type; org '' is for all
SELECT $matrix_columns FROM recall_matrix WHERE org_id = :org_id AND work_type = :work_type

-- matrix_rows: what an org, and what everybody, says about a work type; that for all last
SELECT $matrix_columns FROM recall_matrix WHERE org_id IN (:org_id, '') AND work_type = :work_type ORDER BY org_id DESC

-- matrix_of_org: what an org, and what everybody, has in the recall matrix
SELECT $matrix_columns FROM recall_matrix WHERE org_id IN (:org_id, '') ORDER BY work_type, org_id

-- matrix_put: set a row of the recall matrix
INSERT INTO recall_matrix
  (org_id, work_type, graph_enabled, observation_budget, graph_budget, top_k, depth, version, updated_by, updated_at)
VALUES (:org_id, :work_type, :graph_enabled, :observation_budget, :graph_budget, :top_k, :depth, 1, :updated_by,
  :updated_at)
ON CONFLICT (org_id, work_type) DO UPDATE SET
  graph_enabled = excluded.graph_enabled, observation_budget = excluded.observation_budget,
  graph_budget = excluded.graph_budget, top_k = excluded.top_k, depth = excluded.depth,
  version = recall_matrix.version + 1, updated_by = excluded.updated_by, updated_at = excluded.updated_at
