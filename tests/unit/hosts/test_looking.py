"""What is looked for behind answers."""

from __future__ import annotations

from contextlib import closing

from clew.hosts.looking import Looking
from clew.inject.deadline import Workers


def test_of_sessions_that_are_never_answered_again_no_look_is_kept_that_is_over() -> None:
    with closing(Workers(2)) as workers:
        looking = Looking(workers)
        for number in range(50):
            session = f"ses_{number}"
            looking.begin(session, lambda: None, limit_s=1.0, waits=True)
            for done in looking._begun.get(session, ()):
                assert done.wait(10.0)
        assert len(looking._begun) <= 1
