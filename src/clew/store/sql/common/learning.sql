-- weight_of_memory: where a live memory belongs, and its weight
SELECT id, project_id, weight FROM memories WHERE org_id = :org_id AND id = :key AND deleted_at IS NULL

-- weight_put_memory: move the weight of a memory that is still as it was read
UPDATE memories SET weight = :weight WHERE org_id = :org_id AND id = :place AND weight = :previous

-- weight_of_summary: where the summary of a session belongs, and its weight
SELECT id, project_id, weight FROM session_summaries WHERE org_id = :org_id AND id = :key

-- weight_put_summary: move the weight of a summary that is still as it was read
UPDATE session_summaries SET weight = :weight WHERE org_id = :org_id AND id = :place AND weight = :previous

-- weight_of_node: the row of a node, where it belongs, and its weight
SELECT row, project_id, feedback_weight FROM graph_nodes WHERE org_id = :org_id AND id = :id

-- weight_put_node: move the weight of a node that is still as it was read
UPDATE graph_nodes SET feedback_weight = :weight
WHERE row = :place AND org_id = :org_id AND feedback_weight = :previous

-- weight_of_edge: an edge by its ends and relation: that of the project rather than that of another
SELECT e.row, e.project_id, e.feedback_weight FROM graph_edges e
WHERE e.org_id = :org_id
  AND e.from_row = (SELECT row FROM graph_nodes WHERE org_id = :org_id AND id = :source)
  AND e.to_row = (SELECT row FROM graph_nodes WHERE org_id = :org_id AND id = :target)
  AND e.edge_type = :edge_type
ORDER BY e.project_id <> :project_id, e.project_id LIMIT 1

-- weight_put_edge: move the weight of an edge that is still as it was read
UPDATE graph_edges SET feedback_weight = :weight
WHERE row = :place AND org_id = :org_id AND feedback_weight = :previous

-- edge_ends: the nodes that an edge connects
SELECT from_row, to_row FROM graph_edges WHERE row = :row AND org_id = :org_id

-- weight_of_transferred: how a memory that another project granted fares here; without a grant it is not one
SELECT m.id, :project_id, coalesce(t.weight, m.weight * :multiplier) FROM memories m
JOIN cross_project_transfer_grants g
  ON g.org_id = m.org_id AND g.dest_project = :project_id AND g.source_project = m.project_id
LEFT JOIN transferred_weights t
  ON t.org_id = m.org_id AND t.dest_project = :project_id AND t.memory_id = m.id
WHERE m.org_id = :org_id AND m.id = :key AND m.deleted_at IS NULL

-- weight_put_transferred: move what a memory of another project counts here
INSERT INTO transferred_weights (org_id, dest_project, memory_id, weight, updated_at)
VALUES (:org_id, :project_id, :place, :weight, :now)
ON CONFLICT (org_id, dest_project, memory_id) DO UPDATE SET weight = excluded.weight, updated_at = excluded.updated_at
WHERE transferred_weights.weight = :previous

-- ledger_of_session: what a session has counted for already
SELECT target_kind, target_key, outcome FROM feedback_ledger WHERE org_id = :org_id AND session_id = :session_id

-- entry_columns: an entry of the ledger in the order of its fields (a fragment, used as $entry_columns)
session_id, outcome, alpha, signal, applied_at, seq, misleading, previous, weight

-- ledger_of_target: what moved a weight before a place in its order, the newest first
SELECT $entry_columns FROM feedback_ledger
WHERE org_id = :org_id AND target_kind = :kind AND target_key = :key AND seq < :before ORDER BY seq DESC LIMIT :limit

-- ledger_entry: what a session said about a target
SELECT $entry_columns FROM feedback_ledger
WHERE org_id = :org_id AND session_id = :session_id AND target_kind = :kind AND target_key = :key

-- ledger_last: the last place in the order of a target
SELECT coalesce(max(seq), 0) FROM feedback_ledger
WHERE org_id = :org_id AND target_kind = :kind AND target_key = :key

-- ledger_put: one entry, replacing what the session said before
INSERT INTO feedback_ledger (org_id, target_kind, target_key, session_id, outcome, alpha, signal, applied_at, seq,
  misleading, previous, weight)
VALUES (:org_id, :kind, :key, :session_id, :outcome, :alpha, :signal, :at, :seq, :misleading, :previous, :weight)
ON CONFLICT (org_id, session_id, target_kind, target_key) DO UPDATE SET
  outcome = excluded.outcome, alpha = excluded.alpha, signal = excluded.signal, misleading = excluded.misleading,
  previous = excluded.previous, weight = excluded.weight

-- history_insert: note that a weight changed
INSERT INTO weight_history (org_id, seq, target_kind, target_key, session_id, project_id, outcome, previous_weight,
  new_weight, alpha, recorded_at)
VALUES (:org_id, :seq, :kind, :key, :session_id, :project_id, :outcome, :previous, :weight, :alpha, :at)

-- diagnostics_put: how a session went, replacing what was known before
INSERT INTO session_diagnostics (org_id, session_id, project_id, outcome, observation_ids, graph_node_ids,
  graph_edge_keys, tool_calls, files_modified, errors, failure_category, failure_context, helpful_ids,
  misleading_ids, created_at)
VALUES (:org_id, :session_id, :project, :outcome, :observation_ids, :graph_node_ids, :graph_edge_keys, :tool_calls,
  :files_modified, :errors, :failure_category, :failure_context, :helpful_ids, :misleading_ids, :created_at)
ON CONFLICT (org_id, session_id) DO UPDATE SET
  project_id = excluded.project_id, outcome = excluded.outcome, observation_ids = excluded.observation_ids,
  graph_node_ids = excluded.graph_node_ids, graph_edge_keys = excluded.graph_edge_keys,
  tool_calls = excluded.tool_calls, files_modified = excluded.files_modified, errors = excluded.errors,
  failure_category = excluded.failure_category, failure_context = excluded.failure_context,
  helpful_ids = excluded.helpful_ids, misleading_ids = excluded.misleading_ids

-- diagnostics_forget: what its texts tell of a session
UPDATE session_diagnostics SET tool_calls = '[]', files_modified = '[]', errors = '[]', failure_context = ''
WHERE org_id = :org_id AND session_id = :session_id

-- diagnostics_of: how a session went
SELECT session_id, project_id, outcome, observation_ids, graph_node_ids, graph_edge_keys, tool_calls, files_modified,
  errors, failure_category, failure_context, helpful_ids, misleading_ids
FROM session_diagnostics WHERE org_id = :org_id AND session_id = :session_id

-- ab_rows: where candidates stood with their weights and without
SELECT retrieval_id, observation_id, unweighted_rank, weighted_rank, injected, explored, weighting_enabled
FROM retrieval_ab_logs
WHERE org_id = :org_id AND created_at >= :since AND created_at < :until
  AND (:project_id = '' OR project_id = :project_id)
ORDER BY created_at, retrieval_id, weighted_rank

-- memories_alive: how many live memories a project could have been shown
SELECT count(*) FROM memories
WHERE org_id = :org_id AND deleted_at IS NULL AND created_at < :until
  AND (:project_id = '' OR project_id IN (:project_id, ''))

-- summary_outcome_put: the same in the session's summary
UPDATE session_summaries SET outcome = :outcome WHERE org_id = :org_id AND session_id = :session_id

-- session_outcome_put: how a session came out, as was said after its end
UPDATE sessions SET outcome = :outcome WHERE org_id = :org_id AND id = :session_id
