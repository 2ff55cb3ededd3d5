-- What surfaces keep: keys of the API, answers to repeated requests, and what the hooks of agents told. Every key starts
-- with org_id, save where a credential has to be found before its org is known. Lists are JSON; times are microseconds.

-- Keys ------------------------------------------------------------------------------------------------------------

-- The secret itself is nowhere: its hash finds the row. roles is a JSON list.
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

-- The answer to a request that named an idempotency key, kept for a day. status 0: still under way.
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
CREATE INDEX idempotency_keys_at ON idempotency_keys (created_at);

-- Hosts -----------------------------------------------------------------------------------------------------------

-- The session of an agent's host (agent_id: of a subagent in it) and the session of ours that serves it now. compact and
-- clear open another of ours, so one host session may have had several: host_session_past tells.
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
CREATE INDEX host_sessions_open ON host_sessions (updated_at) WHERE ended_at IS NULL;
CREATE INDEX host_sessions_over ON host_sessions (ended_at) WHERE ended_at IS NOT NULL;
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

-- One row per hook event, before it is answered: what came twice is done once. facts: what the event says that may be worth
-- keeping, reduced and masked, as JSON; '' when that was nothing. What was captured keeps its facts while later events of
-- the same session may complete them.
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
CREATE INDEX host_events_session ON host_events (org_id, host, host_session, at);
CREATE INDEX host_events_new ON host_events (at) WHERE state = 'new';
CREATE INDEX host_events_done ON host_events (at) WHERE state = 'done';
CREATE INDEX host_events_facts ON host_events (at) WHERE state = 'done' AND facts <> '';

-- Every tool call of an agent leaves a row in the log of blocks: for what goes from it after a time.
CREATE INDEX context_injection_logs_age ON context_injection_logs (created_at);
CREATE INDEX context_injection_logs_quiet ON context_injection_logs (created_at)
  WHERE phase = 'in_session' AND outcome = 'no-match';

-- When each hook last fired, for the doctor.
CREATE TABLE host_hooks (
  org_id     TEXT NOT NULL,
  host       TEXT NOT NULL,
  event      TEXT NOT NULL,
  count      INTEGER NOT NULL DEFAULT 0,
  first_at   INTEGER NOT NULL,
  last_at    INTEGER NOT NULL,
  PRIMARY KEY (org_id, host, event)
) WITHOUT ROWID;
