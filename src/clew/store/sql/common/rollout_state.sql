-- rollout_standing: the mode and default strategy of an org, a project's memory, and whether enough was counted since
-- a time for the gate to say anything; in one statement, since a process that asks one question prepares it for that
SELECT (SELECT mode FROM graph_rollout_config WHERE org_id = :org_id),
  (SELECT default_strategy FROM graph_retrieval_policy WHERE org_id = :org_id),
  (SELECT memory_enabled FROM project_memory_config WHERE org_id = :org_id AND project_id = :project_id),
  (SELECT 1 FROM graph_rollout_metrics WHERE org_id = :org_id AND created_at >= :since AND eligible = 1
   LIMIT 1 OFFSET :few)
