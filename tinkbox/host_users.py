"""The users and groups of this host by their names."""

from grp import getgrgid
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
