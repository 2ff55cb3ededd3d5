-- What happens after a write: jobs, relations that models and rules find, conflicts, merges; and the rollout of graph
-- recall with what was measured of it. Every key starts with org_id; lists are JSON; times are microseconds.

-- Jobs ------------------------------------------------------------------------------------------------------------

-- At most one job of a kind for a memory: asked for again, it gets another generation. What is done is no longer here:
-- job_runs tells of it. due_at: when it may be claimed; of a leased one, when its lease ends.
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
CREATE INDEX jobs_due ON jobs (due_at) WHERE state <> 'dead';

-- One row per attempt, for a week.
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

-- Vectors made up for after a switch of model; one row per space, for the whole store.
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

-- What language models were asked and what it cost, by day.
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
CREATE TABLE llm_rate (
  org_id TEXT NOT NULL,
  minute INTEGER NOT NULL,
  calls  INTEGER NOT NULL,
  PRIMARY KEY (org_id, minute)
) WITHOUT ROWID;

-- Conflicts and merges --------------------------------------------------------------------------------------------

-- Two memories that cannot both be current. `a` is the one that came first. It stands as long as both hold, have the
-- texts it was found in (their hashes), and an edge still says so: nothing has to close it. `keep` holds for these
-- texts, too.
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
CREATE UNIQUE INDEX conflicts_pair ON conflicts (org_id, min(a_row, b_row), max(a_row, b_row));
CREATE INDEX conflicts_a ON conflicts (org_id, a_row);
CREATE INDEX conflicts_b ON conflicts (org_id, b_row);
-- What contradicts what is asked in every recall, and mostly nothing does.
CREATE INDEX graph_edges_contradicts ON graph_edges (org_id, from_row, to_row) WHERE edge_type = 'contradicts';
-- Sentence and explanation may quote either memory.
CREATE TRIGGER conflicts_erased AFTER DELETE ON memories BEGIN
  DELETE FROM conflicts WHERE org_id = old.org_id AND a_row = old.row;
  DELETE FROM conflicts WHERE org_id = old.org_id AND b_row = old.row;
END;

-- Which memories were merged into which, and how to undo it: the versions before.
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

-- Rollout ---------------------------------------------------------------------------------------------------------

-- An org without a row is in canary.
CREATE TABLE graph_rollout_config (
  org_id     TEXT PRIMARY KEY,
  mode       TEXT NOT NULL CHECK (mode IN ('off', 'shadow', 'canary')),
  updated_at INTEGER NOT NULL,
  updated_by TEXT NOT NULL
) WITHOUT ROWID;

-- What a request without a strategy gets. Judged once per window.
CREATE TABLE graph_retrieval_policy (
  org_id              TEXT PRIMARY KEY,
  default_strategy    TEXT NOT NULL CHECK (default_strategy IN ('baseline', 'hybrid_graph')),
  ready_window_streak INTEGER NOT NULL DEFAULT 0,
  last_decision       TEXT NOT NULL DEFAULT '',
  last_evaluated_at   INTEGER,
  updated_at          INTEGER NOT NULL,
  updated_by          TEXT NOT NULL
) WITHOUT ROWID;

-- What the gate said when it was last asked by whoever stored requests: readers need not count again.
CREATE TABLE graph_rollout_verdict (
  org_id       TEXT PRIMARY KEY,
  judged_at    INTEGER NOT NULL,
  window_hours REAL NOT NULL,
  status       TEXT NOT NULL,
  is_blocked   INTEGER NOT NULL,
  reason_codes TEXT NOT NULL -- JSON
) WITHOUT ROWID;

-- One row per counted request, kept for a week; in the order of time, as windows read them.
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

-- Orgs, members, routing ------------------------------------------------------------------------------------------

-- What people call an org. One without a row has memories but neither members nor a slug that leads to it.
CREATE TABLE orgs (
  org_id     TEXT PRIMARY KEY,
  slug       TEXT NOT NULL UNIQUE,
  name       TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  created_by TEXT NOT NULL
) WITHOUT ROWID;

-- user_id '' is the owner of this machine's `local`, who needs no name.
CREATE TABLE org_members (
  org_id  TEXT NOT NULL REFERENCES orgs (org_id) ON DELETE CASCADE,
  user_id TEXT NOT NULL,
  role    TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'reviewer')),
  PRIMARY KEY (org_id, user_id)
) WITHOUT ROWID;
CREATE INDEX org_members_user ON org_members (user_id);

-- The next two are read before the org is known: they belong to a user, and no org's rows are in them. Neither gives a
-- right: an org that they name counts only while the user is a member of it.
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
