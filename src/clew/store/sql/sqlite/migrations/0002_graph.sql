-- The graph: nodes, edges with their witnesses, and what hangs each memory on its nodes.
-- Nodes and edges refer to each other by dense rows, as the indices of memories do: an id of 16 bytes in every
-- edge, link and index would double the store. Rows never leave the process and are never given out twice.
-- No foreign keys here: SQLite would need an index that begins with the row for each of them, at the price of one
-- more insert per link and witness. store/graph.py deletes in one place, and the doctor looks for what dangles.

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

-- One row per witness: a memory that states the edge, and where it does.
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

CREATE TABLE memory_node_links (
  org_id     TEXT NOT NULL,
  memory_row INTEGER NOT NULL,
  node_row   INTEGER NOT NULL,
  role       TEXT NOT NULL CHECK (role IN ('self', 'type', 'scope', 'subject', 'category', 'tag', 'mention')),
  PRIMARY KEY (org_id, memory_row, node_row, role)
) WITHOUT ROWID;
CREATE INDEX memory_node_links_node ON memory_node_links (org_id, node_row);

-- What a memory names and what it is about, as hashes: who names whose title, in whatever order they come.
CREATE TABLE memory_names (
  org_id     TEXT NOT NULL,
  name       INTEGER NOT NULL,
  is_subject INTEGER NOT NULL,
  memory_row INTEGER NOT NULL,
  PRIMARY KEY (org_id, name, is_subject, memory_row)
) WITHOUT ROWID;
CREATE INDEX memory_names_memory ON memory_names (org_id, memory_row);

-- Memories whose part of the graph is still to be made: it failed, it was switched off, or there was no graph.
CREATE TABLE graph_pending (
  org_id     TEXT NOT NULL,
  memory_row INTEGER NOT NULL,
  reason     TEXT NOT NULL,
  attempts   INTEGER NOT NULL DEFAULT 0,
  at         INTEGER NOT NULL,
  PRIMARY KEY (org_id, memory_row)
) WITHOUT ROWID;
INSERT INTO graph_pending (org_id, memory_row, reason, at)
SELECT org_id, row, 'NOT_YET_MAPPED', updated_at FROM memories WHERE deleted_at IS NULL;

CREATE INDEX memories_thread ON memories (org_id, project_id, thread, at) WHERE thread <> '' AND deleted_at IS NULL;
CREATE INDEX memories_replaced ON memories (org_id, superseded_by) WHERE superseded_by <> '';
CREATE INDEX memories_session ON memories (org_id, project_id, session_id, at)
  WHERE session_id <> '' AND deleted_at IS NULL;
-- Who may see a memory, without its row: where a text is long, what stands behind it lies on other pages, and a walk
-- asks about hundreds of memories. Measured on messages of some kB: 850 against 60 microseconds for twelve edges.
-- The row stands first: SQLite uses it in no other place of an index.
CREATE INDEX memories_seen ON memories (row, org_id, project_id, user_id, deleted_at, expires_at, valid_at, invalid_at,
  layer, type, id);
