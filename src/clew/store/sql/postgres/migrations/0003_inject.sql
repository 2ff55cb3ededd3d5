-- Injection: what is switched on, sessions and their queue of injects, what was shown, and what was learnt from it.
-- Every key starts with org_id; lists are JSON.

-- Switches and rights ---------------------------------------------------------------------------------------------

-- What an org's plan grants, and how it ranks.
CREATE TABLE org_features (
  org_id                      text COLLATE "C" PRIMARY KEY,
  kg_enabled                  smallint NOT NULL DEFAULT 0,
  feedback_weighting_disabled smallint NOT NULL DEFAULT 0,
  updated_by                  text COLLATE "C" NOT NULL DEFAULT '',
  updated_at                  timestamptz NOT NULL
);

-- A project without a row has everything on. graph_enabled NULL: nobody said, which does not count as on.
CREATE TABLE project_memory_config (
  org_id                 text COLLATE "C" NOT NULL,
  project_id             text COLLATE "C" NOT NULL,
  memory_enabled         smallint NOT NULL DEFAULT 1,
  graph_enabled          smallint DEFAULT 1,
  runtime_inject_enabled smallint NOT NULL DEFAULT 1,
  version                bigint NOT NULL DEFAULT 1,
  updated_by             text COLLATE "C" NOT NULL DEFAULT '',
  updated_at             timestamptz NOT NULL,
  PRIMARY KEY (org_id, project_id)
);

-- Per work type: org_id '' is for all orgs; NULL leaves the field to the next one that says something.
CREATE TABLE recall_matrix (
  org_id             text COLLATE "C" NOT NULL,
  work_type          text COLLATE "C" NOT NULL,
  graph_enabled      smallint,
  observation_budget bigint CHECK (observation_budget >= 0),
  graph_budget       bigint CHECK (graph_budget >= 0),
  top_k              bigint CHECK (top_k >= 1),
  depth              bigint CHECK (depth BETWEEN 0 AND 8),
  version            bigint NOT NULL DEFAULT 1,
  updated_by         text COLLATE "C" NOT NULL DEFAULT '',
  updated_at         timestamptz NOT NULL,
  PRIMARY KEY (org_id, work_type)
);
INSERT INTO recall_matrix (org_id, work_type, graph_enabled, observation_budget, updated_by, updated_at) VALUES
  ('', 'bug_fix', 1, 750, 'shipped', 'epoch'), ('', 'feature', 1, 400, 'shipped', 'epoch'),
  ('', 'refactor', 1, 600, 'shipped', 'epoch'), ('', 'chore', 0, 300, 'shipped', 'epoch');

-- What is known of an org's agents beyond their credential; one without a row has the defaults.
CREATE TABLE agents (
  org_id     text COLLATE "C" NOT NULL,
  agent      text COLLATE "C" NOT NULL,
  clearance  bigint NOT NULL DEFAULT 2 CHECK (clearance BETWEEN 0 AND 3),
  suspended  smallint NOT NULL DEFAULT 0,
  can_write  smallint NOT NULL DEFAULT 1,
  updated_by text COLLATE "C" NOT NULL DEFAULT '',
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (org_id, agent)
);

-- Cedar policies that were added to the shipped ones; org_id '' is for all orgs.
CREATE TABLE policies (
  org_id    text COLLATE "C" NOT NULL,
  name      text COLLATE "C" NOT NULL,
  text      text COLLATE "C" NOT NULL,
  version   bigint NOT NULL,
  loaded_by text COLLATE "C" NOT NULL,
  loaded_at timestamptz NOT NULL,
  PRIMARY KEY (org_id, name)
);

