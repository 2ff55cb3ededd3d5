-- What surfaces keep: keys of the API, answers to repeated requests, and what the hooks of agents told. Every key starts
-- with org_id, save where a credential has to be found before its org is known. Lists are JSON.

-- Keys ------------------------------------------------------------------------------------------------------------

-- The secret itself is nowhere: its hash finds the row. roles is a JSON list.
CREATE TABLE api_keys (
  org_id       text COLLATE "C" NOT NULL,
  id           text COLLATE "C" NOT NULL, -- key_...
  hash         bytea NOT NULL, -- sha-256 of the whole token, which is random
  name         text COLLATE "C" NOT NULL,
  user_id      text COLLATE "C" NOT NULL DEFAULT '',
  agent        text COLLATE "C" NOT NULL DEFAULT '',
  roles        text COLLATE "C" NOT NULL,
  created_at   timestamptz NOT NULL,
  created_by   text COLLATE "C" NOT NULL,
  expires_at   timestamptz,
  revoked_at   timestamptz,
  last_used_at timestamptz,
  PRIMARY KEY (org_id, id)
);
CREATE UNIQUE INDEX api_keys_hash ON api_keys (hash, org_id); -- the org last: what distributes by org has it in every key

-- The answer to a request that named an idempotency key, kept for a day. status 0: still under way.
CREATE TABLE idempotency_keys (
  org_id     text COLLATE "C" NOT NULL,
  principal  text COLLATE "C" NOT NULL, -- who asked: two callers never share a key
  key        text COLLATE "C" NOT NULL,
  request    bytea NOT NULL, -- sha-256 of method, path and body
  status     bigint NOT NULL DEFAULT 0,
  headers    text COLLATE "C" NOT NULL DEFAULT '{}',
  answer     bytea NOT NULL DEFAULT '',
  created_at timestamptz NOT NULL,
  PRIMARY KEY (org_id, principal, key)
);
CREATE INDEX idempotency_keys_at ON idempotency_keys (created_at);

-- Hosts -----------------------------------------------------------------------------------------------------------

-- The session of an agent's host (agent_id: of a subagent in it) and the session of ours that serves it now. compact and
-- clear open another of ours, so one host session may have had several: host_session_past tells.
CREATE TABLE host_sessions (
  org_id        text COLLATE "C" NOT NULL,
  host          text COLLATE "C" NOT NULL,
  host_session  text COLLATE "C" NOT NULL,
  agent_id      text COLLATE "C" NOT NULL DEFAULT '',
  session_id    text COLLATE "C" NOT NULL, -- ours
  token         bigint NOT NULL DEFAULT 0, -- of the lock on it
  source        text COLLATE "C" NOT NULL DEFAULT '', -- startup | resume | clear | compact | fork
  project_id    text COLLATE "C" NOT NULL DEFAULT '',
  user_id       text COLLATE "C" NOT NULL DEFAULT '',
  branch        text COLLATE "C" NOT NULL DEFAULT '',
  printed       text COLLATE "C" NOT NULL DEFAULT '', -- the delivery that the last answer carried and no later event confirmed
  printed_event text COLLATE "C" NOT NULL DEFAULT '', -- the event whose answer that was
  printed_kind  text COLLATE "C" NOT NULL DEFAULT '',
  printed_at    timestamptz, -- when that answer was sent; NULL: not known to have been
  created_at    timestamptz NOT NULL,
  updated_at    timestamptz NOT NULL,
  ended_at      timestamptz,
  PRIMARY KEY (org_id, host, host_session, agent_id)
);
CREATE INDEX host_sessions_open ON host_sessions (updated_at) WHERE ended_at IS NULL;
CREATE INDEX host_sessions_over ON host_sessions (ended_at) WHERE ended_at IS NOT NULL;
CREATE TABLE host_session_past (
  org_id       text COLLATE "C" NOT NULL,
  host         text COLLATE "C" NOT NULL,
  host_session text COLLATE "C" NOT NULL,
  agent_id     text COLLATE "C" NOT NULL DEFAULT '',
  session_id   text COLLATE "C" NOT NULL,
  source       text COLLATE "C" NOT NULL DEFAULT '',
  opened_at    timestamptz NOT NULL,
  PRIMARY KEY (org_id, host, host_session, agent_id, session_id)
);

-- One row per hook event, before it is answered: what came twice is done once. facts: what the event says that may be worth
-- keeping, reduced and masked, as JSON; '' when that was nothing. What was captured keeps its facts while later events of
-- the same session may complete them.
CREATE TABLE host_events (
  org_id       text COLLATE "C" NOT NULL,
  event_id     text COLLATE "C" NOT NULL,
  host         text COLLATE "C" NOT NULL,
  host_session text COLLATE "C" NOT NULL,
  agent_id     text COLLATE "C" NOT NULL DEFAULT '',
  event        text COLLATE "C" NOT NULL, -- as the host names it
  kind         text COLLATE "C" NOT NULL, -- what it is to us
  fingerprint  text COLLATE "C" NOT NULL DEFAULT '', -- of what was told: a hook that is installed twice tells it under two ids
  session_id   text COLLATE "C" NOT NULL DEFAULT '', -- ours
  project_id   text COLLATE "C" NOT NULL DEFAULT '',
  user_id      text COLLATE "C" NOT NULL DEFAULT '',
  teller       text COLLATE "C" NOT NULL DEFAULT '', -- the agent of the credential that told it; '' when that is a user's
  roles        text COLLATE "C" NOT NULL DEFAULT '', -- of that credential
  facts        text COLLATE "C" NOT NULL DEFAULT '',
  ends         text COLLATE "C" NOT NULL DEFAULT '', -- sessions of ours that it ended
  state        text COLLATE "C" NOT NULL DEFAULT 'new' CHECK (state IN ('new', 'done')),
  unprinted    smallint NOT NULL DEFAULT 0, -- its answer was never printed
  at           timestamptz NOT NULL,
  PRIMARY KEY (org_id, event_id)
);
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
  org_id     text COLLATE "C" NOT NULL,
  host       text COLLATE "C" NOT NULL,
  event      text COLLATE "C" NOT NULL,
  count      bigint NOT NULL DEFAULT 0,
  first_at   timestamptz NOT NULL,
  last_at    timestamptz NOT NULL,
  PRIMARY KEY (org_id, host, event)
);
