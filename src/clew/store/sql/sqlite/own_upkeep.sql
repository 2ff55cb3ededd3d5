-- broken_references: rows that refer to what is not there
SELECT "table", rowid FROM pragma_foreign_key_check