-- Memories that wait for someone's judgement. They are in no other table: nothing can recall them.
CREATE TABLE quarantine (
  org_id       text COLLATE "C" NOT NULL,
  id           text COLLATE "C" NOT NULL, -- the memory's, once it is released
  project_id   text COLLATE "C" NOT NULL DEFAULT '',
  user_id      text COLLATE "C" NOT NULL DEFAULT '',
  content_hash text COLLATE "C" NOT NULL,
  reasons      text COLLATE "C" NOT NULL, -- JSON
  state        text COLLATE "C" NOT NULL, -- the memory, JSON
  at           timestamptz NOT NULL,
  expires_at   timestamptz NOT NULL,
  PRIMARY KEY (org_id, id)
);
CREATE UNIQUE INDEX quarantine_content ON quarantine (org_id, project_id, user_id, content_hash);
CREATE INDEX quarantine_expiry ON quarantine (org_id, expires_at);

-- Sessions and their queue ----------------------------------------------------------------------------------------

CREATE TABLE sessions (
  org_id           text COLLATE "C" NOT NULL,
  id               text COLLATE "C" NOT NULL,
  project_id       text COLLATE "C" NOT NULL DEFAULT '',
  user_id          text COLLATE "C" NOT NULL DEFAULT '',
  agent            text COLLATE "C" NOT NULL DEFAULT '', -- '': a stage that dispatches itself
  work_type        text COLLATE "C" NOT NULL DEFAULT '',
  issue            text COLLATE "C" NOT NULL DEFAULT '', -- PROJ-123
  issue_id         text COLLATE "C" NOT NULL DEFAULT '', -- the tracker's own
  title            text COLLATE "C" NOT NULL DEFAULT '',
  description      text COLLATE "C" NOT NULL DEFAULT '',
  state            text COLLATE "C" NOT NULL DEFAULT 'queued'
    CHECK (state IN ('queued', 'running', 'finalizing', 'completed', 'failed', 'stopped')),
  worker_id        text COLLATE "C" NOT NULL DEFAULT '', -- the last that claimed it; its lock is the lease session:<id>
  provider_session text COLLATE "C" NOT NULL DEFAULT '', -- the agent's own name for it
  fencing_token    bigint NOT NULL DEFAULT 0,
  stop_requested   smallint NOT NULL DEFAULT 0,
  outcome          text COLLATE "C" NOT NULL DEFAULT '' CHECK (outcome IN ('', 'accepted', 'rework', 'rejected')),
  created_at       timestamptz NOT NULL,
  claimed_at       timestamptz,
  ended_at         timestamptz,
  PRIMARY KEY (org_id, id)
);
CREATE INDEX sessions_project ON sessions (org_id, project_id, created_at);
CREATE INDEX sessions_newest ON sessions (org_id, created_at);

