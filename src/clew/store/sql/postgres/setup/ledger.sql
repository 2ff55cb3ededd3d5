-- What is known of the schema itself, before any migration.

CREATE TABLE IF NOT EXISTS clew_migrations (
  number integer PRIMARY KEY,
  slug   text COLLATE "C" NOT NULL,
  at     timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- One row while everything of this folder is in place: what it was made from.
CREATE TABLE IF NOT EXISTS clew_setup (
  hash text COLLATE "C" NOT NULL
);

-- The last write of each connection that was committed. Updated in place, which takes free space on the page.
CREATE TABLE IF NOT EXISTS clew_writes (
  writer bigint PRIMARY KEY,
  number bigint NOT NULL,
  at     timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);
