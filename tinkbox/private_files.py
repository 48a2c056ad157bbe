"""Files that no other user of this host may read: a folder of ours is made so, or set so where it was wider.

The mode of the folder itself keeps others out of all that is below; what is below is tightened as well, for a folder
may be moved, copied or shared later.  Of a folder that others could write to a link may be theirs: one that is has its
folder refused, and one of ours may lead to a folder of ours alone, where nothing is changed.
"""

import errno
import os
import resource
import secrets
import shlex
import stat
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from pwd import getpwuid, struct_passwd
from typing import Final, NamedTuple

from tinkbox.host_users import user_name
from tinkbox.installed_unit import UNIT, installed_unit
from tinkbox.model.errors import Unavailable
from tinkbox.unwritable import why_read_only

_UMASK: Final = 0o077
LEAST_SECRET: Final = 20  # characters; those that are made have 43
ANOTHER: Final = "delete it, and the next start makes a new one"
_OTHERS: Final = 0o077
_PASSING: Final = 0o710
_OTHERS_WRITE: Final = 0o022
# Those that are the system's with all that is below them, and those in which folders of others may be.
_SYSTEMS: Final = tuple(
    map(
        Path, ("/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/sbin", "/sys", "/usr")
    )
)
_SHARED_PLACES: Final = frozenset(
    map(
        Path,
        (
            *("/", "/home", "/root", "/media", "/mnt", "/opt", "/run", "/srv", "/tmp"),  # noqa: S108  named, not used
            *("/var", "/var/cache", "/var/lib", "/var/log", "/var/mail", "/var/opt", "/var/spool", "/var/tmp"),  # noqa: S108
        ),
    )
)
# What mke2fs puts at the top of each file system of ext2 to ext4, and e2fsck needs (mklost+found(8)).
_LOST_AND_FOUND: Final = "lost+found"


class Kind(NamedTuple):
    """A kind of file by its name, and how its mode tells it."""

    name: str
    is_of: Callable[[int], bool]


FILE: Final = Kind("regular file", stat.S_ISREG)
FOLDER: Final = Kind("folder", stat.S_ISDIR)
SOCKET: Final = Kind("socket", stat.S_ISSOCK)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What is in such a folder, by patterns of names: `private`, and `shared`, whose modes are left as they are.

    Of what is private, `files` are regular files, `folders` folders, and `sockets` unix sockets.  They, and `shared`, may
    name what lies deeper: `services/*/workflow`.  Below `unfollowed` no link is followed by those who read there, so that one
    of ours may lead anywhere; only in the place of a folder it has to lead to one of ours, as elsewhere.
    """

    private: Collection[str]
    files: Collection[str]
    shared: Collection[str]
    folders: Collection[str] = ()
    sockets: Collection[str] = ()
    unfollowed: Collection[str] = ()

    def knows(self, name: str) -> bool:
        return any(PurePath(name).match(each) for each in (*self.private, *self.shared))

    def kind_of(self, path: PurePath) -> "Kind | None":
        """What a path from the folder on has to be; None: anything."""
        named = ((FILE, self.files), (FOLDER, self.folders), (SOCKET, self.sockets))
        return next((kind for kind, patterns in named if _named(path, patterns)), None)

    def follows(self, path: PurePath) -> bool:
        """Whether a link in the place of this path, from the folder on, is followed."""
        return self.kind_of(path) is not None or not any(_named(each, self.unfollowed) for each in path.parents)


def keep_to_owner() -> None:
    """From now on the files that this process makes are its owner's alone, and it leaves no core file.

    Keys and secrets are in its memory, and would be in that.
    """
    os.umask(_UMASK)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def make_private(folder: Path, layout: Layout, passing: int | None = None) -> None:
    """Make a folder and what is private in it ours alone (0700, 0600); what is made later is so by `keep_to_owner`.

    Members of the group `passing` may pass through the folder (0710), to what in it is made theirs; they cannot list it.

    Raises Unavailable, with the remedy, where the folder or a link in it is another user's, a link leads elsewhere than to
    a folder of ours, something else is in a file's place, the folder cannot be set, or is for other things.
    """
    with _usable(folder):
        _refuse_no_folder(folder)
        _make(folder)
        for path in _ours(folder, layout):
            with _as_the_disk_gives_it():
                mode = path.lstat().st_mode
                if mode & _OTHERS:
                    path.chmod(stat.S_IMODE(mode) & ~_OTHERS)
        if passing is not None:
            give_to(passing, folder, _PASSING)
        _refuse_unwritable(folder, folder)


def give_to(gid: int, path: Path, mode: int) -> None:
    """Make a file of ours a group's, and set its mode; raises OSError."""
    if path.stat().st_gid != gid:  # a unit may not even ask for what is so already
        os.chown(path, -1, gid)
    path.chmod(mode)


