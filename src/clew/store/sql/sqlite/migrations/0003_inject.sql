-- Injection: what is switched on, sessions and their queue of injects, what was shown, and what was learnt from it.
-- Every key starts with org_id; lists are JSON; times are microseconds.

-- Switches and rights ---------------------------------------------------------------------------------------------

-- What an org's plan grants, and how it ranks.
CREATE TABLE org_features (
  org_id                      TEXT PRIMARY KEY,
  kg_enabled                  INTEGER NOT NULL DEFAULT 0,
  feedback_weighting_disabled INTEGER NOT NULL DEFAULT 0,
  updated_by                  TEXT NOT NULL DEFAULT '',
  updated_at                  INTEGER NOT NULL
) WITHOUT ROWID;

-- A project without a row has everything on. graph_enabled NULL: nobody said, which does not count as on.
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

-- Per work type: org_id '' is for all orgs; NULL leaves the field to the next one that says something.
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
INSERT INTO recall_matrix (org_id, work_type, graph_enabled, observation_budget, updated_by, updated_at) VALUES
  ('', 'bug_fix', 1, 750, 'shipped', 0), ('', 'feature', 1, 400, 'shipped', 0),
  ('', 'refactor', 1, 600, 'shipped', 0), ('', 'chore', 0, 300, 'shipped', 0);

-- What is known of an org's agents beyond their credential; one without a row has the defaults.
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

-- Cedar policies that were added to the shipped ones; org_id '' is for all orgs.
CREATE TABLE policies (
  org_id    TEXT NOT NULL,
  name      TEXT NOT NULL,
  text      TEXT NOT NULL,
  version   INTEGER NOT NULL,
  loaded_by TEXT NOT NULL,
  loaded_at INTEGER NOT NULL,
  PRIMARY KEY (org_id, name)
) WITHOUT ROWID;

-- Memories that wait for someone's judgement. They are in no other table: nothing can recall them.
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

-- Sessions and their queue ----------------------------------------------------------------------------------------

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
CREATE INDEX sessions_project ON sessions (org_id, project_id, created_at);
CREATE INDEX sessions_newest ON sessions (org_id, created_at);

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
CREATE UNIQUE INDEX session_memory_injects_id ON session_memory_injects (org_id, id);
CREATE UNIQUE INDEX session_memory_injects_content ON session_memory_injects (org_id, session_id, content_hash);
-- Exactly one in flight per session, whatever the program does.
CREATE UNIQUE INDEX session_memory_injects_in_flight ON session_memory_injects (org_id, session_id)
  WHERE state = 'delivered';
CREATE INDEX session_memory_injects_waiting ON session_memory_injects (org_id, session_id, seq) WHERE state = 'pending';
CREATE INDEX session_memory_injects_dead ON session_memory_injects (org_id, seq) WHERE state = 'dead';

-- What was shown --------------------------------------------------------------------------------------------------

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
  created_at                INTEGER NOT NULL,
  PRIMARY KEY (org_id, id)
) WITHOUT ROWID;
CREATE INDEX context_injection_logs_session ON context_injection_logs (org_id, session_id, created_at);
CREATE INDEX context_injection_logs_time ON context_injection_logs (org_id, created_at);

-- What was taken off the queue before the agent had it was not delivered, whoever took it off.
CREATE TRIGGER session_memory_injects_closed AFTER UPDATE OF state ON session_memory_injects
WHEN new.state IN ('cancelled', 'dead') AND old.state NOT IN ('cancelled', 'dead') BEGIN
  UPDATE context_injection_logs SET delivered = 0
  WHERE org_id = new.org_id AND session_id = new.session_id AND delivery_id = new.id;
END;

-- One row per candidate of a retrieval for a session: where it stood with its weight and without.
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
CREATE UNIQUE INDEX session_summaries_session ON session_summaries (org_id, session_id);
CREATE INDEX session_summaries_issue ON session_summaries (org_id, project_id, issue, created_at);
CREATE INDEX session_summaries_newest ON session_summaries (org_id, project_id, created_at);

-- What was learnt -------------------------------------------------------------------------------------------------

-- One row per session and target: each counts once, and a corrected outcome is replayed from here.
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

-- Every change of a weight, replays included.
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

-- Between projects ------------------------------------------------------------------------------------------------

CREATE TABLE project_fingerprints (
  org_id        TEXT NOT NULL,
  project_id    TEXT NOT NULL,
  components    TEXT NOT NULL, -- a JSON list such as ["language:python", "lib:numpy"]
  manifest_hash TEXT NOT NULL,
  updated_at    INTEGER NOT NULL,
  PRIMARY KEY (org_id, project_id)
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

-- How a memory of another project fares here; its own project is not touched.
CREATE TABLE transferred_weights (
  org_id       TEXT NOT NULL,
  dest_project TEXT NOT NULL,
  memory_id    TEXT NOT NULL,
  weight       REAL NOT NULL,
  updated_at   INTEGER NOT NULL,
  PRIMARY KEY (org_id, dest_project, memory_id)
) WITHOUT ROWID;

-- How long things are kept, and who did what ------------------------------------------------------------------------

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

-- Each entry carries the hash of the one before: nobody can take one out or change it unnoticed. Entries from before
-- this migration have none; the first that has one carries the hash of all of them.
ALTER TABLE audit ADD COLUMN kind TEXT NOT NULL DEFAULT 'memory'; -- of what memory_id names
ALTER TABLE audit ADD COLUMN decision TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN policy_ids TEXT NOT NULL DEFAULT '[]';
ALTER TABLE audit ADD COLUMN detail TEXT NOT NULL DEFAULT '{}'; -- JSON: what was before and after, never text of a memory
ALTER TABLE audit ADD COLUMN prev_hash TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN hash TEXT NOT NULL DEFAULT '';

-- Who may see a memory now also depends on its label.
DROP INDEX memories_seen;
CREATE INDEX memories_seen ON memories (row, org_id, project_id, user_id, deleted_at, expires_at, valid_at, invalid_at,
  layer, type, id, classification);
