"""Find what is worth saying now: plan, gather, filter, fuse, rank, explain."""
