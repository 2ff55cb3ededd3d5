-- What policies kept out of a block, for those who may know: without it nobody is told why a rule never arrives.
ALTER TABLE context_injection_logs ADD COLUMN denied_ids text COLLATE "C" NOT NULL DEFAULT '[]';
