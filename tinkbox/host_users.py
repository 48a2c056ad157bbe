"""The users and groups of this host by their names."""

import os
from grp import getgrgid, getgrnam
from pwd import getpwuid


def user_name(uid: int) -> str:
    """What the host calls a user; the number of one that has no name."""
    try:
        return getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def group_name(gid: int) -> str:
    """What the host calls a group; the number of one that has no name."""
    try:
        return getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def group_number(name: str) -> int | None:
    """The number of a group of this host; None where there is none of this name."""
    try:
        return getgrnam(name).gr_gid
    except KeyError:
        return None


def may_give_to(gid: int) -> bool:
    """Whether this process may give its own files to a group (chown(2))."""
    return os.geteuid() == 0 or gid == os.getegid() or gid in os.getgroups()
