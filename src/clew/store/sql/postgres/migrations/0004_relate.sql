-- What happens after a write: jobs, relations that models and rules find, conflicts, merges; and the rollout of graph
-- recall with what was measured of it. Every key starts with org_id; lists are JSON.

-- Jobs ------------------------------------------------------------------------------------------------------------

-- At most one job of a kind for a memory: asked for again, it gets another generation. What is done is no longer here:
-- job_runs tells of it. due_at: when it may be claimed; of a leased one, when its lease ends.
CREATE TABLE jobs (
  org_id     text COLLATE "C" NOT NULL,
  kind       text COLLATE "C" NOT NULL,
  subject    text COLLATE "C" NOT NULL, -- the memory's id; the job's own id follows from it
  operation  text COLLATE "C" NOT NULL, -- add | edit | neighbour | backfill | retry: why it was asked for
  state      text COLLATE "C" NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'leased', 'dead')),
  generation bigint NOT NULL DEFAULT 1,
  claimed    bigint NOT NULL DEFAULT 0, -- the generation that is being worked on
  attempts   bigint NOT NULL DEFAULT 0,
  due_at     timestamptz NOT NULL,
  code       text COLLATE "C" NOT NULL DEFAULT '', -- of the last failure, and what it said; never the text of a memory
  message    text COLLATE "C" NOT NULL DEFAULT '',
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (org_id, kind, subject)
);
CREATE INDEX jobs_due ON jobs (due_at) WHERE state <> 'dead';

-- One row per attempt, for a week.
CREATE TABLE job_runs (
  org_id    text COLLATE "C" NOT NULL,
  id        text COLLATE "C" NOT NULL,
  kind      text COLLATE "C" NOT NULL,
  subject   text COLLATE "C" NOT NULL,
  operation text COLLATE "C" NOT NULL,
  attempt   bigint NOT NULL,
  outcome   text COLLATE "C" NOT NULL CHECK (outcome IN ('success', 'retry', 'dead_letter', 'skipped')),
  code      text COLLATE "C" NOT NULL DEFAULT '',
  message   text COLLATE "C" NOT NULL DEFAULT '',
  ms        double precision NOT NULL,
  at        timestamptz NOT NULL,
  PRIMARY KEY (org_id, id)
);
CREATE INDEX job_runs_at ON job_runs (org_id, at);
CREATE INDEX job_runs_subject ON job_runs (org_id, subject, at);

-- Vectors made up for after a switch of model; one row per space, for the whole store.
CREATE TABLE memory_embedding_backfill_state (
  space        text COLLATE "C" PRIMARY KEY,
  status       text COLLATE "C" NOT NULL CHECK (status IN ('idle', 'running', 'paused', 'completed')),
  done         bigint NOT NULL DEFAULT 0,
  total        bigint NOT NULL DEFAULT 0,
  seconds      double precision NOT NULL DEFAULT 0, -- that the done ones took: the remaining time follows from it
  started_at   timestamptz,
  last_run_at  timestamptz,
  completed_at timestamptz,
  last_error   text COLLATE "C" NOT NULL DEFAULT ''
);

-- What language models were asked and what it cost, by day.
CREATE TABLE llm_usage (
  org_id        text COLLATE "C" NOT NULL,
  day           text COLLATE "C" NOT NULL, -- YYYY-MM-DD, UTC
  model         text COLLATE "C" NOT NULL,
  task          text COLLATE "C" NOT NULL,
  calls         bigint NOT NULL DEFAULT 0,
  failures      bigint NOT NULL DEFAULT 0,
  withheld      bigint NOT NULL DEFAULT 0, -- texts that were too secret to be sent
  input_tokens  bigint NOT NULL DEFAULT 0,
  output_tokens bigint NOT NULL DEFAULT 0,
  cost_micros   bigint NOT NULL DEFAULT 0, -- millionths of the currency the prices are in
  last_failure  text COLLATE "C" NOT NULL DEFAULT '', -- its code and what it means; never the server's words
  PRIMARY KEY (org_id, day, model, task)
);
CREATE TABLE llm_rate (
  org_id text COLLATE "C" NOT NULL,
  minute bigint NOT NULL,
  calls  bigint NOT NULL,
  PRIMARY KEY (org_id, minute)
);