def examine_private(folder: Path, layout: Layout, new_owner: int | None = None) -> None:
    """Raise what `make_private` would raise of a folder, also of one that is to be made; change nothing.

    All in it will be the `new_owner`'s, who runs this then, whosever it is now.
    """
    with _usable(folder):
        _refuse_no_folder(folder)
        place = _nearest(folder)
        if place == folder:
            for _ in _ours(folder, layout, new_owner):
                pass
        _refuse_unwritable(place, folder)


@contextmanager
def as_user(folder: Path, user: struct_passwd | None = None) -> Iterator[str]:
    """Where root looks at another user's folder, look as its owner does, or as `user`; gives the user's name, or nothing for root.

    So no file there becomes root's.  The rights are those of the whole process: nothing else may run meanwhile.
    Raises Unavailable.
    """
    try:
        owner = folder.stat()
    except FileNotFoundError:
        owner = None
    except OSError as error:
        raise Unavailable(f"cannot use the data directory {folder}: {error.strerror}") from None
    owners = (0, 0) if owner is None else (owner.st_uid, owner.st_gid)
    uid, gid = owners if user is None else (user.pw_uid, user.pw_gid)
    if os.geteuid() != 0 or uid == 0:
        yield ""
        return
    before = os.getgroups(), os.getegid()
    try:
        os.setgroups(_groups(uid, gid))
        os.setegid(gid)
        os.seteuid(uid)
    except OSError as error:
        raise Unavailable(
            f"{folder} belongs to user {user_name(uid)}, whose rights root cannot take here: {error.strerror}: check as that user"
        ) from None
    try:
        yield user_name(uid)
    finally:
        os.seteuid(0)
        os.setegid(before[1])
        os.setgroups(before[0])


def refuse_other_than(kind: Kind, path: Path) -> None:
    """Raise Unavailable for what is of another kind: to open a FIFO waits for its other end, maybe for ever.

    What is missing is left to its caller.
    """
    with suppress(FileNotFoundError):
        if not kind.is_of(path.stat().st_mode):
            raise Unavailable(f"{path} is no {kind.name}: move it away, or name another data directory with --data")


def _random_text() -> str:
    return secrets.token_urlsafe(32)


def kept_secret(path: Path, new: Callable[[], str] = _random_text, *, remedy: str = ANOTHER) -> str:
    """What the file holds; when there is none it is made, readable by its owner only, of 256 random bits or by `new`.

    Raises Unavailable as `stored_secret` does, and when it cannot be made.
    """
    return stored_secret(path, remedy=remedy) if path.exists() else new_secret(path, new)


def new_secret(path: Path, new: Callable[[], str] = _random_text) -> str:
    """Make the file anew, readable by its owner only, of 256 random bits or by `new`; returns what it holds.  Raises Unavailable."""
    fresh = path.with_suffix(".new")
    try:
        fresh.unlink(missing_ok=True)  # whoever put it there
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(new() + "\n")
        fresh.replace(path)  # so that no power cut leaves an empty one behind
    except OSError as error:
        raise Unavailable(f"cannot make the secret {path}: {error.strerror}: look at {fresh} and its folder") from None
    return stored_secret(path)


def stored_secret(path: Path, *, remedy: str = ANOTHER) -> str:
    """What the file holds, without space around it; empty when there is no file.

    Raises Unavailable with the `remedy` when it cannot be read, or when the secret is shorter than LEAST_SECRET.
    """
    try:
        secret = path.read_text("ascii").strip()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise Unavailable(f"cannot read the secret {path}: {error.strerror}: {remedy}") from None
    except UnicodeDecodeError:
        raise Unavailable(f"{path} holds no secret, but other bytes than ASCII's: {remedy}") from None
    if not secret:
        raise Unavailable(f"{path} is empty: {remedy}")
    if len(secret) < LEAST_SECRET:
        raise Unavailable(
            f"{path} is too short, which can be guessed: it has {len(secret)} characters, at least {LEAST_SECRET} are "
            f"needed: {remedy}"
        )
    return secret