CREATE TABLE session_memory_injects (
  seq                bigint GENERATED BY DEFAULT AS IDENTITY, -- first in, first out
  org_id             text COLLATE "C" NOT NULL,
  id                 text COLLATE "C" NOT NULL, -- the delivery id
  session_id         text COLLATE "C" NOT NULL,
  agent              text COLLATE "C" NOT NULL DEFAULT '',
  kind               text COLLATE "C" NOT NULL DEFAULT 'memory' CHECK (kind IN ('memory', 'user')),
  phase              text COLLATE "C" NOT NULL DEFAULT 'in_session' CHECK (phase IN ('start', 'in_session')),
  text               text COLLATE "C" NOT NULL CHECK (text <> ''),
  content_hash       text COLLATE "C" NOT NULL, -- sha-256 of the text
  observation_ids    text COLLATE "C" NOT NULL DEFAULT '[]',
  node_ids           text COLLATE "C" NOT NULL DEFAULT '[]',
  source_ids         text COLLATE "C" NOT NULL DEFAULT '[]', -- every memory it rests on: what is shown, and what its facts are from
  state              text COLLATE "C" NOT NULL DEFAULT 'pending'
    CHECK (state IN ('pending', 'delivered', 'acked', 'dead', 'cancelled')),
  receipt            text COLLATE "C" NOT NULL DEFAULT '' CHECK (receipt IN ('', 'printed', 'consumed', 'recorded', 'confirmed')),
  attempts           bigint NOT NULL DEFAULT 0,
  fencing_token      bigint NOT NULL DEFAULT 0,
  reason             text COLLATE "C" NOT NULL DEFAULT '', -- why it is dead or cancelled
  enqueued_at        timestamptz NOT NULL,
  first_delivered_at timestamptz,
  last_delivered_at  timestamptz,
  ended_at           timestamptz, -- acknowledged, dead or cancelled
  PRIMARY KEY (org_id, seq)
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
  org_id                    text COLLATE "C" NOT NULL,
  id                        text COLLATE "C" NOT NULL,
  session_id                text COLLATE "C" NOT NULL,
  project_id                text COLLATE "C" NOT NULL DEFAULT '',
  agent                     text COLLATE "C" NOT NULL DEFAULT '',
  phase                     text COLLATE "C" NOT NULL DEFAULT 'start' CHECK (phase IN ('start', 'in_session')),
  event_id                  text COLLATE "C" NOT NULL DEFAULT '',
  work_type                 text COLLATE "C" NOT NULL DEFAULT '',
  budget_tokens             bigint NOT NULL DEFAULT 0,
  graph_budget_tokens       bigint NOT NULL DEFAULT 0,
  actual_tokens             bigint NOT NULL DEFAULT 0,
  actual_observation_tokens bigint NOT NULL DEFAULT 0,
  actual_graph_tokens       bigint NOT NULL DEFAULT 0,
  observation_ids           text COLLATE "C" NOT NULL DEFAULT '[]',
  session_summary_ids       text COLLATE "C" NOT NULL DEFAULT '[]',
  graph_node_ids            text COLLATE "C" NOT NULL DEFAULT '[]',
  graph_edge_keys           text COLLATE "C" NOT NULL DEFAULT '[]',
  query_text                text COLLATE "C" NOT NULL DEFAULT '',
  graph_status              text COLLATE "C" NOT NULL DEFAULT '',
  outcome                   text COLLATE "C" NOT NULL DEFAULT '', -- of the injector
  delivered                 smallint NOT NULL DEFAULT 0, -- put on the queue, or handed to the agent
  delivery_id               text COLLATE "C" NOT NULL DEFAULT '',
  ms                        double precision NOT NULL DEFAULT 0,
  created_at                timestamptz NOT NULL,
  PRIMARY KEY (org_id, id)
);
CREATE INDEX context_injection_logs_session ON context_injection_logs (org_id, session_id, created_at);
CREATE INDEX context_injection_logs_time ON context_injection_logs (org_id, created_at);

-- What was taken off the queue before the agent had it was not delivered, whoever took it off.
CREATE FUNCTION session_memory_injects_closed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  UPDATE context_injection_logs SET delivered = 0
  WHERE org_id = new.org_id AND session_id = new.session_id AND delivery_id = new.id;
  RETURN NULL;
END $$;
CREATE TRIGGER session_memory_injects_closed AFTER UPDATE OF state ON session_memory_injects FOR EACH ROW
  WHEN (new.state IN ('cancelled', 'dead') AND old.state NOT IN ('cancelled', 'dead'))
  EXECUTE FUNCTION session_memory_injects_closed();

-- One row per candidate of a retrieval for a session: where it stood with its weight and without.
CREATE TABLE retrieval_ab_logs (
  org_id            text COLLATE "C" NOT NULL,
  retrieval_id      text COLLATE "C" NOT NULL, -- of the injection log
  observation_id    text COLLATE "C" NOT NULL,
  session_id        text COLLATE "C" NOT NULL,
  project_id        text COLLATE "C" NOT NULL DEFAULT '',
  relevance         double precision NOT NULL,
  weight            double precision NOT NULL,
  weighted_score    double precision NOT NULL,
  unweighted_rank   bigint NOT NULL, -- from 0
  weighted_rank     bigint NOT NULL,
  injected          smallint NOT NULL,
  explored          smallint NOT NULL DEFAULT 0,
  weighting_enabled smallint NOT NULL,
  created_at        timestamptz NOT NULL,
  PRIMARY KEY (org_id, retrieval_id, observation_id)
);
CREATE INDEX retrieval_ab_logs_time ON retrieval_ab_logs (org_id, created_at);

