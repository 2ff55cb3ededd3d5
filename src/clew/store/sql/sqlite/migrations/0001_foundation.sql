-- Memories, their history, their two indices, the change log, leases and the audit log.
-- Every key starts with org_id; '' stands for absent, since NULLs defeat unique keys.
-- `row` is the dense integer the full-text index and the read model use; it never leaves the process.

CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
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
CREATE INDEX memories_scope ON memories (org_id, project_id, user_id, created_at);
CREATE UNIQUE INDEX memories_live_content ON memories (org_id, project_id, user_id, type, content_hash)
  WHERE deleted_at IS NULL AND superseded_by = '' AND invalid_at IS NULL;
CREATE UNIQUE INDEX memories_live_upsert ON memories (org_id, project_id, user_id, type, upsert_key)
  WHERE upsert_key <> '' AND deleted_at IS NULL AND superseded_by = '' AND invalid_at IS NULL;
CREATE INDEX memories_working ON memories (org_id, user_id, expires_at) WHERE layer = 'working' AND deleted_at IS NULL;

-- Earlier states of a memory; the present one is the row above.
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

-- One vector per memory, little-endian float16 of unit length, in the space that its column names:
-- switching the embedder replaces vectors one by one, and a search never compares two spaces.
CREATE TABLE memory_embeddings (
  memory_row INTEGER PRIMARY KEY REFERENCES memories (row) ON DELETE CASCADE,
  org_id     TEXT NOT NULL,
  space      TEXT NOT NULL,
  vector     BLOB NOT NULL
);

-- The analysed text: sorted term hashes and their counts, enough for BM25 and to undo the index entry.
CREATE TABLE memory_terms (
  memory_row INTEGER PRIMARY KEY REFERENCES memories (row) ON DELETE CASCADE,
  org_id     TEXT NOT NULL,
  length     INTEGER NOT NULL,
  terms      BLOB NOT NULL,
  scope_term TEXT NOT NULL
);

-- Candidates only: scores are computed by Clew over the scope's own statistics.
CREATE VIRTUAL TABLE memory_fts USING fts5(
  terms, content = '', detail = none, columnsize = 0, tokenize = ascii
);
-- Without this a deleted word stays in the index until it is merged.
INSERT INTO memory_fts (memory_fts, rank) VALUES ('secure-delete', 1);

CREATE TABLE change (
  org_id     TEXT NOT NULL,
  seq        INTEGER NOT NULL,
  project_id TEXT NOT NULL,
  kind       TEXT NOT NULL,
  row_id     TEXT NOT NULL,
  op         TEXT NOT NULL CHECK (op IN ('put', 'drop')),
  PRIMARY KEY (org_id, seq)
) WITHOUT ROWID;

CREATE TABLE counters (
  org_id TEXT NOT NULL,
  name   TEXT NOT NULL,
  value  INTEGER NOT NULL,
  PRIMARY KEY (org_id, name)
) WITHOUT ROWID;

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

-- Who did what to which memory. Ids and hashes, never text.
CREATE TABLE audit (
  org_id       TEXT NOT NULL,
  seq          INTEGER NOT NULL,
  at           INTEGER NOT NULL,
  actor        TEXT NOT NULL,
  action       TEXT NOT NULL,
  memory_id    TEXT NOT NULL,
  content_hash TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (org_id, seq)
) WITHOUT ROWID;
