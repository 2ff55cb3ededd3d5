-- Written by `python -m clew.store.schema`; do not edit. What a store looks like after every migration.

CREATE TABLE agents (
  org_id     TEXT NOT NULL,
  agent      TEXT NOT NULL,
  clearance  INTEGER NOT NULL DEFAULT 2 CHECK (clearance BETWEEN 0 AND 3),
  suspended  INTEGER NOT NULL DEFAULT 0,
  can_write  INTEGER NOT NULL DEFAULT 1,
  updated_by TEXT NOT NULL DEFAULT '',
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (org_id, agent)
) WITHOUT ROWID;

CREATE TABLE api_keys (
  org_id       TEXT NOT NULL,
  id           TEXT NOT NULL, -- key_...
  hash         BLOB NOT NULL UNIQUE, -- sha-256 of the whole token, which is random
  name         TEXT NOT NULL,
  user_id      TEXT NOT NULL DEFAULT '',
  agent        TEXT NOT NULL DEFAULT '',
  roles        TEXT NOT NULL,
  created_at   INTEGER NOT NULL,
  created_by   TEXT NOT NULL,
  expires_at   INTEGER,
  revoked_at   INTEGER,
  last_used_at INTEGER,
  PRIMARY KEY (org_id, id)
) WITHOUT ROWID;

CREATE TABLE audit (
  org_id       TEXT NOT NULL,
  seq          INTEGER NOT NULL,
  at           INTEGER NOT NULL,
  actor        TEXT NOT NULL,
  action       TEXT NOT NULL,
  memory_id    TEXT NOT NULL,
  content_hash TEXT NOT NULL DEFAULT '', kind TEXT NOT NULL DEFAULT 'memory', decision TEXT NOT NULL DEFAULT '', policy_ids TEXT NOT NULL DEFAULT '[]', detail TEXT NOT NULL DEFAULT '{}', prev_hash TEXT NOT NULL DEFAULT '', hash TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (org_id, seq)
) WITHOUT ROWID;

CREATE TABLE change (
  org_id     TEXT NOT NULL,
  seq        INTEGER NOT NULL,
  project_id TEXT NOT NULL,
  kind       TEXT NOT NULL,
  row_id     TEXT NOT NULL,
  op         TEXT NOT NULL CHECK (op IN ('put', 'drop')),
  PRIMARY KEY (org_id, seq)
) WITHOUT ROWID;

CREATE TABLE conflicts (
  org_id      TEXT NOT NULL,
  id          TEXT NOT NULL,
  a_row       INTEGER NOT NULL,
  b_row       INTEGER NOT NULL,
  kind        TEXT NOT NULL CHECK (kind IN ('contradicts', 'supersedes')),
  origin      TEXT NOT NULL, -- rule | llm | user
  rule        TEXT NOT NULL DEFAULT '', -- which rule found it
  confidence  REAL NOT NULL,
  sentence    TEXT NOT NULL DEFAULT '',
  explanation TEXT NOT NULL DEFAULT '',
  a_hash      TEXT NOT NULL,
  b_hash      TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  keep        TEXT NOT NULL DEFAULT '' CHECK (keep IN ('', 'a', 'b', 'both', 'neither')), -- how it was resolved
  resolved_at INTEGER,
  resolved_by TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (org_id, id)
) WITHOUT ROWID;

CREATE INDEX conflicts_a ON conflicts (org_id, a_row);

CREATE INDEX conflicts_b ON conflicts (org_id, b_row);

CREATE UNIQUE INDEX conflicts_pair ON conflicts (org_id, min(a_row, b_row), max(a_row, b_row));

CREATE TABLE context_injection_logs (
  org_id                    TEXT NOT NULL,
  id                        TEXT NOT NULL,
  session_id                TEXT NOT NULL,
  project_id                TEXT NOT NULL DEFAULT '',
  agent                     TEXT NOT NULL DEFAULT '',
  phase                     TEXT NOT NULL DEFAULT 'start' CHECK (phase IN ('start', 'in_session')),
  event_id                  TEXT NOT NULL DEFAULT '',
  work_type                 TEXT NOT NULL DEFAULT '',
  budget_tokens             INTEGER NOT NULL DEFAULT 0,
  graph_budget_tokens       INTEGER NOT NULL DEFAULT 0,
  actual_tokens             INTEGER NOT NULL DEFAULT 0,
  actual_observation_tokens INTEGER NOT NULL DEFAULT 0,
  actual_graph_tokens       INTEGER NOT NULL DEFAULT 0,
  observation_ids           TEXT NOT NULL DEFAULT '[]',
  session_summary_ids       TEXT NOT NULL DEFAULT '[]',
  graph_node_ids            TEXT NOT NULL DEFAULT '[]',
  graph_edge_keys           TEXT NOT NULL DEFAULT '[]',
  query_text                TEXT NOT NULL DEFAULT '',
  graph_status              TEXT NOT NULL DEFAULT '',
  outcome                   TEXT NOT NULL DEFAULT '', -- of the injector
  delivered                 INTEGER NOT NULL DEFAULT 0, -- put on the queue, or handed to the agent
  delivery_id               TEXT NOT NULL DEFAULT '',
  ms                        REAL NOT NULL DEFAULT 0,
  created_at                INTEGER NOT NULL, denied_ids TEXT NOT NULL DEFAULT '[]',
  PRIMARY KEY (org_id, id)
) WITHOUT ROWID;

