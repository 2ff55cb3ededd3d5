-- Written by `python -m clew.store.schema`; do not edit. What a store looks like after every migration.

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

CREATE UNIQUE INDEX memories_live_content ON memories (org_id, project_id, user_id, type, content_hash)
  WHERE deleted_at IS NULL AND superseded_by = '' AND invalid_at IS NULL;

CREATE UNIQUE INDEX memories_live_upsert ON memories (org_id, project_id, user_id, type, upsert_key)
  WHERE upsert_key <> '' AND deleted_at IS NULL AND superseded_by = '' AND invalid_at IS NULL;

CREATE INDEX memories_replaced ON memories (org_id, superseded_by) WHERE superseded_by <> '';

CREATE INDEX memories_scope ON memories (org_id, project_id, user_id, created_at);

CREATE INDEX memories_seen ON memories (row, org_id, project_id, user_id, deleted_at, expires_at, valid_at, invalid_at,
  layer, type, id);

CREATE INDEX memories_session ON memories (org_id, project_id, session_id, at)
  WHERE session_id <> '' AND deleted_at IS NULL;

CREATE INDEX memories_thread ON memories (org_id, project_id, thread, at) WHERE thread <> '' AND deleted_at IS NULL;

CREATE INDEX memories_working ON memories (org_id, user_id, expires_at) WHERE layer = 'working' AND deleted_at IS NULL;

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

CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;
