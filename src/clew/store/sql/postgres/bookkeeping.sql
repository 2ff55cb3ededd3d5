-- clock: the database's clock
SELECT clock_timestamp()

-- lease_token_next: a number above all that were given to holders of leases of the org before; nobody waits for it.
-- The counter is what an org brought along that was copied from a store which counts there
SELECT nextval('lease_tokens')
  + coalesce((SELECT value FROM counters WHERE org_id = :org_id AND name = 'lease'), 0)
