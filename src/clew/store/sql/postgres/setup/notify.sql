-- Whoever waits for jobs is woken when the first one comes that an org has: a worker that is busy finds further ones
-- anyway. Only then, because the server lets transactions that tell something commit one after another, all orgs
-- together. Told at the end of the transaction, and once in it.
CREATE OR REPLACE FUNCTION clew_jobs_asked() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  mine record;
BEGIN
  FOR mine IN SELECT a.org_id, count(*) AS number FROM added a GROUP BY a.org_id LOOP
    IF mine.number >= (SELECT count(*) FROM (
      SELECT 1 FROM jobs j WHERE j.org_id = mine.org_id AND j.state <> 'dead' LIMIT mine.number + 1) AS there) THEN
      PERFORM pg_notify('clew_jobs', '');
    END IF;
  END LOOP;
  RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION clew_job_queued() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
  PERFORM pg_notify('clew_jobs', '');
  RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER jobs_asked AFTER INSERT ON jobs REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION clew_jobs_asked();
CREATE OR REPLACE TRIGGER jobs_queued AFTER UPDATE OF state ON jobs FOR EACH ROW
  WHEN (new.state = 'queued' AND old.state <> 'queued') EXECUTE FUNCTION clew_job_queued();
