-- rows_next: so many rows of a table that nobody else gets
SELECT nextval(pg_get_serial_sequence(:table, 'row')) FROM generate_series(1, :count) ORDER BY 1

-- schema_number: the last migration that was run
SELECT max(number) FROM clew_migrations
