"""What a hook does: tells the daemon, prints its answer, and is gone. A host runs `clew_hook.py`, which loads this.

A host starts it for every tool call, so every import counts: nothing but `_socket` is loaded that the interpreter
has not loaded already. It never looks into the event. Without a daemon, or without its answer in time, the event
goes to the spool, from where the daemon takes it, and a daemon is started that nobody waits for. That part stands
in offline.py and is compiled only then. Whatever happens, we exit with 0 and complain to nobody.
"""

import _socket
import sys

if sys.platform == "win32":
    import nt as posix
else:
    import posix

_time = sys.modules["time"]  # loaded by the interpreter, as `_signal` and `_thread` are
# Since the process began, which on a busy machine is long before its first line runs.
ANSWER_S = 0.65  # a daemon that needs longer is left alone, and the event goes to the spool
LIMIT_S = 0.75  # then we are gone
LATE_S = 0.3  # without an answer by then, what may be needed without one is made ready
MOST_AGE_S = 0.4  # some of the time is left in any case
CONNECT_S = 0.2
MAX_EVENT = 4 << 20
MAX_ANSWER = 1 << 20
REQUEST = (
    b"POST /v1/hooks/%s HTTP/1.1\r\n%sClew-Event-Id: %s\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n%s"
)
SEEN = b"POST /v1/hooks/%s/seen HTTP/1.1\r\n%sClew-Event-Id: %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


_offline: dict[str, object] = {}


def main(*words: str) -> None:
    """The whole life of the process. The limit holds for everything, also for what hangs in the kernel."""
    try:
        sys.modules["_signal"].signal(2, 1)  # Ctrl-C is for the host
        old = age()
        began = _time.monotonic() - old
        sys.modules["_thread"].start_new_thread(_end_at, (began + LIMIT_S,))
        run(words[0], words[1], began - old / 2)  # who was slow to start us is slow to let us write
    except BaseException:  # noqa: S110  no trouble of ours is the host's
        pass
    posix._exit(0)  # nothing is left to tidy up, and the interpreter would take its time


def _end_at(moment: float) -> None:
    _time.sleep(max(moment - _time.monotonic(), 0))
    posix._exit(0)


def age() -> float:
    """Seconds since the host started us, where the system tells; ticks of the clock are hundredths."""
    try:
        file = posix.open("/proc/self/stat", posix.O_RDONLY)
        began = int(posix.read(file, 4096).rpartition(b")")[2].split()[19]) / posix.sysconf("SC_CLK_TCK")
        posix.close(file)
        old: float = _time.clock_gettime(_time.CLOCK_BOOTTIME) - began
        return min(max(old, 0.0), MOST_AGE_S)
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0


def run(host: str, home: str, began: float | None = None) -> None:
    """Tell the event on stdin. Raises when something is wrong with it or with us."""
    began = _time.monotonic() if began is None else began
    event = read_event()
    if event is None:
        offline()["drop"](home)  # type: ignore[operator]
    if not event or not is_name(host):
        return
    # By it the spool knows when the event came.
    event_id = f"{int(_time.time() * 1000):012x}{posix.urandom(10).hex()}"
    is_there, status = tell(home, host, event_id, event, began)
    if status == 0 or status == 429 or status >= 500:
        offline()["keep"](home, event_id, host, event, start=not is_there)  # type: ignore[operator]


def read_event() -> bytes | None:
    """All of stdin, or None when that is too much. It is read to its end even so: a host may not expect to be cut
    off."""
    parts = []
    size = 0
    while part := posix.read(0, 65536):
        size += len(part)
        parts.append(part)
        if size > MAX_EVENT:
            parts.clear()
    return b"".join(parts) if size <= MAX_EVENT else None


def is_name(host: str) -> bool:
    """Letters, digits and dashes: it becomes a part of a request and of a record."""
    return host.isascii() and host.replace("-", "a").isalnum()


def put_out(body: bytes) -> bool:
    """False: nobody has it."""
    try:
        while body:
            body = body[posix.write(1, body) :]
    except OSError:
        return False
    return True


# -- the daemon --------------------------------------------------------------------------------------


def tell(home: str, host: str, event_id: str, event: bytes, began: float) -> tuple[bool, int]:
    """Whether anybody was there, and the status of the answer (0: none, or none that the host has). What is printed
    whole is said to be, on the same connection and without waiting: unless that arrives, it comes again."""
    is_there = False
    try:
        link, head = connect(home)
        is_there = True
        try:
            link.settimeout(max(began + ANSWER_S - _time.monotonic(), 0.001))
            link.sendall(REQUEST % (host.encode(), head, event_id.encode(), len(event), event))
            status, body = receive(link, began)
            if status == 200 and body:
                if link.fileno() == 1 or not put_out(body):  # 1: the host had closed it, and it became ours
                    return True, 0  # the daemon hears the event again, and what it delivered comes again
                link.sendall(SEEN % (host.encode(), head, event_id.encode()))
            return True, status
        finally:
            link.close()
    except (OSError, ValueError):
        return is_there, 0


def connect(home: str) -> tuple[_socket.socket, bytes]:
    """A connection, and the lines of a request that it needs. A bare name stays below the 108 bytes that the path
    of a socket may have. TCP only where there is no socket: one that is merely deaf is left over from a crash, and
    so may be the address, with anybody behind it."""
    if hasattr(_socket, "AF_UNIX"):
        link = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            posix.chdir(home + "/run")
            link.settimeout(CONNECT_S)
            link.connect("clew.sock")
            return link, b"Host: localhost\r\n"
        except OSError as error:
            link.close()
            if not isinstance(error, FileNotFoundError):
                raise
    posix.stat(home + "/run/tcp")  # mostly there is none
    return offline()["connect"](home, CONNECT_S)  # type: ignore[operator,no-any-return]


def receive(link: _socket.socket, began: float) -> tuple[int, bytes]:
    """Status and body of a whole answer. Half an answer is none."""
    data = b""
    while True:
        head, mark, body = data.partition(b"\r\n\r\n")
        if mark and len(body) >= (length := _length(head)):
            return int(head[9:12]), body[:length]
        part = _part(link, began)
        data += part
        if not part or len(data) > MAX_ANSWER:
            raise ValueError


def _part(link: _socket.socket, began: float) -> bytes:
    """When the answer is late for one hook it mostly is for many: what each of them may need for the spool is not
    left to the moment when they all need it."""
    if not _offline:
        try:
            link.settimeout(max(began + LATE_S - _time.monotonic(), 0.001))
            return link.recv(65536)
        except TimeoutError:
            offline()
    link.settimeout(max(began + ANSWER_S - _time.monotonic(), 0.001))
    return link.recv(65536)


def _length(head: bytes) -> int:
    if head.startswith(b"HTTP/1."):
        for line in head.split(b"\r\n"):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length" and value.strip().isdigit():
                return int(value)
    raise ValueError


# -- without it --------------------------------------------------------------------------------------


def offline() -> dict[str, object]:
    """What is needed without a daemon. Not by import: that would load the package around it."""
    if _offline:
        return _offline
    path = __file__[: -len("client.py")] + "offline.py"
    file = posix.open(path, posix.O_RDONLY)
    source = posix.read(file, 1 << 20)
    posix.close(file)
    exec(compile(source, path, "exec"), _offline)  # noqa: S102  a file of ours beside this one
    return _offline
