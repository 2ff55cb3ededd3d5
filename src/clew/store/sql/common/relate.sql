-- similar_drop: nobody says any more that an edge connects what is similar
DELETE FROM graph_evidence WHERE org_id = :org_id AND edge_row = :edge_row AND origin = 'similar'

-- edge_reweigh: what an edge connects is more or less alike than it was
UPDATE graph_edges SET weight = :weight WHERE row = :row AND org_id = :org_id AND weight <> :weight AND is_users = 0

-- evidence_resay: the same memory states the same edge in other words, or for another reason
UPDATE graph_evidence SET sentence = :sentence, explanation = :explanation
WHERE org_id = :org_id AND edge_row = :edge_row AND memory_row = :memory_row
  AND (sentence <> :sentence OR explanation <> :explanation)

-- edge_resure: how sure its only witness is now
UPDATE graph_edges SET confidence = :confidence, base_confidence = :confidence
WHERE row = :row AND org_id = :org_id AND is_users = 0 AND witnesses < 2 AND base_confidence <> :confidence
