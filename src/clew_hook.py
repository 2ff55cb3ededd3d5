"""What a host runs for each of its events.

    <absolute python> -I -S <absolute path>/clew_hook.py HOST HOME

What is run is compiled at each start, unlike what is imported; so this is a few lines, and the rest stands in the
package (surfaces/hooks/client.py). Not by import: that would load the package around it.
"""

import sys

CLIENT = "clew/surfaces/hooks/client.py"


def main(*words: str) -> None:
    """Ends the process, always with 0."""
    path = __file__[: -len("clew_hook.py")] + CLIENT
    names = {"__name__": "clew_hook_client", "__file__": path}
    try:
        exec(_code(path), names)  # noqa: S102  a file of ours beside this one
        names["main"](*words)  # type: ignore[operator]
    except BaseException:  # noqa: S110  no trouble of ours is the host's
        pass


def _code(path: str) -> object:
    """As an import would load it: from its bytecode, which is written where there is none. One that is damaged
    costs no event."""
    loader = sys.modules["_frozen_importlib_external"].SourceFileLoader("clew_hook_client", path)
    try:
        return loader.get_code("clew_hook_client")
    except Exception:  # whatever reads it complains in many ways
        return loader.source_to_code(loader.get_data(path), path)


if __name__ == "__main__":
    sys.path.reverse()  # `_socket` mostly lies in the last folder: the others need not be read for it
    main(*sys.argv[1:])
