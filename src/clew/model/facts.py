"""Names of facts that a store keeps about itself."""

ANALYSER = "analyser"  # the revision of the analyser its terms were made with
PURGE_PENDING = "purge_pending"  # set while a hard forget has not yet erased the log
