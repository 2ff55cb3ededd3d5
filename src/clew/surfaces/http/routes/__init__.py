"""The routes by topic. Each module has a tuple ROUTES."""