-- Conflicts and merges --------------------------------------------------------------------------------------------

-- Two memories that cannot both be current. `a` is the one that came first. It stands as long as both hold, have the
-- texts it was found in (their hashes), and an edge still says so: nothing has to close it. `keep` holds for these
-- texts, too.
CREATE TABLE conflicts (
  org_id      text COLLATE "C" NOT NULL,
  id          text COLLATE "C" NOT NULL,
  a_row       bigint NOT NULL,
  b_row       bigint NOT NULL,
  kind        text COLLATE "C" NOT NULL CHECK (kind IN ('contradicts', 'supersedes')),
  origin      text COLLATE "C" NOT NULL, -- rule | llm | user
  rule        text COLLATE "C" NOT NULL DEFAULT '', -- which rule found it
  confidence  double precision NOT NULL,
  sentence    text COLLATE "C" NOT NULL DEFAULT '',
  explanation text COLLATE "C" NOT NULL DEFAULT '',
  a_hash      text COLLATE "C" NOT NULL,
  b_hash      text COLLATE "C" NOT NULL,
  created_at  timestamptz NOT NULL,
  keep        text COLLATE "C" NOT NULL DEFAULT '' CHECK (keep IN ('', 'a', 'b', 'both', 'neither')), -- how it was resolved
  resolved_at timestamptz,
  resolved_by text COLLATE "C" NOT NULL DEFAULT '',
  PRIMARY KEY (org_id, id)
);
CREATE UNIQUE INDEX conflicts_pair ON conflicts (org_id, least(a_row, b_row), greatest(a_row, b_row));
CREATE INDEX conflicts_a ON conflicts (org_id, a_row);
CREATE INDEX conflicts_b ON conflicts (org_id, b_row);
-- What contradicts what is asked in every recall, and mostly nothing does.
CREATE INDEX graph_edges_contradicts ON graph_edges (org_id, from_row, to_row) WHERE edge_type = 'contradicts';
-- Sentence and explanation may quote either memory.
CREATE FUNCTION conflicts_erased() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  DELETE FROM conflicts WHERE org_id = old.org_id AND a_row = old.row;
  DELETE FROM conflicts WHERE org_id = old.org_id AND b_row = old.row;
  RETURN NULL;
END $$;
CREATE TRIGGER conflicts_erased AFTER DELETE ON memories FOR EACH ROW EXECUTE FUNCTION conflicts_erased();

-- Which memories were merged into which, and how to undo it: the versions before.
CREATE TABLE merges (
  org_id    text COLLATE "C" NOT NULL,
  id        text COLLATE "C" NOT NULL,
  winner    text COLLATE "C" NOT NULL,
  before    bigint NOT NULL, -- version of the winner
  after     bigint NOT NULL,
  losers    text COLLATE "C" NOT NULL, -- JSON: [[id, version before], ...]
  made_by   text COLLATE "C" NOT NULL,
  at        timestamptz NOT NULL,
  undone_at timestamptz,
  undone_by text COLLATE "C" NOT NULL DEFAULT '',
  PRIMARY KEY (org_id, id)
);

-- Rollout ---------------------------------------------------------------------------------------------------------

-- An org without a row is in canary.
CREATE TABLE graph_rollout_config (
  org_id     text COLLATE "C" PRIMARY KEY,
  mode       text COLLATE "C" NOT NULL CHECK (mode IN ('off', 'shadow', 'canary')),
  updated_at timestamptz NOT NULL,
  updated_by text COLLATE "C" NOT NULL
);