CREATE INDEX context_injection_logs_quiet ON context_injection_logs (org_id, created_at)
  WHERE phase = 'in_session' AND outcome = 'no-match';

CREATE INDEX context_injection_logs_session ON context_injection_logs (org_id, session_id, created_at);

CREATE INDEX context_injection_logs_time ON context_injection_logs (org_id, created_at);

CREATE TABLE counters (
  org_id TEXT NOT NULL,
  name   TEXT NOT NULL,
  value  INTEGER NOT NULL,
  PRIMARY KEY (org_id, name)
) WITHOUT ROWID;

CREATE TABLE cross_project_transfer_grants (
  org_id         TEXT NOT NULL,
  source_project TEXT NOT NULL,
  dest_project   TEXT NOT NULL,
  granted_by     TEXT NOT NULL,
  granted_at     INTEGER NOT NULL,
  revoked_at     INTEGER,
  PRIMARY KEY (org_id, dest_project, source_project)
) WITHOUT ROWID;

CREATE TABLE feedback_ledger (
  org_id      TEXT NOT NULL,
  session_id  TEXT NOT NULL, -- or user:<name>:<kind> for what people say themselves
  target_kind TEXT NOT NULL CHECK (target_kind IN ('memory', 'node', 'edge', 'transferred', 'summary')),
  target_key  TEXT NOT NULL,
  seq         INTEGER NOT NULL, -- the order in which they count
  outcome     TEXT NOT NULL,
  alpha       REAL NOT NULL,
  signal      REAL NOT NULL,
  misleading  INTEGER NOT NULL DEFAULT 0, -- had shown itself so before: alpha counts twice and the signal as 0
  previous    REAL NOT NULL,
  weight      REAL NOT NULL, -- what it became
  applied_at  INTEGER NOT NULL,
  PRIMARY KEY (org_id, session_id, target_kind, target_key)
) WITHOUT ROWID;

CREATE UNIQUE INDEX feedback_ledger_target ON feedback_ledger (org_id, target_kind, target_key, seq);

CREATE TABLE graph_edges (
  row                INTEGER PRIMARY KEY AUTOINCREMENT,
  org_id             TEXT NOT NULL,
  project_id         TEXT NOT NULL DEFAULT '',
  from_row           INTEGER NOT NULL,
  to_row             INTEGER NOT NULL,
  edge_type          TEXT NOT NULL,
  label              TEXT NOT NULL DEFAULT '',
  weight             REAL NOT NULL DEFAULT 1.0 CHECK (weight >= 0),
  confidence         REAL NOT NULL DEFAULT 1.0 CHECK (confidence BETWEEN 0 AND 1),
  base_confidence    REAL NOT NULL DEFAULT 1.0, -- what it began with: losing witnesses never takes it below
  feedback_weight    REAL NOT NULL DEFAULT 0.5,
  witnesses          INTEGER NOT NULL DEFAULT 0, -- how many state it: counting them would cost what a hub costs
  lasting            INTEGER NOT NULL DEFAULT 0, -- how many of these do not expire
  is_users           INTEGER NOT NULL DEFAULT 0, -- made by a person: stays without witnesses
  user_id            TEXT NOT NULL DEFAULT '', -- whose alone it is, if that person made it for themselves
  last_reinforced_at INTEGER NOT NULL,
  expires_at         INTEGER, -- when its last witness does
  created_at         INTEGER NOT NULL
);

CREATE INDEX graph_edges_contradicts ON graph_edges (org_id, from_row, to_row) WHERE edge_type = 'contradicts';

CREATE UNIQUE INDEX graph_edges_ends ON graph_edges (org_id, from_row, to_row, edge_type, project_id);

CREATE INDEX graph_edges_to ON graph_edges (org_id, to_row);

CREATE TABLE graph_evidence (
  org_id      TEXT NOT NULL,
  edge_row    INTEGER NOT NULL,
  memory_row  INTEGER NOT NULL,
  sentence    TEXT NOT NULL DEFAULT '',
  explanation TEXT NOT NULL DEFAULT '',
  origin      TEXT NOT NULL,
  expires_at  INTEGER, -- when the memory does
  at          INTEGER NOT NULL,
  PRIMARY KEY (org_id, edge_row, memory_row)
) WITHOUT ROWID;

CREATE INDEX graph_evidence_memory ON graph_evidence (org_id, memory_row);

CREATE TRIGGER graph_evidence_added AFTER INSERT ON graph_evidence BEGIN
  UPDATE graph_edges SET witnesses = witnesses + 1, lasting = lasting + (new.expires_at IS NULL) WHERE row = new.edge_row;
END;

CREATE TRIGGER graph_evidence_gone AFTER DELETE ON graph_evidence BEGIN
  UPDATE graph_edges SET witnesses = witnesses - 1, lasting = lasting - (old.expires_at IS NULL) WHERE row = old.edge_row;
END;

CREATE TRIGGER graph_evidence_renewed AFTER UPDATE OF expires_at ON graph_evidence BEGIN
  UPDATE graph_edges SET lasting = lasting + (new.expires_at IS NULL) - (old.expires_at IS NULL) WHERE row = new.edge_row;
END;