@contextmanager
def _usable(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        way = why_read_only(folder) if error.errno == errno.EROFS else _remedy(folder)
        raise Unavailable(f"cannot use the data directory {folder}: {error.strerror}: {way}") from None


@contextmanager
def _as_the_disk_gives_it() -> Iterator[None]:
    """Pass over what is gone, or cannot be looked at since the disk is damaged: nothing else can use that either."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.EIO, errno.EBADMSG, errno.EUCLEAN):
            raise


def _ours(folder: Path, layout: Layout, new_owner: int | None = None) -> Iterator[Path]:
    """The folder and what is private in it, but for links; raises Unavailable for what is not ours, nor will be.

    Each is given before what is in it is looked at: where it is narrowed at once, nobody else adds to it.
    """
    _refuse_link_of_another(folder, folder.lstat())
    folder = folder.resolve()
    _refuse_other_things(folder, layout)
    if new_owner is None:
        _refuse_another_owner(folder, folder.lstat(), folder)
    yield folder
    for name in [each.name for each in folder.iterdir()]:
        if any(PurePath(name).match(each) for each in layout.private):
            for path in _below(folder, name, layout.shared):
                with _as_the_disk_gives_it():
                    found = path.lstat()
                    if stat.S_ISLNK(found.st_mode):
                        if new_owner is None:
                            _refuse_link_of_another(path, found)
                        if layout.follows(path.relative_to(folder)):
                            _refuse_link_elsewhere(path, os.geteuid() if new_owner is None else new_owner)
                    else:
                        if new_owner is None:
                            _refuse_another_owner(path, found, folder)
                        if kind := layout.kind_of(path.relative_to(folder)):
                            refuse_other_than(kind, path)
                        yield path


def _named(path: PurePath, patterns: Collection[str]) -> bool:
    """Whether a pattern is of the whole path, from the folder on."""
    return any(("/" / path).match(f"/{each}") for each in patterns)


def _refuse_another_owner(path: Path, found: os.stat_result, folder: Path) -> None:
    if found.st_uid != os.geteuid():
        raise Unavailable(f"{path} belongs to user {user_name(found.st_uid)}: {_remedy(folder)}")


def _refuse_link_of_another(path: Path, found: os.stat_result) -> None:
    if stat.S_ISLNK(found.st_mode) and found.st_uid not in {0, os.geteuid()}:
        raise Unavailable(
            f"{path} is a link that user {user_name(found.st_uid)} made, to {path.readlink()}: delete it, and "
            "look what else that user put there"
        )


def _refuse_link_elsewhere(path: Path, owner: int) -> None:
    """Raises Unavailable for a link to anything but a folder of the owner to which nobody else may write."""
    try:
        found = path.stat()
    except OSError as error:
        raise Unavailable(
            f"{path} is a link to {path.readlink()}: {error.strerror}: mount or make what it leads to, or delete "
            "the link"
        ) from None
    me, target = user_name(owner), path.resolve()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != owner or found.st_mode & _OTHERS_WRITE:
        quoted = shlex.quote(str(target))
        way = (
            f"If it is yours, type `chown {me} {quoted}` and `chmod 700 {quoted}`; else put in its place what it leads to, or delete it"
            if _can_be_given(target, owner)
            else f"Have the link lead to a folder of its own, which `install -d -m 700 -o {me} FOLDER` makes, or delete it"
        )
        raise Unavailable(
            f"{path} is a link to {path.readlink()}: it may only lead to a folder that belongs to {me}, who runs "
            f"this, and that nobody else may write to. {way}"
        )


def _can_be_given(folder: Path, owner: int) -> bool:
    """Whether a folder may be made the owner's: it is not the system's, and nothing of another user is in it."""
    if is_systems(folder):
        return False
    try:
        return all(each.lstat().st_uid == owner or _is_of_file_system(each) for each in folder.iterdir())
    except OSError:
        return False


def is_empty(folder: Path) -> bool:
    """Whether nothing is in a folder but what its file system has from the beginning.  Raises OSError."""
    return all(map(_is_of_file_system, folder.iterdir()))


def is_systems(folder: Path) -> bool:
    """Whether programs of the system, or all its users, need a folder as it is (file-hierarchy(7))."""
    return folder in _SHARED_PLACES or any(each in (folder, *folder.parents) for each in _SYSTEMS)


def _refuse_other_things(folder: Path, layout: Layout) -> None:
    """Raise Unavailable for a folder that others can look into and that has none of our names; one that is shut to us is left to others."""
    with suppress(PermissionError):
        names = [each.name for each in folder.iterdir() if not _is_of_file_system(each)]
        if folder.stat().st_mode & _OTHERS and names and not any(map(layout.knows, names)):
            raise Unavailable(f"{folder} is for other things, such as {names[0]}: name a folder of its own with --data")


def _refuse_no_folder(folder: Path) -> None:
    """Raise Unavailable where something else is in the folder's place."""
    if folder.is_symlink() and not folder.exists():
        raise Unavailable(
            f"the data directory {folder} is a link to {folder.readlink()}, which is not there: mount or make that, or name "
            "another folder with --data"
        )
    if folder.exists() and not folder.is_dir():
        raise Unavailable(f"the data directory {folder} is no folder: move it away, or name another with --data")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except PermissionError:
        _refuse_unwritable(_nearest(folder), folder)
        raise


def _refuse_unwritable(place: Path, folder: Path) -> None:
    """Raise Unavailable where the present user may not write to the folder, or to the `place` where it is to be made."""
    if place.is_dir() and os.access(place, os.R_OK | os.W_OK | os.X_OK, effective_ids=True):
        return
    if os.statvfs(place).f_flag & os.ST_RDONLY:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), folder)
    me = user_name(os.geteuid())
    if place != folder:
        remedy = f"`sudo install -d -m 700 -o {me} {folder}` makes it"
    elif place.stat().st_uid == os.geteuid():
        remedy = f"`chmod u+rwx {folder}`, and see that its disk is writable (`findmnt -T {folder}`)"
    else:
        remedy = _remedy(folder)
    raise Unavailable(f"cannot use the data directory {folder}: {me} may not write to {place}: {remedy}")


