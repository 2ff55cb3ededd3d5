-- Passes over the store go org by org: what they look for is found by org first.

DROP INDEX jobs_due;
CREATE INDEX jobs_due ON jobs (org_id, due_at, kind, subject) WHERE state <> 'dead';

DROP INDEX idempotency_keys_at;
CREATE INDEX idempotency_keys_at ON idempotency_keys (org_id, created_at);

DROP INDEX host_sessions_open;
CREATE INDEX host_sessions_open ON host_sessions (org_id, updated_at) WHERE ended_at IS NULL;

DROP INDEX host_sessions_over;
CREATE INDEX host_sessions_over ON host_sessions (org_id, ended_at) WHERE ended_at IS NOT NULL;

DROP INDEX host_events_new;
CREATE INDEX host_events_new ON host_events (org_id, at) WHERE state = 'new';

DROP INDEX host_events_done;
CREATE INDEX host_events_done ON host_events (org_id, at) WHERE state = 'done';

DROP INDEX host_events_facts;
CREATE INDEX host_events_facts ON host_events (org_id, at) WHERE state = 'done' AND facts <> '';

DROP INDEX context_injection_logs_age; -- context_injection_logs_time does as well
DROP INDEX context_injection_logs_quiet;
CREATE INDEX context_injection_logs_quiet ON context_injection_logs (org_id, created_at)
  WHERE phase = 'in_session' AND outcome = 'no-match';