CREATE TABLE session_summaries (
  org_id     text COLLATE "C" NOT NULL,
  id         text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  project_id text COLLATE "C" NOT NULL DEFAULT '',
  user_id    text COLLATE "C" NOT NULL DEFAULT '',
  agent      text COLLATE "C" NOT NULL DEFAULT '',
  work_type  text COLLATE "C" NOT NULL DEFAULT '',
  issue      text COLLATE "C" NOT NULL DEFAULT '',
  outcome    text COLLATE "C" NOT NULL DEFAULT '',
  goal       text COLLATE "C" NOT NULL DEFAULT '',
  text       text COLLATE "C" NOT NULL, -- at most 1,200 characters
  files      text COLLATE "C" NOT NULL DEFAULT '[]',
  errors     text COLLATE "C" NOT NULL DEFAULT '[]',
  open_items text COLLATE "C" NOT NULL DEFAULT '[]',
  classification text COLLATE "C" NOT NULL DEFAULT 'internal',
  trust      text COLLATE "C" NOT NULL DEFAULT 'agent',
  weight     double precision NOT NULL DEFAULT 1.0,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (org_id, id)
);
CREATE UNIQUE INDEX session_summaries_session ON session_summaries (org_id, session_id);
CREATE INDEX session_summaries_issue ON session_summaries (org_id, project_id, issue, created_at);
CREATE INDEX session_summaries_newest ON session_summaries (org_id, project_id, created_at);

-- What was learnt -------------------------------------------------------------------------------------------------

-- One row per session and target: each counts once, and a corrected outcome is replayed from here.
CREATE TABLE feedback_ledger (
  org_id      text COLLATE "C" NOT NULL,
  session_id  text COLLATE "C" NOT NULL, -- or user:<name>:<kind> for what people say themselves
  target_kind text COLLATE "C" NOT NULL CHECK (target_kind IN ('memory', 'node', 'edge', 'transferred', 'summary')),
  target_key  text COLLATE "C" NOT NULL,
  seq         bigint NOT NULL, -- the order in which they count
  outcome     text COLLATE "C" NOT NULL,
  alpha       double precision NOT NULL,
  signal      double precision NOT NULL,
  misleading  smallint NOT NULL DEFAULT 0, -- had shown itself so before: alpha counts twice and the signal as 0
  previous    double precision NOT NULL,
  weight      double precision NOT NULL, -- what it became
  applied_at  timestamptz NOT NULL,
  PRIMARY KEY (org_id, session_id, target_kind, target_key)
);
CREATE UNIQUE INDEX feedback_ledger_target ON feedback_ledger (org_id, target_kind, target_key, seq);

-- Every change of a weight, replays included.
CREATE TABLE weight_history (
  org_id          text COLLATE "C" NOT NULL,
  seq             bigint NOT NULL,
  target_kind     text COLLATE "C" NOT NULL,
  target_key      text COLLATE "C" NOT NULL,
  session_id      text COLLATE "C" NOT NULL,
  project_id      text COLLATE "C" NOT NULL DEFAULT '',
  outcome         text COLLATE "C" NOT NULL,
  previous_weight double precision NOT NULL,
  new_weight      double precision NOT NULL,
  alpha           double precision NOT NULL,
  recorded_at     timestamptz NOT NULL,
  PRIMARY KEY (org_id, seq)
);
CREATE INDEX weight_history_target ON weight_history (org_id, target_kind, target_key, seq);

