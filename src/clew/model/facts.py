"""Names of facts that a store keeps about itself."""

ANALYSER = "analyser"  # the revision of the analyser its terms were made with
COPY_STATE = "copy_state"  # how far a copy into this store has come; gone when it is complete
EDGE_DECAY = "edge_decay"  # the report of the last time edges were looked through for decay
EDGE_DECAY_AT = "edge_decay_at"  # when that was, in microseconds; 0 while one is under way
EDGE_DECAY_SO_FAR = "edge_decay_so_far"  # how far a look through them has come; empty when none is under way
POLICY_DROPPED_AT = "policy_dropped_at"  # when one was last taken away, in microseconds; of an org `fact/org`
PURGE_PENDING = "purge_pending"  # set while a hard forget has not yet erased the log
RETENTION_AT = "retention_at"  # when retention policies were last applied to the end, in microseconds
RETENTION_SO_FAR = "retention_so_far"  # the org and the memory a pass has come to; empty when none is under way
TAKEN_BACK_AT = "taken_back_at"  # when a fact or a conflict of an org last was, in microseconds; `fact/org`
