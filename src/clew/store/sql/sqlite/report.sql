-- report_captured: memories that were captured in a span of time, by kind; ids are in the order of time
SELECT json_extract(metadata, '$.captured'), count(*) FROM memories
WHERE org_id = :org_id AND id >= :first_id AND created_at >= :since AND created_at < :until AND deleted_at IS NULL
  AND (:every_project OR project_id = :project_id) AND (:every_user OR user_id = :user_id)
  AND json_type(metadata, '$.captured') = 'text'
GROUP BY 1 ORDER BY 1
