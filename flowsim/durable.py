"""Atomic writes, and locks: an output is written by one process at a time, and is never seen half written."""

from __future__ import annotations

import glob
import json
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from threading import Event, Thread

from .errors import FULL, NotWritten, UsageError

#: Appended to a file after a failed write, so that the system says why: more than a block of any file system.
PROBE = bytes(2**20)
#: Seconds between two heartbeats of a lock. A holder on another host counts as dead after QUIET seconds without one.
BEAT, QUIET = 5.0, 120.0
#: A result in a folder of this suffix is a Zarr store, which has this file.
STORE, METADATA = ".zarr", "zarr.json"
#: Linux keeps the identifier of the present boot there.
BOOT = Path("/proc/sys/kernel/random/boot_id")


@contextmanager
def written_aside(file: Path, room: int = 0) -> Iterator[Path]:
    """Yield a path beside the file to write to. At the end it is synced to the disk and renamed to the file; after an error
    it is removed, and the file is as it was. The same of a folder, but that one which is there already is moved away first:
    a kill in that instant leaves it to `held`, which moves it back.

    room: bytes that the disk must have, which is checked first. Raises NotWritten where the system refuses to write.
    """
    aside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        _ask_for(aside, room)
        yield aside
        _bring_all_to_disk(aside)
        _put_in_place(aside, file)
        with suppress(OSError):  # of a folder, which some systems refuse
            _bring_to_disk(file.parent)
    except (OSError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not str(error).startswith("NetCDF"):
            raise
        raise NotWritten(f"{file}: could not be written: {_reason(error, aside)}") from error
    finally:
        if aside.is_dir():
            shutil.rmtree(aside, ignore_errors=True)
        else:
            with suppress(FileNotFoundError):
                os.truncate(aside, 0)  # HDF5 keeps a file open that it could not write: the disk would stay full
                aside.unlink()


def is_store(path: Path) -> bool:
    """Whether a result of this name is a Zarr store, a folder."""
    return path.suffix == STORE


def _displaced(file: Path) -> Path:
    return file.with_name(f".{file.name}.displaced")


def _put_in_place(aside: Path, file: Path) -> None:
    """Rename what was written aside to the file. What is there is replaced in one step, unless one of both is a folder."""
    if not (aside.is_dir() or file.is_dir()) or not file.exists():
        os.replace(aside, file)
        return
    _remove(_displaced(file))
    os.rename(file, _displaced(file))
    os.rename(aside, file)
    _remove(_displaced(file))


def _restore(file: Path) -> None:
    """Move back what a kill in the middle of `_put_in_place` has left."""
    displaced = _displaced(file)
    if displaced.exists() and not file.exists():
        os.rename(displaced, file)
    _remove(displaced)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def write_text(file: Path, text: str) -> None:
    """Write a text file, atomically. Raises NotWritten."""
    with written_aside(file) as aside:
        aside.write_text(text, encoding="utf-8")


def written_elsewhere(file: Path, write: Callable[[Path], None]) -> Path | None:
    """Write to another folder what could not be written to this file. Returns the path, or None where no folder has room.

    write: writes to a path, or raises NotWritten.
    """
    for folder in (Path.home(), Path(gettempdir()), Path.cwd()):
        elsewhere = folder / f"rescued-{os.getpid()}-{file.name}"
        with suppress(NotWritten):
            write(elsewhere)
            return elsewhere
    return None


def check_writable(path: str | os.PathLike[str], overwrite: bool) -> None:
    """Raise UsageError where a result cannot be written to this path. Called before anything is computed."""
    file = Path(path)
    try:
        if file.is_dir() and not (is_store(file) and (file / METADATA).is_file()):
            raise UsageError(f"{file}: is a folder; give the name of a file")
        if file.exists() and not overwrite:
            raise UsageError(f"{file}: exists already; use --overwrite to replace it, or -o to write elsewhere")
        if not file.parent.is_dir():
            raise UsageError(f"{file}: the folder {file.parent} does not exist")
        with TemporaryFile(dir=file.parent):
            pass
    except OSError as error:
        raise UsageError(f"{file}: cannot be written: {error.strerror}") from None


@contextmanager
def claimed(path: str | os.PathLike[str], overwrite: bool) -> Iterator[None]:
    """Check that a file can be written, and lock it. Raises UsageError, as `check_writable` and `held` do."""
    file = Path(path)
    check_writable(file, overwrite)
    with held(file):
        check_writable(file, overwrite)  # somebody may have written it since
        yield


@contextmanager
def held(output: Path) -> Iterator[None]:
    """Lock a file or a folder, and remove what killed processes have left beside it.

    Raises UsageError where another process holds the lock, and names it. The lock of a dead process does not count.
    """
    whole = Path(os.path.abspath(output))
    lock, over = whole.with_name(f".{whole.name}.lock"), Event()
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        opened = _taken(lock, output)
    except OSError as error:
        raise UsageError(f"{output}: cannot be written: {error.strerror}") from None

    def live() -> None:
        while not over.wait(BEAT):
            with suppress(OSError):
                os.utime(opened)

    sign = Thread(target=live, daemon=True)
    try:
        sign.start()
        _restore(whole)
        remove_left_overs(whole.parent, glob.escape(whole.name))
        yield
    finally:
        over.set()
        sign.join()
        with suppress(OSError):
            lock.unlink()
        os.close(opened)


def remove_left_overs(folder: Path, pattern: str = "*") -> None:
    """Remove the temporary files of killed processes: those of `written_aside` for files that match the pattern.

    Call it only under the lock: it would remove the file of a live process, too.
    """
    for file in folder.glob(f".{pattern}.*"):
        if file.suffix[1:].isdecimal():
            _remove(file)


@dataclass(frozen=True)
class Holder:
    """The process that holds a lock. started: tells it from later processes of the same number; since: in UTC."""

    host: str
    process: int
    started: str
    since: str

    @classmethod
    def of_this_process(cls) -> Holder:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(socket.gethostname(), os.getpid(), _started(os.getpid()), now)

    @classmethod
    def read(cls, opened: int) -> Holder | None:
        """The holder that an open lock file names, or None."""
        try:
            return cls(**json.loads(os.pread(opened, 4096, 0)))
        except (ValueError, TypeError):
            return None

    def lives(self, opened: int) -> bool:
        """Whether the process may still be alive."""
        if self.host != socket.gethostname() or os.name != "posix":
            return time.time() - os.fstat(opened).st_mtime < QUIET
        try:
            os.kill(self.process, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return self.started == _started(self.process)


def _taken(lock: Path, output: Path) -> int:
    """Open the lock file and write this process into it. Raises UsageError where a live process holds it."""
    while True:
        opened = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            free, holder = _lock(opened), Holder.read(opened)
            if not free or (holder is not None and holder.lives(opened)):
                raise UsageError(f"{output}: {_told(holder)}; wait for it, or write elsewhere by -o ({lock})")
            if _is_at(lock, opened):  # else the holder has removed it since it was opened here
                os.truncate(opened, 0)
                os.pwrite(opened, json.dumps(asdict(Holder.of_this_process())).encode(), 0)
                return opened
        except BaseException:
            os.close(opened)
            raise
        os.close(opened)


def _told(holder: Holder | None) -> str:
    if holder is None:
        return "another process writes to it"
    return f"process {holder.process} on {holder.host} has been writing to it since {holder.since}"


def _is_at(path: Path, opened: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(opened))
    except FileNotFoundError:
        return False


def _lock(opened: int) -> bool:
    """Take the system's lock on an open file; False where another process has it. True where the system has no locks."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _started(process: int) -> str:
    """When a process of this machine was started: boot and clock ticks since. "" where the system does not tell."""
    try:
        words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return f"{BOOT.read_text().strip()} {words[19]}"
    except (OSError, IndexError):
        return ""


def _ask_for(file: Path, room: int) -> None:
    """Raise OSError where the disk has no room for so many bytes: HDF5 would fail without a reason."""
    if not room or not hasattr(os, "posix_fallocate"):
        return
    with file.open("wb") as opened:
        try:
            os.posix_fallocate(opened.fileno(), 0, room)
        except OSError as error:
            if error.errno in FULL:
                raise


def _bring_all_to_disk(path: Path) -> None:
    for folder, _, names in os.walk(path):
        for name in (*names, "."):
            _bring_to_disk(Path(folder) / name)
    if not path.is_dir():
        _bring_to_disk(path)


def _bring_to_disk(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _reason(error: Exception, aside: Path) -> str:
    """Why a file could not be written: HDF5 does not say, so a write by Python is tried."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    try:
        with aside.open("ab") as probe:
            probe.write(PROBE)
    except OSError as refused:
        return str(refused.strerror)
    return str(error)
