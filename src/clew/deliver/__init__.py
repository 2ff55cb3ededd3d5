"""Session locks, the durable queue, receipts."""
