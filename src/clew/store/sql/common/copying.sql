-- copy_state_begin: the copy begins; no row when another one did
INSERT INTO meta (key, value) VALUES (:key, :now) ON CONFLICT (key) DO NOTHING RETURNING key

-- copy_state_move: go on from a state; no row when another copy did
UPDATE meta SET value = :now WHERE key = :key AND value = :was RETURNING key

-- copy_state_end: the copy is complete
DELETE FROM meta WHERE key = :key
