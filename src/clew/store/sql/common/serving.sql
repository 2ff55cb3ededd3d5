-- serving_has_keys: whether anybody has a key that is valid now
SELECT EXISTS (
  SELECT 1 FROM api_keys WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > :now)
)

-- serving_jobs: jobs of all orgs by state
SELECT state, count(*) FROM jobs GROUP BY state

-- serving_pending: injects of all orgs that wait
SELECT count(*), min(enqueued_at) FROM session_memory_injects WHERE state = 'pending'

-- serving_delivered: injects of all orgs that are in flight
SELECT count(*), min(enqueued_at) FROM session_memory_injects WHERE state = 'delivered'

-- serving_dead: injects of all orgs that were given up
SELECT count(*) FROM session_memory_injects WHERE state = 'dead'

-- serving_host_events: hook events of all orgs from which nothing was captured yet
SELECT count(*), min(at) FROM host_events WHERE state = 'new'
