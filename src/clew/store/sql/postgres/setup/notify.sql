-- Whoever waits for jobs is woken when some are asked for. Told at the end of the transaction, and once in it, however
-- many they are. The first look at an idle queue is what this spares: a worker that is busy finds them anyway.
CREATE OR REPLACE FUNCTION clew_jobs_asked() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
  PERFORM pg_notify('clew_jobs', '');
  RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER jobs_asked AFTER INSERT ON jobs FOR EACH STATEMENT EXECUTE FUNCTION clew_jobs_asked();
CREATE OR REPLACE TRIGGER jobs_queued AFTER UPDATE OF state ON jobs FOR EACH ROW
  WHEN (new.state = 'queued' AND old.state <> 'queued') EXECUTE FUNCTION clew_jobs_asked();
