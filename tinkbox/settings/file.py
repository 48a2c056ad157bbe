"""The configuration file: found, read, and refused with everything that is wrong with it.

Most commands only ask which appliance they speak to, and start the quicker for what is not imported then.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tinkbox.model.errors import Invalid, NotFound, Problem
from tinkbox.model.text import counted
from tinkbox.settings.environment import LOGIN, ClientTarget, default_data, named_server, own_token

if TYPE_CHECKING:
    from tinkbox.settings.all_settings import Settings

CONFIG = Path("/etc/tinkbox/tinkbox.yaml")
HOST_DATA = Path("/var/lib/tinkbox")
SOCKET = "operator.sock"


def load(path: Path | None = None, data: Path | None = None) -> "Settings":
    """Read the configuration file; `data` overrides what it says.

    Without `path` the file in /etc is read when it is there.  Raises NotFound for a file that was
    named but is not there, and Invalid naming every problem in it.
    """
    from tinkbox.settings import contradictions
    from tinkbox.settings.all_settings import Settings
    from tinkbox.settings.declaring import keys_of
    from tinkbox.settings.values import values_of

    chosen = path if path is not None else CONFIG
    try:
        content = chosen.read_bytes()
    except FileNotFoundError:
        if path is not None:
            raise NotFound(f"no configuration file {path}: leave --config out to run with the defaults") from None
        content = b""
    except OSError as error:
        raise Invalid(f"cannot read the configuration file {chosen}: {error}") from None
    problems, lines = list[Problem](), dict[str, int]()
    try:
        document = values_of(content, problems, lines)
    except Invalid as error:
        told = "; ".join(map(str, error.problems)) or str(error)
        raise Invalid(f"{chosen} is not valid YAML: {told}") from None
    settings = keys_of(Settings).read(document, "", problems, contradictions.in_file)
    if problems:
        placed = [each if each.line else replace(each, line=_line(each.key, lines)) for each in problems]
        in_order = sorted(placed, key=lambda each: each.line or math.inf)
        raise Invalid(f"{chosen} has {counted(len(problems), 'problem')}", in_order)
    return settings if data is None else replace(settings, data=data.absolute())


def _line(key: str, lines: Mapping[str, int]) -> int | None:
    """Where a key stands in the file, or what it would stand below; None where the file has neither."""
    while key and key not in lines:
        key = key[: max(key.rfind("."), key.rfind("["), 0)]
    return lines.get(key)


def is_draft(path: Path | None) -> bool:
    """Whether a configuration file, if one was named, is another one than the unit uses: that in /etc."""
    if path is None:
        return False
    try:
        return not path.samefile(CONFIG)
    except OSError:
        return path.absolute() != CONFIG


def client_target(data: Path | None = None) -> ClientTarget:
    """Which appliance the commands speak to.

    `--data` beats `TINKBOX_SERVER` (with `TINKBOX_TOKEN`), which beats the box of the last `tinkbox login`, and that the data
    directory that the configuration file names.
    """
    if data is None:
        if (named := named_server()) is not None:
            return with_login(named)
        from tinkbox.settings.boxes import read_boxes

        if current := read_boxes().current:
            return with_login(ClientTarget(url=current, token=own_token(), variable=LOGIN))
    return ClientTarget(socket=(data or _configured_data()) / SOCKET)


def with_login(target: ClientTarget) -> ClientTarget:
    """The same, with what `tinkbox login` keeps of it: its authority, and its token where none is given."""
    if not target.url.startswith("https:"):
        return target
    from tinkbox.settings.boxes import read_boxes

    kept = read_boxes().of(target.url)
    return replace(target, token=target.token or kept.token, authority=kept.authority)


def _configured_data() -> Path:
    own = default_data().absolute()
    try:
        CONFIG.stat()
        written = True
    except FileNotFoundError:
        written = False
    except OSError:
        written = True  # reading says what is wrong
    configured = load().data if written else own
    # The host's appliance, where the caller has none of their own: a member of its group comes to its socket, and anybody else hears so.
    has_own = configured != own or bool(_is_there(own / SOCKET))
    there = _is_there(HOST_DATA / SOCKET)
    return HOST_DATA if not has_own and (there or (there is None and not _is_there(own))) else configured


def _is_there(path: Path) -> bool | None:
    """Whether we see a file; None where a folder before it is closed to us."""
    try:
        return path.exists()
    except OSError:
        return None