CREATE TABLE graph_nodes (
  row               INTEGER PRIMARY KEY AUTOINCREMENT,
  org_id            TEXT NOT NULL,
  id                BLOB NOT NULL CHECK (length(id) = 16), -- uuid5 of org, project, type and key: unique like them
  project_id        TEXT NOT NULL DEFAULT '', -- '' for what an org shares: topics, categories, types, users
  node_type         TEXT NOT NULL,
  node_key          TEXT NOT NULL,
  label             TEXT NOT NULL DEFAULT '', -- '' for a memory: its text is shown instead, and kept once
  memory_row        INTEGER, -- of a memory
  importance_weight REAL NOT NULL DEFAULT 0.5,
  feedback_weight   REAL NOT NULL DEFAULT 0.5,
  created_at        INTEGER NOT NULL
);

CREATE UNIQUE INDEX graph_nodes_id ON graph_nodes (org_id, id);

CREATE TABLE graph_pending (
  org_id     TEXT NOT NULL,
  memory_row INTEGER NOT NULL,
  reason     TEXT NOT NULL,
  attempts   INTEGER NOT NULL DEFAULT 0,
  at         INTEGER NOT NULL,
  PRIMARY KEY (org_id, memory_row)
) WITHOUT ROWID;

CREATE TABLE graph_retrieval_policy (
  org_id              TEXT PRIMARY KEY,
  default_strategy    TEXT NOT NULL CHECK (default_strategy IN ('baseline', 'hybrid_graph')),
  ready_window_streak INTEGER NOT NULL DEFAULT 0,
  last_decision       TEXT NOT NULL DEFAULT '',
  last_evaluated_at   INTEGER,
  updated_at          INTEGER NOT NULL,
  updated_by          TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE graph_rollout_config (
  org_id     TEXT PRIMARY KEY,
  mode       TEXT NOT NULL CHECK (mode IN ('off', 'shadow', 'canary')),
  updated_at INTEGER NOT NULL,
  updated_by TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE graph_rollout_metrics (
  org_id               TEXT NOT NULL,
  created_at           INTEGER NOT NULL,
  id                   TEXT NOT NULL,
  path                 TEXT NOT NULL CHECK (path IN ('expand', 'activate')),
  mode                 TEXT NOT NULL,
  requested_strategy   TEXT NOT NULL,
  applied_strategy     TEXT NOT NULL,
  eligible             INTEGER NOT NULL, -- applied, or would have been but for the gate and what follows from it
  shadow_executed      INTEGER NOT NULL,
  baseline_candidates  INTEGER NOT NULL,
  graph_candidates     INTEGER NOT NULL,
  graph_expanded_count INTEGER NOT NULL, -- what was added to the answer
  would_expand_count   INTEGER NOT NULL, -- what was added, or would have been but for the gate
  total_candidates     INTEGER NOT NULL,
  could_expand         INTEGER NOT NULL, -- the scope held more than the baseline answered
  fallback_triggered   INTEGER NOT NULL,
  fallback_reason      TEXT NOT NULL DEFAULT '',
  graph_error          TEXT NOT NULL DEFAULT '', -- its code, also when only the shadow ran
  project_id           TEXT NOT NULL DEFAULT '',
  user_id              TEXT NOT NULL DEFAULT '',
  semantic_model       TEXT NOT NULL DEFAULT '',
  duration_ms          REAL NOT NULL,
  PRIMARY KEY (org_id, created_at, id)
) WITHOUT ROWID;

CREATE TABLE graph_rollout_verdict (
  org_id       TEXT PRIMARY KEY,
  judged_at    INTEGER NOT NULL,
  window_hours REAL NOT NULL,
  status       TEXT NOT NULL,
  is_blocked   INTEGER NOT NULL,
  reason_codes TEXT NOT NULL -- JSON
) WITHOUT ROWID;

CREATE TABLE host_events (
  org_id       TEXT NOT NULL,
  event_id     TEXT NOT NULL,
  host         TEXT NOT NULL,
  host_session TEXT NOT NULL,
  agent_id     TEXT NOT NULL DEFAULT '',
  event        TEXT NOT NULL, -- as the host names it
  kind         TEXT NOT NULL, -- what it is to us
  fingerprint  TEXT NOT NULL DEFAULT '', -- of what was told: a hook that is installed twice tells it under two ids
  session_id   TEXT NOT NULL DEFAULT '', -- ours
  project_id   TEXT NOT NULL DEFAULT '',
  user_id      TEXT NOT NULL DEFAULT '',
  teller       TEXT NOT NULL DEFAULT '', -- the agent of the credential that told it; '' when that is a user's
  roles        TEXT NOT NULL DEFAULT '', -- of that credential
  facts        TEXT NOT NULL DEFAULT '',
  ends         TEXT NOT NULL DEFAULT '', -- sessions of ours that it ended
  state        TEXT NOT NULL DEFAULT 'new' CHECK (state IN ('new', 'done')),
  unprinted    INTEGER NOT NULL DEFAULT 0, -- its answer was never printed
  at           INTEGER NOT NULL,
  PRIMARY KEY (org_id, event_id)
) WITHOUT ROWID;

CREATE INDEX host_events_done ON host_events (org_id, at) WHERE state = 'done';

CREATE INDEX host_events_facts ON host_events (org_id, at) WHERE state = 'done' AND facts <> '';

CREATE INDEX host_events_new ON host_events (org_id, at) WHERE state = 'new';

CREATE INDEX host_events_session ON host_events (org_id, host, host_session, at);

CREATE TABLE host_hooks (
  org_id     TEXT NOT NULL,
  host       TEXT NOT NULL,
  event      TEXT NOT NULL,
  count      INTEGER NOT NULL DEFAULT 0,
  first_at   INTEGER NOT NULL,
  last_at    INTEGER NOT NULL,
  PRIMARY KEY (org_id, host, event)
) WITHOUT ROWID;

CREATE TABLE host_session_past (
  org_id       TEXT NOT NULL,
  host         TEXT NOT NULL,
  host_session TEXT NOT NULL,
  agent_id     TEXT NOT NULL DEFAULT '',
  session_id   TEXT NOT NULL,
  source       TEXT NOT NULL DEFAULT '',
  opened_at    INTEGER NOT NULL,
  PRIMARY KEY (org_id, host, host_session, agent_id, session_id)
) WITHOUT ROWID;

CREATE TABLE host_sessions (
  org_id        TEXT NOT NULL,
  host          TEXT NOT NULL,
  host_session  TEXT NOT NULL,
  agent_id      TEXT NOT NULL DEFAULT '',
  session_id    TEXT NOT NULL, -- ours
  token         INTEGER NOT NULL DEFAULT 0, -- of the lock on it
  source        TEXT NOT NULL DEFAULT '', -- startup | resume | clear | compact | fork
  project_id    TEXT NOT NULL DEFAULT '',
  user_id       TEXT NOT NULL DEFAULT '',
  branch        TEXT NOT NULL DEFAULT '',
  printed       TEXT NOT NULL DEFAULT '', -- the delivery that the last answer carried and no later event confirmed
  printed_event TEXT NOT NULL DEFAULT '', -- the event whose answer that was
  printed_kind  TEXT NOT NULL DEFAULT '',
  printed_at    INTEGER, -- when that answer was sent; NULL: not known to have been
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL,
  ended_at      INTEGER,
  PRIMARY KEY (org_id, host, host_session, agent_id)
) WITHOUT ROWID;

CREATE INDEX host_sessions_open ON host_sessions (org_id, updated_at) WHERE ended_at IS NULL;

CREATE INDEX host_sessions_over ON host_sessions (org_id, ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE idempotency_keys (
  org_id     TEXT NOT NULL,
  principal  TEXT NOT NULL, -- who asked: two callers never share a key
  key        TEXT NOT NULL,
  request    BLOB NOT NULL, -- sha-256 of method, path and body
  status     INTEGER NOT NULL DEFAULT 0,
  headers    TEXT NOT NULL DEFAULT '{}',
  answer     BLOB NOT NULL DEFAULT x'',
  created_at INTEGER NOT NULL,
  PRIMARY KEY (org_id, principal, key)
) WITHOUT ROWID;

CREATE INDEX idempotency_keys_at ON idempotency_keys (org_id, created_at);

CREATE TABLE job_runs (
  org_id    TEXT NOT NULL,
  id        TEXT NOT NULL,
  kind      TEXT NOT NULL,
  subject   TEXT NOT NULL,
  operation TEXT NOT NULL,
  attempt   INTEGER NOT NULL,
  outcome   TEXT NOT NULL CHECK (outcome IN ('success', 'retry', 'dead_letter', 'skipped')),
  code      TEXT NOT NULL DEFAULT '',
  message   TEXT NOT NULL DEFAULT '',
  ms        REAL NOT NULL,
  at        INTEGER NOT NULL,
  PRIMARY KEY (org_id, id)
) WITHOUT ROWID;

CREATE INDEX job_runs_at ON job_runs (org_id, at);

CREATE INDEX job_runs_subject ON job_runs (org_id, subject, at);

CREATE TABLE jobs (
  org_id     TEXT NOT NULL,
  kind       TEXT NOT NULL,
  subject    TEXT NOT NULL, -- the memory's id; the job's own id follows from it
  operation  TEXT NOT NULL, -- add | edit | neighbour | backfill | retry: why it was asked for
  state      TEXT NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'leased', 'dead')),
  generation INTEGER NOT NULL DEFAULT 1,
  claimed    INTEGER NOT NULL DEFAULT 0, -- the generation that is being worked on
  attempts   INTEGER NOT NULL DEFAULT 0,
  due_at     INTEGER NOT NULL,
  code       TEXT NOT NULL DEFAULT '', -- of the last failure, and what it said; never the text of a memory
  message    TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (org_id, kind, subject)
) WITHOUT ROWID;

CREATE INDEX jobs_due ON jobs (org_id, due_at) WHERE state <> 'dead';

CREATE TABLE leases (
  org_id     TEXT NOT NULL,
  key        TEXT NOT NULL,
  holder     TEXT NOT NULL,
  token      INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  attempts   INTEGER NOT NULL DEFAULT 1,
  reason     TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (org_id, key)
) WITHOUT ROWID;

CREATE TABLE llm_rate (
  org_id TEXT NOT NULL,
  minute INTEGER NOT NULL,
  calls  INTEGER NOT NULL,
  PRIMARY KEY (org_id, minute)
) WITHOUT ROWID;

CREATE TABLE llm_usage (
  org_id        TEXT NOT NULL,
  day           TEXT NOT NULL, -- YYYY-MM-DD, UTC
  model         TEXT NOT NULL,
  task          TEXT NOT NULL,
  calls         INTEGER NOT NULL DEFAULT 0,
  failures      INTEGER NOT NULL DEFAULT 0,
  withheld      INTEGER NOT NULL DEFAULT 0, -- texts that were too secret to be sent
  input_tokens  INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  cost_micros   INTEGER NOT NULL DEFAULT 0, -- millionths of the currency the prices are in
  last_failure  TEXT NOT NULL DEFAULT '', -- its code and what it means; never the server's words
  PRIMARY KEY (org_id, day, model, task)
) WITHOUT ROWID;

CREATE TABLE memories (
  row            INTEGER PRIMARY KEY AUTOINCREMENT, -- a row is never given out twice
  org_id         TEXT NOT NULL,
  id             TEXT NOT NULL,
  project_id     TEXT NOT NULL DEFAULT '',
  user_id        TEXT NOT NULL DEFAULT '',
  agent          TEXT NOT NULL DEFAULT '',
  session_id     TEXT NOT NULL DEFAULT '',
  namespace      TEXT NOT NULL DEFAULT '',
  type           TEXT NOT NULL CHECK (type IN ('rule', 'decision', 'fact', 'note', 'skill')),
  layer          TEXT NOT NULL CHECK (layer IN ('rule', 'working', 'long_term')),
  title          TEXT NOT NULL DEFAULT '',
  content        TEXT NOT NULL CHECK (content <> ''),
  tags           TEXT NOT NULL DEFAULT '[]',
  category       TEXT NOT NULL DEFAULT '',
  paths          TEXT NOT NULL DEFAULT '[]',
  author         TEXT NOT NULL DEFAULT '',
  thread         TEXT NOT NULL DEFAULT '',
  at             INTEGER NOT NULL,
  origin         TEXT NOT NULL,
  tool_call      TEXT NOT NULL DEFAULT '',
  parents        TEXT NOT NULL DEFAULT '[]',
  trust          TEXT NOT NULL,
  classification TEXT NOT NULL CHECK (classification IN ('public', 'internal', 'confidential', 'restricted')),
  confidence     REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
  weight         REAL NOT NULL,
  upsert_key     TEXT NOT NULL DEFAULT '',
  content_hash   TEXT NOT NULL,
  valid_at       INTEGER NOT NULL,
  invalid_at     INTEGER,
  superseded_by  TEXT NOT NULL DEFAULT '',
  expires_at     INTEGER,
  created_at     INTEGER NOT NULL,
  updated_at     INTEGER NOT NULL,
  deleted_at     INTEGER,
  version        INTEGER NOT NULL DEFAULT 1,
  change         TEXT NOT NULL DEFAULT 'created',
  metadata       TEXT NOT NULL DEFAULT '{}',
  CHECK (layer <> 'working' OR expires_at IS NOT NULL)
);

CREATE UNIQUE INDEX memories_id ON memories (org_id, id);

CREATE INDEX memories_key_ends ON memories (org_id, project_id, user_id, type, upsert_key)
  WHERE upsert_key <> '' AND deleted_at IS NULL AND invalid_at IS NOT NULL;

CREATE UNIQUE INDEX memories_live_content ON memories (org_id, unhex(substr(content_hash, 1, 32)), project_id, user_id, type)
  WHERE deleted_at IS NULL AND superseded_by = '' AND invalid_at IS NULL;

CREATE UNIQUE INDEX memories_live_upsert ON memories (org_id, project_id, user_id, type, upsert_key)
  WHERE upsert_key <> '' AND deleted_at IS NULL AND superseded_by = '' AND invalid_at IS NULL;

CREATE INDEX memories_replaced ON memories (org_id, superseded_by) WHERE superseded_by <> '';

CREATE INDEX memories_scope ON memories (org_id, project_id, user_id, created_at);

CREATE INDEX memories_seen ON memories (row, org_id, project_id, user_id, deleted_at, expires_at, valid_at, invalid_at,
  layer, type, id, classification);

CREATE INDEX memories_session ON memories (org_id, project_id, session_id, at)
  WHERE session_id <> '' AND deleted_at IS NULL;

CREATE INDEX memories_thread ON memories (org_id, project_id, thread, at) WHERE thread <> '' AND deleted_at IS NULL;

CREATE INDEX memories_working ON memories (org_id, user_id, expires_at) WHERE layer = 'working' AND deleted_at IS NULL;

CREATE TRIGGER conflicts_erased AFTER DELETE ON memories BEGIN
  DELETE FROM conflicts WHERE org_id = old.org_id AND a_row = old.row;
  DELETE FROM conflicts WHERE org_id = old.org_id AND b_row = old.row;
END;

CREATE TABLE memory_embedding_backfill_state (
  space        TEXT PRIMARY KEY,
  status       TEXT NOT NULL CHECK (status IN ('idle', 'running', 'paused', 'completed')),
  done         INTEGER NOT NULL DEFAULT 0,
  total        INTEGER NOT NULL DEFAULT 0,
  seconds      REAL NOT NULL DEFAULT 0, -- that the done ones took: the remaining time follows from it
  started_at   INTEGER,
  last_run_at  INTEGER,
  completed_at INTEGER,
  last_error   TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;

CREATE TABLE memory_embeddings (
  memory_row INTEGER PRIMARY KEY REFERENCES memories (row) ON DELETE CASCADE,
  org_id     TEXT NOT NULL,
  space      TEXT NOT NULL,
  vector     BLOB NOT NULL
);

CREATE VIRTUAL TABLE memory_fts USING fts5(
  terms, content = '', detail = none, columnsize = 0, tokenize = ascii
);

CREATE TABLE memory_names (
  org_id     TEXT NOT NULL,
  name       INTEGER NOT NULL,
  is_subject INTEGER NOT NULL,
  memory_row INTEGER NOT NULL,
  PRIMARY KEY (org_id, name, is_subject, memory_row)
) WITHOUT ROWID;

CREATE INDEX memory_names_memory ON memory_names (org_id, memory_row);

CREATE TABLE memory_node_links (
  org_id     TEXT NOT NULL,
  memory_row INTEGER NOT NULL,
  node_row   INTEGER NOT NULL,
  role       TEXT NOT NULL CHECK (role IN ('self', 'type', 'scope', 'subject', 'category', 'tag', 'mention')),
  PRIMARY KEY (org_id, memory_row, node_row, role)
) WITHOUT ROWID;

CREATE INDEX memory_node_links_node ON memory_node_links (org_id, node_row);

CREATE TABLE memory_terms (
  memory_row INTEGER PRIMARY KEY REFERENCES memories (row) ON DELETE CASCADE,
  org_id     TEXT NOT NULL,
  length     INTEGER NOT NULL,
  terms      BLOB NOT NULL,
  scope_term TEXT NOT NULL
);

CREATE TABLE memory_versions (
  org_id     TEXT NOT NULL,
  memory_id  TEXT NOT NULL,
  version    INTEGER NOT NULL,
  change     TEXT NOT NULL,
  changed_at INTEGER NOT NULL,
  state      TEXT NOT NULL,
  PRIMARY KEY (org_id, memory_id, version),
  FOREIGN KEY (org_id, memory_id) REFERENCES memories (org_id, id) ON DELETE CASCADE
);

CREATE TABLE merges (
  org_id    TEXT NOT NULL,
  id        TEXT NOT NULL,
  winner    TEXT NOT NULL,
  before    INTEGER NOT NULL, -- version of the winner
  after     INTEGER NOT NULL,
  losers    TEXT NOT NULL, -- JSON: [[id, version before], ...]
  made_by   TEXT NOT NULL,
  at        INTEGER NOT NULL,
  undone_at INTEGER,
  undone_by TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (org_id, id)
) WITHOUT ROWID;

CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE org_features (
  org_id                      TEXT PRIMARY KEY,
  kg_enabled                  INTEGER NOT NULL DEFAULT 0,
  feedback_weighting_disabled INTEGER NOT NULL DEFAULT 0,
  updated_by                  TEXT NOT NULL DEFAULT '',
  updated_at                  INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE org_members (
  org_id  TEXT NOT NULL REFERENCES orgs (org_id) ON DELETE CASCADE,
  user_id TEXT NOT NULL,
  role    TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'reviewer')),
  PRIMARY KEY (org_id, user_id)
) WITHOUT ROWID;

CREATE INDEX org_members_user ON org_members (user_id);

CREATE TABLE org_owner_mappings (
  user_id    TEXT NOT NULL,
  owner      TEXT NOT NULL, -- of repositories, in lower case
  mapped_org TEXT NOT NULL,
  PRIMARY KEY (user_id, owner)
) WITHOUT ROWID;

CREATE TABLE org_routing (
  user_id    TEXT PRIMARY KEY,
  mode       TEXT NOT NULL CHECK (mode IN ('auto', 'active_workspace')),
  active_org TEXT NOT NULL DEFAULT '' -- '' is the personal one
) WITHOUT ROWID;

CREATE TABLE orgs (
  org_id     TEXT PRIMARY KEY,
  slug       TEXT NOT NULL UNIQUE,
  name       TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  created_by TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE policies (
  org_id    TEXT NOT NULL,
  name      TEXT NOT NULL,
  text      TEXT NOT NULL,
  version   INTEGER NOT NULL,
  loaded_by TEXT NOT NULL,
  loaded_at INTEGER NOT NULL,
  PRIMARY KEY (org_id, name)
) WITHOUT ROWID;

CREATE TABLE project_fingerprints (
  org_id        TEXT NOT NULL,
  project_id    TEXT NOT NULL,
  components    TEXT NOT NULL, -- a JSON list such as ["language:python", "lib:numpy"]
  manifest_hash TEXT NOT NULL,
  updated_at    INTEGER NOT NULL,
  PRIMARY KEY (org_id, project_id)
) WITHOUT ROWID;

CREATE TABLE project_memory_config (
  org_id                 TEXT NOT NULL,
  project_id             TEXT NOT NULL,
  memory_enabled         INTEGER NOT NULL DEFAULT 1,
  graph_enabled          INTEGER DEFAULT 1,
  runtime_inject_enabled INTEGER NOT NULL DEFAULT 1,
  version                INTEGER NOT NULL DEFAULT 1,
  updated_by             TEXT NOT NULL DEFAULT '',
  updated_at             INTEGER NOT NULL,
  PRIMARY KEY (org_id, project_id)
) WITHOUT ROWID;

CREATE TABLE quarantine (
  org_id       TEXT NOT NULL,
  id           TEXT NOT NULL, -- the memory's, once it is released
  project_id   TEXT NOT NULL DEFAULT '',
  user_id      TEXT NOT NULL DEFAULT '',
  content_hash TEXT NOT NULL,
  reasons      TEXT NOT NULL, -- JSON
  state        TEXT NOT NULL, -- the memory, JSON
  at           INTEGER NOT NULL,
  expires_at   INTEGER NOT NULL,
  PRIMARY KEY (org_id, id)
) WITHOUT ROWID;

CREATE UNIQUE INDEX quarantine_content ON quarantine (org_id, project_id, user_id, content_hash);

CREATE INDEX quarantine_expiry ON quarantine (org_id, expires_at);

CREATE TABLE recall_matrix (
  org_id             TEXT NOT NULL,
  work_type          TEXT NOT NULL,
  graph_enabled      INTEGER,
  observation_budget INTEGER CHECK (observation_budget >= 0),
  graph_budget       INTEGER CHECK (graph_budget >= 0),
  top_k              INTEGER CHECK (top_k >= 1),
  depth              INTEGER CHECK (depth BETWEEN 0 AND 8),
  version            INTEGER NOT NULL DEFAULT 1,
  updated_by         TEXT NOT NULL DEFAULT '',
  updated_at         INTEGER NOT NULL,
  PRIMARY KEY (org_id, work_type)
) WITHOUT ROWID;

CREATE TABLE retention_policies (
  org_id         TEXT NOT NULL,
  id             TEXT NOT NULL,
  project_id     TEXT NOT NULL DEFAULT '', -- '': every project
  classification TEXT NOT NULL DEFAULT '',
  type           TEXT NOT NULL DEFAULT '',
  ttl_days       REAL NOT NULL CHECK (ttl_days > 0),
  action         TEXT NOT NULL DEFAULT 'soft' CHECK (action IN ('soft', 'hard')),
  created_by     TEXT NOT NULL DEFAULT '',
  created_at     INTEGER NOT NULL,
  PRIMARY KEY (org_id, id)
) WITHOUT ROWID;

CREATE TABLE retrieval_ab_logs (
  org_id            TEXT NOT NULL,
  retrieval_id      TEXT NOT NULL, -- of the injection log
  observation_id    TEXT NOT NULL,
  session_id        TEXT NOT NULL,
  project_id        TEXT NOT NULL DEFAULT '',
  relevance         REAL NOT NULL,
  weight            REAL NOT NULL,
  weighted_score    REAL NOT NULL,
  unweighted_rank   INTEGER NOT NULL, -- from 0
  weighted_rank     INTEGER NOT NULL,
  injected          INTEGER NOT NULL,
  explored          INTEGER NOT NULL DEFAULT 0,
  weighting_enabled INTEGER NOT NULL,
  created_at        INTEGER NOT NULL,
  PRIMARY KEY (org_id, retrieval_id, observation_id)
) WITHOUT ROWID;

CREATE INDEX retrieval_ab_logs_time ON retrieval_ab_logs (org_id, created_at);

CREATE TABLE session_diagnostics (
  org_id           TEXT NOT NULL,
  session_id       TEXT NOT NULL,
  project_id       TEXT NOT NULL DEFAULT '',
  outcome          TEXT NOT NULL,
  observation_ids  TEXT NOT NULL DEFAULT '[]',
  graph_node_ids   TEXT NOT NULL DEFAULT '[]',
  graph_edge_keys  TEXT NOT NULL DEFAULT '[]',
  tool_calls       TEXT NOT NULL DEFAULT '[]',
  files_modified   TEXT NOT NULL DEFAULT '[]',
  errors           TEXT NOT NULL DEFAULT '[]',
  failure_category TEXT NOT NULL DEFAULT '',
  failure_context  TEXT NOT NULL DEFAULT '',
  helpful_ids      TEXT NOT NULL DEFAULT '[]',
  misleading_ids   TEXT NOT NULL DEFAULT '[]',
  created_at       INTEGER NOT NULL,
  PRIMARY KEY (org_id, session_id)
) WITHOUT ROWID;

CREATE TABLE session_memory_injects (
  seq                INTEGER PRIMARY KEY AUTOINCREMENT, -- first in, first out
  org_id             TEXT NOT NULL,
  id                 TEXT NOT NULL, -- the delivery id
  session_id         TEXT NOT NULL,
  agent              TEXT NOT NULL DEFAULT '',
  kind               TEXT NOT NULL DEFAULT 'memory' CHECK (kind IN ('memory', 'user')),
  phase              TEXT NOT NULL DEFAULT 'in_session' CHECK (phase IN ('start', 'in_session')),
  text               TEXT NOT NULL CHECK (text <> ''),
  content_hash       TEXT NOT NULL, -- sha-256 of the text
  observation_ids    TEXT NOT NULL DEFAULT '[]',
  node_ids           TEXT NOT NULL DEFAULT '[]',
  source_ids         TEXT NOT NULL DEFAULT '[]', -- every memory it rests on: what is shown, and what its facts are from
  state              TEXT NOT NULL DEFAULT 'pending'
    CHECK (state IN ('pending', 'delivered', 'acked', 'dead', 'cancelled')),
  receipt            TEXT NOT NULL DEFAULT '' CHECK (receipt IN ('', 'printed', 'consumed', 'recorded', 'confirmed')),
  attempts           INTEGER NOT NULL DEFAULT 0,
  fencing_token      INTEGER NOT NULL DEFAULT 0,
  reason             TEXT NOT NULL DEFAULT '', -- why it is dead or cancelled
  enqueued_at        INTEGER NOT NULL,
  first_delivered_at INTEGER,
  last_delivered_at  INTEGER,
  ended_at           INTEGER -- acknowledged, dead or cancelled
);

CREATE UNIQUE INDEX session_memory_injects_content ON session_memory_injects (org_id, session_id, content_hash);

CREATE INDEX session_memory_injects_dead ON session_memory_injects (org_id, seq) WHERE state = 'dead';

CREATE UNIQUE INDEX session_memory_injects_id ON session_memory_injects (org_id, id);

CREATE UNIQUE INDEX session_memory_injects_in_flight ON session_memory_injects (org_id, session_id)
  WHERE state = 'delivered';

CREATE INDEX session_memory_injects_waiting ON session_memory_injects (org_id, session_id, seq) WHERE state = 'pending';

CREATE TRIGGER session_memory_injects_closed AFTER UPDATE OF state ON session_memory_injects
WHEN new.state IN ('cancelled', 'dead') AND old.state NOT IN ('cancelled', 'dead') BEGIN
  UPDATE context_injection_logs SET delivered = 0
  WHERE org_id = new.org_id AND session_id = new.session_id AND delivery_id = new.id;
END;

CREATE TABLE session_summaries (
  org_id     TEXT NOT NULL,
  id         TEXT NOT NULL,
  session_id TEXT NOT NULL,
  project_id TEXT NOT NULL DEFAULT '',
  user_id    TEXT NOT NULL DEFAULT '',
  agent      TEXT NOT NULL DEFAULT '',
  work_type  TEXT NOT NULL DEFAULT '',
  issue      TEXT NOT NULL DEFAULT '',
  outcome    TEXT NOT NULL DEFAULT '',
  goal       TEXT NOT NULL DEFAULT '',
  text       TEXT NOT NULL, -- at most 1,200 characters
  files      TEXT NOT NULL DEFAULT '[]',
  errors     TEXT NOT NULL DEFAULT '[]',
  open_items TEXT NOT NULL DEFAULT '[]',
  classification TEXT NOT NULL DEFAULT 'internal',
  trust      TEXT NOT NULL DEFAULT 'agent',
  weight     REAL NOT NULL DEFAULT 1.0,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (org_id, id)
) WITHOUT ROWID;

CREATE INDEX session_summaries_issue ON session_summaries (org_id, project_id, issue, created_at);

CREATE INDEX session_summaries_newest ON session_summaries (org_id, project_id, created_at);

CREATE UNIQUE INDEX session_summaries_session ON session_summaries (org_id, session_id);

CREATE TABLE sessions (
  org_id           TEXT NOT NULL,
  id               TEXT NOT NULL,
  project_id       TEXT NOT NULL DEFAULT '',
  user_id          TEXT NOT NULL DEFAULT '',
  agent            TEXT NOT NULL DEFAULT '', -- '': a stage that dispatches itself
  work_type        TEXT NOT NULL DEFAULT '',
  issue            TEXT NOT NULL DEFAULT '', -- PROJ-123
  issue_id         TEXT NOT NULL DEFAULT '', -- the tracker's own
  title            TEXT NOT NULL DEFAULT '',
  description      TEXT NOT NULL DEFAULT '',
  state            TEXT NOT NULL DEFAULT 'queued'
    CHECK (state IN ('queued', 'running', 'finalizing', 'completed', 'failed', 'stopped')),
  worker_id        TEXT NOT NULL DEFAULT '', -- the last that claimed it; its lock is the lease session:<id>
  provider_session TEXT NOT NULL DEFAULT '', -- the agent's own name for it
  fencing_token    INTEGER NOT NULL DEFAULT 0,
  stop_requested   INTEGER NOT NULL DEFAULT 0,
  outcome          TEXT NOT NULL DEFAULT '' CHECK (outcome IN ('', 'accepted', 'rework', 'rejected')),
  created_at       INTEGER NOT NULL,
  claimed_at       INTEGER,
  ended_at         INTEGER,
  PRIMARY KEY (org_id, id)
) WITHOUT ROWID;

CREATE INDEX sessions_newest ON sessions (org_id, created_at);

CREATE INDEX sessions_project ON sessions (org_id, project_id, created_at);

CREATE TABLE transferred_weights (
  org_id       TEXT NOT NULL,
  dest_project TEXT NOT NULL,
  memory_id    TEXT NOT NULL,
  weight       REAL NOT NULL,
  updated_at   INTEGER NOT NULL,
  PRIMARY KEY (org_id, dest_project, memory_id)
) WITHOUT ROWID;

CREATE TABLE weight_history (
  org_id          TEXT NOT NULL,
  seq             INTEGER NOT NULL,
  target_kind     TEXT NOT NULL,
  target_key      TEXT NOT NULL,
  session_id      TEXT NOT NULL,
  project_id      TEXT NOT NULL DEFAULT '',
  outcome         TEXT NOT NULL,
  previous_weight REAL NOT NULL,
  new_weight      REAL NOT NULL,
  alpha           REAL NOT NULL,
  recorded_at     INTEGER NOT NULL,
  PRIMARY KEY (org_id, seq)
) WITHOUT ROWID;

CREATE INDEX weight_history_target ON weight_history (org_id, target_kind, target_key, seq);
