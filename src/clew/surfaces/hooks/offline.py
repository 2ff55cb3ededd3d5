"""What the hook client does without a daemon: keep the event in the spool, and start a daemon.

The client compiles this file by itself and only then, so it imports nothing but what the client may: `sys`, `posix`
(`nt` on Windows), `_socket` and `binascii`. The daemon's side of the spool and the forwarder use the same code.
"""

import _socket
import binascii
import sys

if sys.platform == "win32":
    import nt as posix
else:
    import posix

MAX_SPOOL = 64 << 20  # nobody has come for it in a long time: the disk is worth more
MAX_DROPPED = 64 << 10
START_PAUSE_S = 10
LOCK_ATTEMPTS = 500
LOCK_PAUSE_S = 0.002


def keep(home: str, event_id: str, host: str, event: bytes, *, start: bool) -> None:
    """Once written, it survives us; to survive the machine it is synced, after the daemon is on its way."""
    try:
        spool = append(home, record(event_id, host, event))
    except (OSError, ValueError):
        drop(home)
        raise
    finally:
        if start:
            start_daemon(home)
    sync(home, spool)


def drop(home: str) -> None:
    """One byte for an event that is kept nowhere, so that somebody can say so."""
    _make(home + "/spool")
    flags = posix.O_WRONLY | posix.O_APPEND | posix.O_CREAT | getattr(posix, "O_NOFOLLOW", 0)
    file = posix.open(home + "/spool/dropped", flags, 0o600)
    if posix.fstat(file).st_size < MAX_DROPPED:
        posix.write(file, b".")
    posix.close(file)


def record(event_id: str, host: str, event: bytes) -> bytes:
    """`clew1 <crc32> <event id> <host> <length>`, a newline, the event, a newline. The checksum is of all between
    itself and the last newline."""
    told = b"%s %s %d\n%s" % (event_id.encode(), host.encode(), len(event), event)
    return b"clew1 %08x %s\n" % (binascii.crc32(told), told)


def append(home: str, record: bytes) -> int:
    """The descriptor of the spool, still to be synced. What could not be written whole is taken back."""
    spool = _locked(home + "/spool")
    size = posix.fstat(spool).st_size
    try:
        if size + len(record) > MAX_SPOOL or posix.write(spool, record) != len(record):
            raise ValueError
    except (OSError, ValueError):
        posix.ftruncate(spool, size)
        posix.close(spool)
        raise
    if hasattr(posix, "lockf"):
        posix.lseek(spool, 0, 0)
        posix.lockf(spool, posix.F_ULOCK, 0)
    return spool


def _locked(folder: str) -> int:
    """The spool, held alone. The daemon takes it by renaming it: then the file that we opened is not the one that
    has the name now. (Windows renames no file that somebody has open.) A writer that was stopped with the lock in
    its hands stops nobody else for longer than a second."""
    path = folder + "/events.spool"
    flags = posix.O_WRONLY | posix.O_APPEND | posix.O_CREAT | getattr(posix, "O_NOFOLLOW", 0)
    for _ in range(LOCK_ATTEMPTS):
        try:
            spool = posix.open(path, flags | getattr(posix, "O_BINARY", 0), 0o600)
        except FileNotFoundError:
            _make(folder)
            continue
        if not hasattr(posix, "lockf") or (_is_locked(spool) and is_still(spool, path)):
            return spool
        posix.close(spool)
    raise TimeoutError


def _is_locked(spool: int) -> bool:
    try:
        posix.lockf(spool, posix.F_TLOCK, 0)
    except (BlockingIOError, PermissionError):
        sys.modules["time"].sleep(LOCK_PAUSE_S)
        return False
    return True


def _make(folder: str) -> None:
    """Both are made by whoever comes first."""
    for path in (folder.rpartition("/")[0], folder):
        try:  # noqa: SIM105  contextlib would have to be loaded
            posix.mkdir(path, 0o700)
        except FileExistsError:
            pass


def is_still(spool: int, path: str) -> bool:
    try:
        named = posix.stat(path)
    except FileNotFoundError:
        return False
    opened = posix.fstat(spool)
    return (opened.st_ino, opened.st_dev) == (named.st_ino, named.st_dev)


def sync(home: str, spool: int) -> None:
    """The file, and the directory that got its name."""
    posix.fsync(spool)
    posix.close(spool)
    if hasattr(posix, "O_DIRECTORY"):
        folder = posix.open(home + "/spool", posix.O_RDONLY | posix.O_DIRECTORY)
        posix.fsync(folder)
        posix.close(folder)


def start_daemon(home: str) -> None:
    """Not waited for, in a session of its own, at most once in ten seconds. -E and -P, and the home as directory:
    what runs for all projects must not take its modules from the one we happen to be in."""
    if not _is_my_turn(home + "/spool/starting"):
        return
    posix.chdir(home)
    words = [sys.executable, "-E", "-P", "-m", "clew", "serve", "--quiet", "--home", home]
    if sys.platform == "win32":
        for stream in (0, 1, 2):
            posix.set_inheritable(stream, False)  # or the host would wait for the daemon to close them
        posix.spawnv(posix.P_DETACH, sys.executable, [f'"{word}"' for word in words])
        return
    silent = [(posix.POSIX_SPAWN_OPEN, stream, "/dev/null", posix.O_RDWR, 0) for stream in (0, 1, 2)]
    try:
        posix.posix_spawn(sys.executable, words, posix.environ, file_actions=silent, setsid=True)
    except NotImplementedError:
        posix.posix_spawn(sys.executable, words, posix.environ, file_actions=silent, setpgroup=0)


def _is_my_turn(marker: str) -> bool:
    try:
        if abs(sys.modules["time"].time() - posix.stat(marker).st_mtime) < START_PAUSE_S:
            return False
        posix.unlink(marker)
    except FileNotFoundError:
        pass
    try:
        posix.close(posix.open(marker, posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL, 0o600))
    except OSError:  # another one was faster, or nothing can be written here
        return False
    return True


# -- where there are no sockets with names -----------------------------------------------------------


def connect(home: str, timeout_s: float) -> tuple[_socket.socket, bytes]:
    """Loopback, with the token of this install; nowhere else."""
    address = _read(home + "/run/tcp")
    name, _, port = address.decode().rpartition(":")
    families = {"127.0.0.1": _socket.AF_INET, "[::1]": _socket.AF_INET6}
    if name not in families:
        raise ValueError(name)
    head = b"Host: %s\r\nAuthorization: Bearer %s\r\n" % (address, _read(home + "/run/token"))
    link = _socket.socket(families[name], _socket.SOCK_STREAM)
    try:
        link.settimeout(timeout_s)
        link.connect((name.strip("[]"), int(port)))
    except (OSError, ValueError):
        link.close()
        raise
    return link, head


def _read(path: str) -> bytes:
    file = posix.open(path, posix.O_RDONLY)
    try:
        return posix.read(file, 4096).strip()
    finally:
        posix.close(file)
