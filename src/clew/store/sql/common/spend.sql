-- llm_tokens_of_day: what an org used on one day
SELECT coalesce(sum(input_tokens + output_tokens), 0) FROM llm_usage WHERE org_id = :org_id AND day = :day

-- llm_calls_of_minute: how many calls an org made in a minute
SELECT calls FROM llm_rate WHERE org_id = :org_id AND minute = :minute

-- llm_minutes_drop: minutes of an org that are over
DELETE FROM llm_rate WHERE org_id = :org_id AND minute < :minute

-- llm_call_count: one more call in a minute
INSERT INTO llm_rate (org_id, minute, calls) VALUES (:org_id, :minute, 1)
ON CONFLICT (org_id, minute) DO UPDATE SET calls = llm_rate.calls + 1

-- llm_usage_add: add to what one model did for one task on one day
INSERT INTO llm_usage
  (org_id, day, model, task, calls, failures, withheld, input_tokens, output_tokens, cost_micros, last_failure)
VALUES (:org_id, :day, :model, :task, :calls, :failures, :withheld, :input_tokens, :output_tokens, :cost_micros,
  :last_failure)
ON CONFLICT (org_id, day, model, task) DO UPDATE SET
  calls = llm_usage.calls + excluded.calls,
  failures = llm_usage.failures + excluded.failures,
  withheld = llm_usage.withheld + excluded.withheld,
  input_tokens = llm_usage.input_tokens + excluded.input_tokens,
  output_tokens = llm_usage.output_tokens + excluded.output_tokens,
  cost_micros = llm_usage.cost_micros + excluded.cost_micros,
  last_failure = coalesce(nullif(excluded.last_failure, ''), llm_usage.last_failure)

-- llm_usage_since: what an org used since a day, newest first
SELECT day, model, task, calls, failures, withheld, input_tokens, output_tokens, cost_micros, last_failure
FROM llm_usage
WHERE org_id = :org_id AND day >= :day ORDER BY day DESC, model, task
