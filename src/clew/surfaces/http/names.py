"""Names of files under CLEW_HOME/run, and how tokens begin."""

from __future__ import annotations

SOCKET_NAME = "clew.sock"
LOCK = "daemon.lock"
DAEMON = "daemon.json"
TOKEN = "token"  # noqa: S105 - the name of its file
TCP = "tcp"
INCOMING = "incoming-"  # bodies that are being read; what a crash left is removed at the next start
LOCAL_TOKEN = "clew_local_"  # noqa: S105 - how one begins
