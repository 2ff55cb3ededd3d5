"""Frozen values: what the steps pass to each other. No I/O, no clock."""