def _nearest(folder: Path) -> Path:
    """The folder, or where it would have to be made."""
    return folder if folder.exists() else _nearest(folder.parent)


def _groups(uid: int, gid: int) -> list[int]:
    try:
        return os.getgrouplist(getpwuid(uid).pw_name, gid)
    except KeyError:
        return [gid]


def _below(folder: Path, name: str, shared: Collection[str]) -> Iterator[Path]:
    path = folder / name
    yield path
    for here, folders, files in () if path.is_symlink() else os.walk(path):
        paths = [Path(here) / each for each in (*folders, *files)]
        left = {each.name for each in paths if _is_left(each, folder, shared)}
        folders[:] = [each for each in folders if each not in left]
        yield from (each for each in paths if each.name not in left)


def _is_left(path: Path, folder: Path, shared: Collection[str]) -> bool:
    return any(path.relative_to(folder).match(each) for each in shared) or _is_of_file_system(path)


def _is_of_file_system(path: Path) -> bool:
    """Whether it is root's folder that a file system has from the beginning."""
    if path.name != _LOST_AND_FOUND:
        return False
    with suppress(FileNotFoundError):
        found = path.lstat()
        return stat.S_ISDIR(found.st_mode) and found.st_uid == 0
    return False


def _remedy(folder: Path) -> str:
    if is_systems(folder):
        return "it is the system's: name a folder of its own with --data"
    me, unit = user_name(os.geteuid()), installed_unit()
    if unit is not None and unit.user is not None and unit.user.pw_uid == os.geteuid() != 0:
        return f"`chown -R {me} {shlex.quote(str(folder))}` gives it to {me}, as which {UNIT} runs"
    return (
        "name another folder with --data, or run as its owner; where you know all that is in it, "
        f"`chown -R {me} {folder}` gives it to {me}, who runs this"
    )
