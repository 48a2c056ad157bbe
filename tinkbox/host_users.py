"""The users of this host by their names."""

from pwd import getpwuid


def user_name(uid: int) -> str:
    """What the host calls a user; the number of one that has no name."""
    try:
        return getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
