-- injection_insert: log what was shown
INSERT INTO context_injection_logs
  (org_id, id, session_id, project_id, agent, phase, event_id, work_type, budget_tokens, graph_budget_tokens,
   actual_tokens, actual_observation_tokens, actual_graph_tokens, observation_ids, session_summary_ids,
   graph_node_ids, graph_edge_keys, query_text, graph_status, outcome, delivered, delivery_id, denied_ids, ms,
   created_at)
VALUES
  (:org_id, :id, :session_id, :project_id, :agent, :phase, :event_id, :work_type, :budget_tokens,
   :graph_budget_tokens, :actual_tokens, :actual_observation_tokens, :actual_graph_tokens, :observation_ids,
   :session_summary_ids, :graph_node_ids, :graph_edge_keys, :query_text, :graph_status, :outcome, :delivered,
   :delivery_id, :denied_ids, :ms, :created_at)

-- injection_columns: one row of the injection log (a fragment)
session_id, org_id, project_id, agent, phase, event_id, work_type, budget_tokens, graph_budget_tokens,
  actual_tokens, actual_observation_tokens, actual_graph_tokens, observation_ids, session_summary_ids,
  graph_node_ids, graph_edge_keys, query_text, graph_status, outcome, delivered, delivery_id,
  denied_ids, ms, id, created_at

-- injections_of_session: what was shown in a session, the newest first
SELECT $injection_columns FROM context_injection_logs
WHERE org_id = :org_id AND session_id = :session_id ORDER BY created_at DESC, id DESC LIMIT :limit

-- injection_last: the newest entry of a session in one phase
SELECT $injection_columns FROM context_injection_logs
WHERE org_id = :org_id AND session_id = :session_id AND phase = :phase ORDER BY created_at DESC, id DESC LIMIT 1

-- injection_shown: the memories and edges that a session was shown, as lists; ordered, or SQLite would search the
-- whole org
SELECT observation_ids, graph_edge_keys FROM context_injection_logs
WHERE org_id = :org_id AND session_id = :session_id AND delivered = 1 ORDER BY created_at

-- injection_queued: the memories that a session is going to be shown, or was, as lists
SELECT observation_ids FROM session_memory_injects
WHERE org_id = :org_id AND session_id = :session_id AND state IN ('pending', 'delivered', 'acked')

-- injections_taken_back: another pair of numbers whenever a block leaves the queue unsaid, or comes back to it
SELECT count(*), coalesce(sum(seq), 0) FROM session_memory_injects
WHERE org_id = :org_id AND session_id = :session_id AND state IN ('cancelled', 'dead')

-- injection_is_there: whether there is a row of this id
SELECT 1 FROM context_injection_logs WHERE org_id = :org_id AND id = :id

-- injection_of_event: whether an event has a row about this delivery; ordered, to search the session alone
SELECT 1 FROM context_injection_logs
WHERE org_id = :org_id AND session_id = :session_id AND event_id = :event_id AND delivery_id = :delivery_id
ORDER BY created_at LIMIT 1

-- rank_insert: note where a candidate of a retrieval stood
INSERT INTO retrieval_ab_logs
  (org_id, retrieval_id, observation_id, session_id, project_id, relevance, weight, weighted_score,
   unweighted_rank, weighted_rank, injected, explored, weighting_enabled, created_at)
VALUES
  (:org_id, :retrieval_id, :observation_id, :session_id, :project_id, :relevance, :weight, :weighted_score,
   :unweighted_rank, :weighted_rank, :injected, :explored, :weighting_enabled, :created_at)

-- summary_put: keep how a session went; a second one replaces the first
INSERT INTO session_summaries
  (org_id, id, session_id, project_id, user_id, agent, work_type, issue, outcome, goal, text, files, errors,
   open_items, classification, trust, weight, created_at)
VALUES
  (:org_id, :id, :session_id, :project_id, :user_id, :agent, :work_type, :issue, :outcome, :goal, :text, :files,
   :errors, :open_items, :classification, :trust, :weight, :created_at)
ON CONFLICT (org_id, session_id) DO UPDATE SET
  outcome = excluded.outcome, goal = excluded.goal, text = excluded.text, files = excluded.files,
  errors = excluded.errors, open_items = excluded.open_items, classification = excluded.classification,
  trust = excluded.trust

-- log_queries_forget: no question of a project's sessions stays in the log, nor of those of no project; '' means all
UPDATE context_injection_logs SET query_text = '' WHERE org_id = :org_id AND query_text <> ''
  AND (:project_id = '' OR project_id IN (:project_id, ''))

-- summary_forget: nothing stays of how a session went
DELETE FROM session_summaries WHERE org_id = :org_id AND session_id = :session_id

-- summary_columns: one session summary (a fragment)
id, org_id, session_id, project_id, user_id, agent, work_type, issue, outcome, goal, text, files, errors,
  open_items, classification, trust, weight, created_at

-- summary_of_session: how a session went
SELECT $summary_columns FROM session_summaries WHERE org_id = :org_id AND session_id = :session_id

-- summaries_of_issue: the newest summaries about an issue, but for one session
SELECT $summary_columns FROM session_summaries
WHERE org_id = :org_id AND project_id = :project_id AND issue = :issue AND session_id <> :session_id
  AND user_id IN ('', :user_id)
ORDER BY created_at DESC, id DESC LIMIT :limit

-- summaries_newest: the newest summaries of a project, but for one session
SELECT $summary_columns FROM session_summaries
WHERE org_id = :org_id AND project_id = :project_id AND session_id <> :session_id AND user_id IN ('', :user_id)
ORDER BY created_at DESC, id DESC LIMIT :limit
