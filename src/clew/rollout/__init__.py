"""The rollout of graph recall: modes, what is counted, the quality gate, the plan, replay."""
