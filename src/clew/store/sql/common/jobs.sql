-- job_columns: what a job is read as
org_id, kind, subject, operation, state, generation, attempts, due_at, code, message, created_at, updated_at

-- job_put: ask for a job; one that is there gets another generation, a dead one comes back. An edit stays one until it
-- is done, and what asks for less does not take away from what was asked for
INSERT INTO jobs (org_id, kind, subject, operation, due_at, created_at, updated_at)
VALUES (:org_id, :kind, :subject, :operation, :now, :now, :now)
ON CONFLICT (org_id, kind, subject) DO UPDATE SET
  generation = jobs.generation + 1,
  operation = CASE WHEN jobs.operation = 'edit' OR excluded.operation = 'backfill' THEN jobs.operation
    ELSE excluded.operation END,
  attempts = CASE WHEN jobs.state = 'dead' OR excluded.operation = 'edit' THEN 0 ELSE jobs.attempts END,
  created_at = CASE jobs.state WHEN 'dead' THEN excluded.created_at ELSE jobs.created_at END,
  due_at = CASE jobs.state WHEN 'dead' THEN excluded.due_at ELSE jobs.due_at END,
  state = CASE jobs.state WHEN 'dead' THEN 'queued' ELSE jobs.state END,
  updated_at = excluded.updated_at

-- jobs_due: what may be claimed of an org, the longest due first
SELECT $job_columns FROM jobs
WHERE org_id = :org_id AND state <> 'dead' AND due_at <= :now ORDER BY due_at, kind, subject LIMIT :limit

-- jobs_first: when the first job of each org may be claimed; hops from org to org instead of reading every job (a
-- fragment)
WITH RECURSIVE found (org) AS (
  SELECT min(org_id) FROM jobs WHERE state <> 'dead'
  UNION ALL
  SELECT (SELECT min(org_id) FROM jobs WHERE state <> 'dead' AND org_id > found.org) FROM found
  WHERE found.org IS NOT NULL),
firsts (org, due_at) AS (
  SELECT org, (SELECT min(due_at) FROM jobs WHERE org_id = found.org AND state <> 'dead') FROM found
  WHERE org IS NOT NULL)

-- jobs_due_orgs: orgs that have jobs which may be claimed, the longest due first
$jobs_first SELECT org FROM firsts WHERE due_at <= :now ORDER BY due_at, org LIMIT :limit

-- jobs_next: when the next job may be claimed
$jobs_first SELECT min(due_at) FROM firsts

-- jobs_waiting: how many jobs of all orgs are still to be done
SELECT count(*) FROM jobs WHERE state <> 'dead'

-- job_claim: somebody works on the present generation until then
UPDATE jobs SET state = 'leased', claimed = generation, attempts = attempts + 1, due_at = :until, updated_at = :now
WHERE org_id = :org_id AND kind = :kind AND subject = :subject

-- job_renew: it takes longer
UPDATE jobs SET due_at = :until WHERE org_id = :org_id AND kind = :kind AND subject = :subject

-- job_is_asked_again: whether a job was asked for again since its generation was claimed
SELECT generation <> :generation FROM jobs WHERE org_id = :org_id AND kind = :kind AND subject = :subject

-- job_drop: it is done
DELETE FROM jobs WHERE org_id = :org_id AND kind = :kind AND subject = :subject

-- job_requeue: it waits, until then and for a reason
UPDATE jobs SET state = 'queued', attempts = :attempts, due_at = :due_at, code = :code, message = :message,
  updated_at = :now
WHERE org_id = :org_id AND kind = :kind AND subject = :subject

-- job_bury: it is tried no more
UPDATE jobs SET state = 'dead', code = :code, message = :message, updated_at = :now
WHERE org_id = :org_id AND kind = :kind AND subject = :subject

-- job_retry: a dead job of an org is to be tried again
UPDATE jobs SET state = 'queued', attempts = 0, due_at = :now, created_at = :now, updated_at = :now,
  operation = CASE operation WHEN 'edit' THEN 'edit' ELSE 'retry' END
WHERE org_id = :org_id AND kind = :kind AND subject = :subject AND state = 'dead'

-- job_of: the job of a kind for a memory
SELECT $job_columns FROM jobs WHERE org_id = :org_id AND kind = :kind AND subject = :subject

-- jobs_from: jobs for memories whose ids begin like this, two at most
SELECT $job_columns FROM jobs
WHERE org_id = :org_id AND kind = :kind AND subject >= :prefix AND subject < :prefix || '~' ORDER BY subject LIMIT 2