-- What a request without a strategy gets. Judged once per window.
CREATE TABLE graph_retrieval_policy (
  org_id              text COLLATE "C" PRIMARY KEY,
  default_strategy    text COLLATE "C" NOT NULL CHECK (default_strategy IN ('baseline', 'hybrid_graph')),
  ready_window_streak bigint NOT NULL DEFAULT 0,
  last_decision       text COLLATE "C" NOT NULL DEFAULT '',
  last_evaluated_at   timestamptz,
  updated_at          timestamptz NOT NULL,
  updated_by          text COLLATE "C" NOT NULL
);

-- What the gate said when it was last asked by whoever stored requests: readers need not count again.
CREATE TABLE graph_rollout_verdict (
  org_id       text COLLATE "C" PRIMARY KEY,
  judged_at    timestamptz NOT NULL,
  window_hours double precision NOT NULL,
  status       text COLLATE "C" NOT NULL,
  is_blocked   smallint NOT NULL,
  reason_codes text COLLATE "C" NOT NULL -- JSON
);

-- One row per counted request, kept for a week; in the order of time, as windows read them.
CREATE TABLE graph_rollout_metrics (
  org_id               text COLLATE "C" NOT NULL,
  created_at           timestamptz NOT NULL,
  id                   text COLLATE "C" NOT NULL,
  path                 text COLLATE "C" NOT NULL CHECK (path IN ('expand', 'activate')),
  mode                 text COLLATE "C" NOT NULL,
  requested_strategy   text COLLATE "C" NOT NULL,
  applied_strategy     text COLLATE "C" NOT NULL,
  eligible             smallint NOT NULL, -- applied, or would have been but for the gate and what follows from it
  shadow_executed      smallint NOT NULL,
  baseline_candidates  bigint NOT NULL,
  graph_candidates     bigint NOT NULL,
  graph_expanded_count bigint NOT NULL, -- what was added to the answer
  would_expand_count   bigint NOT NULL, -- what was added, or would have been but for the gate
  total_candidates     bigint NOT NULL,
  could_expand         smallint NOT NULL, -- the scope held more than the baseline answered
  fallback_triggered   smallint NOT NULL,
  fallback_reason      text COLLATE "C" NOT NULL DEFAULT '',
  graph_error          text COLLATE "C" NOT NULL DEFAULT '', -- its code, also when only the shadow ran
  project_id           text COLLATE "C" NOT NULL DEFAULT '',
  user_id              text COLLATE "C" NOT NULL DEFAULT '',
  semantic_model       text COLLATE "C" NOT NULL DEFAULT '',
  duration_ms          double precision NOT NULL,
  PRIMARY KEY (org_id, created_at, id)
);

-- Orgs, members, routing ------------------------------------------------------------------------------------------

-- What people call an org. One without a row has memories but neither members nor a slug that leads to it.
CREATE TABLE orgs (
  org_id     text COLLATE "C" PRIMARY KEY,
  slug       text COLLATE "C" NOT NULL UNIQUE,
  name       text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  created_by text COLLATE "C" NOT NULL
);

-- user_id '' is the owner of this machine's `local`, who needs no name.
CREATE TABLE org_members (
  org_id  text COLLATE "C" NOT NULL REFERENCES orgs (org_id) ON DELETE CASCADE,
  user_id text COLLATE "C" NOT NULL,
  role    text COLLATE "C" NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'reviewer')),
  PRIMARY KEY (org_id, user_id)
);
CREATE INDEX org_members_user ON org_members (user_id);

-- The next two are read before the org is known: they belong to a user, and no org's rows are in them. Neither gives a
-- right: an org that they name counts only while the user is a member of it.
CREATE TABLE org_owner_mappings (
  user_id    text COLLATE "C" NOT NULL,
  owner      text COLLATE "C" NOT NULL, -- of repositories, in lower case
  mapped_org text COLLATE "C" NOT NULL,
  PRIMARY KEY (user_id, owner)
);
CREATE TABLE org_routing (
  user_id    text COLLATE "C" PRIMARY KEY,
  mode       text COLLATE "C" NOT NULL CHECK (mode IN ('auto', 'active_workspace')),
  active_org text COLLATE "C" NOT NULL DEFAULT '' -- '' is the personal one
);
