"""Where the appliance fetches images of another registry that it lacks."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirror:
    """The registry that is asked for what a host has.

    `url` has no slash at its end; a path in it is the beginning of the names of repositories there.  The password is the first
    line of a file, empty for none.
    """

    url: str
    username: str = ""
    password_file: str = ""
