"""What the environment says: the only reader of its variables."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tinkbox.model.errors import Invalid
from tinkbox.wire.operator_door import url_of

SERVER: Final = "TINKBOX_SERVER"
FORMAT: Final = "TINKBOX_FORMAT"
TO_TOKEN: Final = "TINKBOX_TO_TOKEN"  # noqa: S105  a name
UNIX: Final = "unix:"
LOGIN: Final = "tinkbox login"  # in the place of a variable: this command named the appliance
AUTHORITY_KEY: Final = "tinkbox-authority-key"
AUTHORITIES: Final = "SSL_CERT_FILE"  # of OpenSSL, with the certificate authorities that are trusted


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTarget:
    """Where the operator's commands go: a URL with its token, or the socket of an appliance on this host.

    `variable` is what of the environment names it, or LOGIN; empty: nothing.  `authority` is the certificate (PEM) of the one
    authority that is trusted there, empty: those that this host trusts.
    """

    url: str = ""
    token: str = ""
    socket: Path | None = None
    variable: str = ""
    authority: str = ""


def named_server() -> ClientTarget | None:
    """The appliance of `TINKBOX_SERVER`, with `TINKBOX_TOKEN`; None when the variable is not set.

    Raises Invalid for a socket without an absolute path.
    """
    server = os.environ.get(SERVER, "")
    return target_of(server, own_token(), SERVER) if server else None


def own_token() -> str:
    """The token of the appliance that the commands speak to; empty when the variable is not set."""
    return os.environ.get("TINKBOX_TOKEN", "")


def other_token() -> str:
    """The token of another appliance that a command speaks to as well; empty when the variable is not set."""
    return os.environ.get(TO_TOKEN, "")


def target_of(server: str, token: str, variable: str) -> ClientTarget:
    """The appliance at a URL, a host or a socket, which `variable` names.

    Raises Invalid for a socket without an absolute path, for a path alone, and for https:// where SSL_CERT_FILE is wrong.
    """
    if server.startswith(UNIX):
        # With two slashes, an empty host name, or without.
        socket = Path(server.removeprefix(UNIX).removeprefix("//"))
        if not socket.is_absolute():
            raise Invalid(
                f"{variable}={server[:200]} names no socket: write its whole path, such as "
                f"{UNIX}/var/lib/tinkbox/operator.sock"
            )
        return ClientTarget(socket=socket, variable=variable)
    if server.startswith("/"):
        raise Invalid(
            f"{variable}={server[:200]} is a path: write {UNIX}{server[:200]} for a socket, or a URL such as https://HOST:7080"
        )
    url = url_of(server)
    if url.startswith("https:"):
        _refuse_missing_authorities()
    return ClientTarget(url=url.rstrip("/"), token=token, variable=variable)


def _refuse_missing_authorities() -> None:
    """OpenSSL does without a file that it cannot read, and says nothing (SSL_CTX_set_default_verify_paths(3))."""
    path = os.environ.get(AUTHORITIES, "")
    if path and not os.access(path, os.R_OK):
        missing = "cannot be read" if Path(path).exists() else "is not there"
        raise Invalid(f"{AUTHORITIES}={path} {missing}, so no certificate can be checked by it: correct or unset it")


def output_format() -> str:
    """The format of what commands print, of `TINKBOX_FORMAT`; empty when the variable is not set."""
    return os.environ.get(FORMAT, "")


def default_data() -> Path:
    """Where the appliance keeps its state: /var/lib/tinkbox for root, else below $XDG_STATE_HOME.

    In a unit of systemd it is what StateDirectory= names (systemd.exec(5)).
    """
    if given := os.environ.get("STATE_DIRECTORY"):
        return Path(given.partition(":")[0])
    if os.geteuid() == 0:
        return Path("/var/lib/tinkbox")
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "tinkbox"


def supervisor_socket() -> str:
    """Where a supervisor waits to hear that we serve (sd_notify(3)); empty without one."""
    return os.environ.get("NOTIFY_SOCKET", "")


def authority_key() -> Path | None:
    """The key of the box's authority, where systemd has it as the credential `tinkbox-authority-key` (systemd.exec(5))."""
    folder = os.environ.get("CREDENTIALS_DIRECTORY")
    path = Path(folder) / AUTHORITY_KEY if folder else None
    return path if path is not None and path.exists() else None


def credentials_folder() -> str:
    """Where systemd has what a unit is given by LoadCredential= and its like (systemd.exec(5)); empty: it is given nothing."""
    return os.environ.get("CREDENTIALS_DIRECTORY", "")


def editor() -> str:
    """The operator's editor, a line for a shell: of `VISUAL`, else of `EDITOR`, as Debian's programs take it; empty: none is named."""
    return os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""


def terminal_kind() -> str:
    """The operator's terminal, as programs in a shell take it from `TERM`; empty where that is not known."""
    return os.environ.get("TERM") or ""


def wants_colours() -> bool:
    """Whether the operator left `NO_COLOR` empty (no-color.org)."""
    return not os.environ.get("NO_COLOR")


def default_cache() -> Path:
    """Where the operator's commands keep what they can fetch again: /var/cache/tinkbox for root, else below $XDG_CACHE_HOME."""
    if os.geteuid() == 0 and not os.environ.get("XDG_CACHE_HOME"):
        return Path("/var/cache/tinkbox")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tinkbox"


def boxes_file() -> Path:
    """Where a user's logins are kept, below $XDG_CONFIG_HOME: they are a person's own, root's as well."""
    folder = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111  a user without a home has none
    return Path(folder) / "tinkbox" / "boxes.json"


def own_configuration() -> Path:
    """Where a user's own configuration of the commands is: /etc/tinkbox for root, else below $XDG_CONFIG_HOME."""
    if os.geteuid() == 0 and not os.environ.get("XDG_CONFIG_HOME"):
        return Path("/etc/tinkbox")
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "tinkbox"