CREATE TABLE session_diagnostics (
  org_id           text COLLATE "C" NOT NULL,
  session_id       text COLLATE "C" NOT NULL,
  project_id       text COLLATE "C" NOT NULL DEFAULT '',
  outcome          text COLLATE "C" NOT NULL,
  observation_ids  text COLLATE "C" NOT NULL DEFAULT '[]',
  graph_node_ids   text COLLATE "C" NOT NULL DEFAULT '[]',
  graph_edge_keys  text COLLATE "C" NOT NULL DEFAULT '[]',
  tool_calls       text COLLATE "C" NOT NULL DEFAULT '[]',
  files_modified   text COLLATE "C" NOT NULL DEFAULT '[]',
  errors           text COLLATE "C" NOT NULL DEFAULT '[]',
  failure_category text COLLATE "C" NOT NULL DEFAULT '',
  failure_context  text COLLATE "C" NOT NULL DEFAULT '',
  helpful_ids      text COLLATE "C" NOT NULL DEFAULT '[]',
  misleading_ids   text COLLATE "C" NOT NULL DEFAULT '[]',
  created_at       timestamptz NOT NULL,
  PRIMARY KEY (org_id, session_id)
);

-- Between projects ------------------------------------------------------------------------------------------------

CREATE TABLE project_fingerprints (
  org_id        text COLLATE "C" NOT NULL,
  project_id    text COLLATE "C" NOT NULL,
  components    text COLLATE "C" NOT NULL, -- a JSON list such as ["language:python", "lib:numpy"]
  manifest_hash text COLLATE "C" NOT NULL,
  updated_at    timestamptz NOT NULL,
  PRIMARY KEY (org_id, project_id)
);

CREATE TABLE cross_project_transfer_grants (
  org_id         text COLLATE "C" NOT NULL,
  source_project text COLLATE "C" NOT NULL,
  dest_project   text COLLATE "C" NOT NULL,
  granted_by     text COLLATE "C" NOT NULL,
  granted_at     timestamptz NOT NULL,
  revoked_at     timestamptz,
  PRIMARY KEY (org_id, dest_project, source_project)
);

-- How a memory of another project fares here; its own project is not touched.
CREATE TABLE transferred_weights (
  org_id       text COLLATE "C" NOT NULL,
  dest_project text COLLATE "C" NOT NULL,
  memory_id    text COLLATE "C" NOT NULL,
  weight       double precision NOT NULL,
  updated_at   timestamptz NOT NULL,
  PRIMARY KEY (org_id, dest_project, memory_id)
);

-- How long things are kept, and who did what ------------------------------------------------------------------------

CREATE TABLE retention_policies (
  org_id         text COLLATE "C" NOT NULL,
  id             text COLLATE "C" NOT NULL,
  project_id     text COLLATE "C" NOT NULL DEFAULT '', -- '': every project
  classification text COLLATE "C" NOT NULL DEFAULT '',
  type           text COLLATE "C" NOT NULL DEFAULT '',
  ttl_days       double precision NOT NULL CHECK (ttl_days > 0),
  action         text COLLATE "C" NOT NULL DEFAULT 'soft' CHECK (action IN ('soft', 'hard')),
  created_by     text COLLATE "C" NOT NULL DEFAULT '',
  created_at     timestamptz NOT NULL,
  PRIMARY KEY (org_id, id)
);

-- Each entry carries the hash of the one before: nobody can take one out or change it unnoticed. Entries from before
-- this migration have none; the first that has one carries the hash of all of them.
ALTER TABLE audit ADD COLUMN kind text COLLATE "C" NOT NULL DEFAULT 'memory'; -- of what memory_id names
ALTER TABLE audit ADD COLUMN decision text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN policy_ids text COLLATE "C" NOT NULL DEFAULT '[]';
ALTER TABLE audit ADD COLUMN detail text COLLATE "C" NOT NULL DEFAULT '{}'; -- JSON: what was before and after, never text of a memory
ALTER TABLE audit ADD COLUMN prev_hash text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN hash text COLLATE "C" NOT NULL DEFAULT '';
