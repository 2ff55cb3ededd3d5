"""Being here makes `hook_driver` importable."""
