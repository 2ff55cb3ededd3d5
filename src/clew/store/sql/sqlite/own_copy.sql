-- copy_tables: every table, without those that a virtual one is made of
SELECT name FROM pragma_table_list WHERE schema = 'main' AND type <> 'shadow' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'

-- copy_columns: of a table, with their place in its primary key
SELECT name, pk FROM pragma_table_xinfo(:table) WHERE hidden = 0

-- copy_sequences: the last row that each table gave out
SELECT name, seq FROM sqlite_sequence

-- copy_sequence_set: never give out what was given out
UPDATE sqlite_sequence SET seq = max(seq, :last) WHERE name = :table RETURNING seq

-- copy_sequence_add: the same for a table that has given out nothing yet
INSERT INTO sqlite_sequence (name, seq) VALUES (:table, :last)

-- copy_tokens_add: the next token of an org's leases is above those that were given out without its counter
INSERT INTO counters (org_id, name, value) VALUES (:org_id, 'lease', :tokens)
ON CONFLICT (org_id, name) DO UPDATE SET value = counters.value + excluded.value

-- copy_document: index the terms of a memory
INSERT INTO memory_fts (rowid, terms) VALUES (:row, :terms)

-- copy_documents_clear: empty the index
INSERT INTO memory_fts (memory_fts) VALUES ('delete-all')
