"""Repositories written once over named SQL; one small file per engine for what differs."""