-- jobs_page: jobs of an org in the order of their memories
SELECT $job_columns FROM jobs
WHERE org_id = :org_id AND kind = :kind AND subject > :after ORDER BY subject LIMIT :limit

-- jobs_page_of_state: those in one state
SELECT $job_columns FROM jobs
WHERE org_id = :org_id AND kind = :kind AND subject > :after AND state = :state ORDER BY subject LIMIT :limit

-- job_orgs: orgs that have jobs
SELECT DISTINCT org_id FROM jobs

-- jobs_by_state: how many jobs of an org are in which state, and since when the oldest
SELECT state, count(*), min(created_at) FROM jobs WHERE org_id = :org_id GROUP BY state

-- job_run_put: how an attempt ended
INSERT INTO job_runs (org_id, id, kind, subject, operation, attempt, outcome, code, message, ms, at)
VALUES (:org_id, :id, :kind, :subject, :operation, :attempt, :outcome, :code, :message, :ms, :now)

-- job_runs_of: attempts on a memory, newest first
SELECT org_id, id, kind, subject, operation, attempt, outcome, code, message, ms, at FROM job_runs
WHERE org_id = :org_id AND subject = :subject AND kind = :kind ORDER BY at DESC, id DESC LIMIT :limit

-- job_runs_degraded: memories whose last attempt ended with this code
SELECT r.kind, r.subject FROM job_runs r
WHERE r.org_id = :org_id AND r.at >= :since AND r.code = :code AND NOT EXISTS (
  SELECT 1 FROM job_runs l WHERE l.org_id = r.org_id AND l.subject = r.subject AND l.kind = r.kind
    AND (l.at, l.id) > (r.at, r.id)
)

-- job_runs_since: how attempts of an org ended since then
SELECT outcome, code, count(*) FROM job_runs WHERE org_id = :org_id AND at >= :since GROUP BY outcome, code

-- job_last_success: when a job of an org was last done
SELECT at FROM job_runs WHERE org_id = :org_id AND outcome IN ('success', 'skipped') ORDER BY at DESC LIMIT 1

-- job_runs_prune: some of the oldest attempts of an org go
DELETE FROM job_runs WHERE org_id = :org_id AND id IN (
  SELECT id FROM job_runs WHERE org_id = :org_id AND at < :before ORDER BY at LIMIT :limit
)

-- backfill_get: how far the vectors of a space are made up for
SELECT status, done, total, seconds, started_at, last_run_at, completed_at, last_error
FROM memory_embedding_backfill_state WHERE space = :space

-- backfill_status: whether somebody makes vectors of a space, or may not
SELECT status FROM memory_embedding_backfill_state WHERE space = :space

-- backfill_begin: somebody starts to make vectors of a space, unless it is paused
INSERT INTO memory_embedding_backfill_state AS s (space, status, total, started_at, last_run_at)
VALUES (:space, 'running', :total, :now, :now)
ON CONFLICT (space) DO UPDATE SET
  status = 'running', last_run_at = excluded.last_run_at, completed_at = NULL, last_error = '',
  done = CASE WHEN s.completed_at IS NULL THEN s.done ELSE 0 END,
  seconds = CASE WHEN s.completed_at IS NULL THEN s.seconds ELSE 0 END,
  total = CASE WHEN s.completed_at IS NULL THEN s.done ELSE 0 END + excluded.total,
  started_at = CASE WHEN s.completed_at IS NULL THEN s.started_at ELSE excluded.started_at END
WHERE s.status <> 'paused'

-- backfill_progress: so many more, in so many seconds
UPDATE memory_embedding_backfill_state
SET done = done + :done, seconds = seconds + :seconds, last_run_at = :now WHERE space = :space

-- backfill_end: nobody makes vectors of a space any more, unless it was paused or somebody else does
UPDATE memory_embedding_backfill_state
SET status = :status, last_error = :error, last_run_at = :now,
  completed_at = CASE :status WHEN 'completed' THEN :now ELSE completed_at END
WHERE space = :space AND status = 'running'

-- backfill_pause: no more vectors of this space until it is resumed
INSERT INTO memory_embedding_backfill_state (space, status) VALUES (:space, 'paused')
ON CONFLICT (space) DO UPDATE SET status = 'paused'

-- backfill_resume: go on; changes nothing unless it is paused
UPDATE memory_embedding_backfill_state SET status = 'idle' WHERE space = :space AND status = 'paused'
