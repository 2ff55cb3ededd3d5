-- jobs_due: what may be claimed of an org, the longest due first; what another worker is claiming is passed over
SELECT $job_columns FROM jobs
WHERE org_id = :org_id AND state <> 'dead' AND due_at <= :now
ORDER BY due_at, kind, subject LIMIT :limit FOR UPDATE SKIP LOCKED
