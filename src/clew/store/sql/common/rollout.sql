-- rollout_mode: the mode of an org, if one was set
SELECT mode, updated_at, updated_by FROM graph_rollout_config WHERE org_id = :org_id

-- rollout_mode_put: set the mode of an org
INSERT INTO graph_rollout_config (org_id, mode, updated_at, updated_by)
VALUES (:org_id, :mode, :updated_at, :updated_by)
ON CONFLICT (org_id) DO UPDATE SET
  mode = excluded.mode, updated_at = excluded.updated_at, updated_by = excluded.updated_by

-- retrieval_policy: what a request without a strategy gets, if it was ever judged
SELECT default_strategy, ready_window_streak, last_decision, last_evaluated_at, updated_at, updated_by
FROM graph_retrieval_policy WHERE org_id = :org_id

-- retrieval_policy_put: set what a request without a strategy gets
INSERT INTO graph_retrieval_policy
  (org_id, default_strategy, ready_window_streak, last_decision, last_evaluated_at, updated_at, updated_by)
VALUES (:org_id, :default_strategy, :ready_window_streak, :last_decision, :last_evaluated_at, :updated_at, :updated_by)
ON CONFLICT (org_id) DO UPDATE SET
  default_strategy = excluded.default_strategy, ready_window_streak = excluded.ready_window_streak,
  last_decision = excluded.last_decision, last_evaluated_at = excluded.last_evaluated_at,
  updated_at = excluded.updated_at, updated_by = excluded.updated_by

-- rollout_verdict: what the gate said when it was last asked
SELECT judged_at, window_hours, status, is_blocked, reason_codes FROM graph_rollout_verdict WHERE org_id = :org_id

-- rollout_verdict_put: keep what the gate says
INSERT INTO graph_rollout_verdict (org_id, judged_at, window_hours, status, is_blocked, reason_codes)
VALUES (:org_id, :judged_at, :window_hours, :status, :is_blocked, :reason_codes)
ON CONFLICT (org_id) DO UPDATE SET
  judged_at = excluded.judged_at, window_hours = excluded.window_hours, status = excluded.status,
  is_blocked = excluded.is_blocked, reason_codes = excluded.reason_codes

-- rollout_metric_add: count one request
INSERT INTO graph_rollout_metrics (
  org_id, created_at, id, path, mode, requested_strategy, applied_strategy, eligible, shadow_executed,
  baseline_candidates, graph_candidates, graph_expanded_count, would_expand_count, total_candidates, could_expand,
  fallback_triggered, fallback_reason, graph_error, project_id, user_id, semantic_model, duration_ms)
VALUES (
  :org_id, :created_at, :id, :path, :mode, :requested_strategy, :applied_strategy, :eligible, :shadow_executed,
  :baseline_candidates, :graph_candidates, :graph_expanded_count, :would_expand_count, :total_candidates,
  :could_expand, :fallback_triggered, :fallback_reason, :graph_error, :project_id, :user_id, :semantic_model,
  :duration_ms)
ON CONFLICT (org_id, created_at, id) DO NOTHING

-- rollout_metrics_prune: forget the oldest requests that were counted before a time
DELETE FROM graph_rollout_metrics WHERE org_id = :org_id AND created_at < :before AND (created_at, id) IN (
  SELECT created_at, id FROM graph_rollout_metrics
  WHERE org_id = :org_id AND created_at < :before ORDER BY created_at, id LIMIT :limit)

-- rollout_window: the eligible requests of a span, by how the graph did in each
-- A run that failed is a fallback, whether its result would have been used or only the shadow ran; so is one that was
-- not used for another reason than the gate. Coverage asks only where the path appends and there was more to append.
SELECT COUNT(*), SUM(eligible), SUM(eligible - fell), SUM(fell), SUM(failed), SUM(appends),
  SUM(CASE WHEN would_expand_count > 0 THEN appends ELSE 0 END), SUM(appends * would_expand_count),
  SUM(appends * CASE WHEN applied_strategy <> 'hybrid_graph' THEN would_expand_count
                     WHEN total_candidates > baseline_candidates THEN total_candidates - baseline_candidates
                     ELSE 0 END)
FROM (
  SELECT *, CASE WHEN path = 'expand' AND could_expand = 1 THEN eligible - fell ELSE 0 END AS appends
  FROM (
    SELECT *, CASE WHEN graph_error <> '' THEN eligible ELSE 0 END AS failed,
      CASE WHEN graph_error <> '' THEN eligible
           WHEN applied_strategy = 'hybrid_graph' OR shadow_executed = 1 THEN 0
           ELSE eligible END AS fell
    FROM graph_rollout_metrics WHERE org_id = :org_id AND created_at >= :since AND created_at < :until) AS judged
) AS counted

-- rollout_summary: the requests since a time, as they were answered
SELECT COUNT(*), SUM(CASE WHEN requested_strategy = 'hybrid_graph' THEN 1 ELSE 0 END),
  SUM(CASE WHEN applied_strategy = 'hybrid_graph' THEN 1 ELSE 0 END), SUM(shadow_executed), SUM(fallback_triggered),
  SUM(CASE WHEN fallback_reason IN ('quality_gate_blocked', 'graph_expansion_error') THEN 1 ELSE 0 END),
  SUM(CASE WHEN fallback_reason = 'graph_expansion_error' THEN 1 ELSE 0 END),
  SUM(CASE WHEN graph_error <> '' THEN 1 ELSE 0 END),
  SUM(CASE WHEN graph_error <> '' THEN shadow_executed ELSE 0 END),
  SUM(graph_candidates), SUM(graph_expanded_count)
FROM graph_rollout_metrics WHERE org_id = :org_id AND created_at >= :since AND created_at <= :until

-- rollout_last_fallback: the newest request since a time that did not get the graph it asked for
SELECT created_at, fallback_reason FROM graph_rollout_metrics
WHERE org_id = :org_id AND created_at >= :since AND created_at <= :until AND fallback_triggered = 1 ORDER BY created_at DESC, id DESC LIMIT 1

-- rollout_orgs: the orgs with a mode or counted requests; hops from one to the next instead of reading every request
WITH RECURSIVE counted (org) AS (
  SELECT MIN(org_id) FROM graph_rollout_metrics
  UNION ALL
  SELECT (SELECT MIN(org_id) FROM graph_rollout_metrics WHERE org_id > counted.org) FROM counted
  WHERE counted.org IS NOT NULL)
SELECT org FROM counted WHERE org IS NOT NULL UNION SELECT org_id FROM graph_rollout_config ORDER BY 1
