"""A volume of a container, as templates word it and the Docker engine takes it: `[SOURCE:]TARGET[:MODES]` (`HostConfig.Binds`)."""

import re
from dataclasses import dataclass
from posixpath import normpath
from typing import Final

from tinkbox.model.errors import Invalid

MAX_NAME: Final = 255
_NAME: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]*")
_PROPAGATION: Final = frozenset({"private", "rprivate", "slave", "rslave", "shared", "rshared"})
_COPY: Final = frozenset({"nocopy"})
# Of each family a volume has one at most.
_FAMILIES: Final = (
    frozenset({"ro", "rw"}),
    frozenset({"z", "Z"}),
    _PROPAGATION,
    _COPY,
    frozenset({"consistent", "cached", "delegated"}),
)
_EXPECTED: Final = "expected /host/path:/container/path, NAME:/container/path or /container/path"


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """`source` is a path of the host or the name of a volume of its engine, empty for a new one that goes with the container.

    `target` is the container's folder in its shortest form.
    """

    source: str
    target: str
    modes: frozenset[str] = frozenset()

    @property
    def is_named(self) -> bool:
        """Whether the engine keeps it under a name."""
        return bool(self.source) and not self.source.startswith("/")


def parse_volume(text: str, *, shortest: int = 2) -> Volume:
    """Raises Invalid for what no engine takes, with the reason for which Docker refuses it.

    Names of engines' volumes have two letters at least; those that an appliance gives to its own folders have one as well.
    """
    source, target, written = _parts(text)
    modes = written.split(",") if written else []
    if not target.startswith("/"):
        raise Invalid(f"the path in the container must be absolute, not {target[:40]!r}: {_EXPECTED}")
    # To POSIX two slashes at the beginning mean something else than one; to a container's mounts they do not.
    found = Volume(source=source, target=normpath(f"/{target.lstrip('/')}"), modes=frozenset(modes))
    if found.target == "/":
        raise Invalid("the path in the container can't be /: name a folder below it")
    if found.is_named and not (_NAME.fullmatch(source) and shortest <= len(source) <= MAX_NAME):
        name = f"no name of a volume, which has {shortest} to {MAX_NAME} characters of [a-zA-Z0-9_.-]"
        raise Invalid(f"{source[:40]!r} is no absolute path, and {name}: {_EXPECTED}")
    _check_modes(found, modes)
    return found


def _parts(text: str) -> tuple[str, str, str]:
    match text.split(":"):
        case [target]:
            return "", target, ""
        case [source, target] if source:
            if source.startswith("/") and all(_is_mode(mode) for mode in target.split(",")):
                raise Invalid(
                    f"it has a mode ({target}), and nothing before it to mount: {_EXPECTED}, and then the mode"
                )
            return source, target, ""
        case [source, target, modes] if source:
            return source, target, modes
    raise Invalid(f"{_EXPECTED}, and perhaps a mode such as :ro")


def _is_mode(word: str) -> bool:
    return any(word in family for family in _FAMILIES)


def _check_modes(volume: Volume, modes: list[str]) -> None:
    for mode in modes:
        if not _is_mode(mode):
            known = ", ".join(word for family in _FAMILIES for word in sorted(family))
            raise Invalid(f"invalid mode {mode[:40]!r}: there are {known}")
    for family in _FAMILIES:
        if len(both := [mode for mode in modes if mode in family]) > 1:
            raise Invalid(f"invalid mode {','.join(both)!r}: one of them at most")
    if volume.is_named and volume.modes & _PROPAGATION:
        raise Invalid("a named volume takes no mount propagation: that is for paths of the host")
    if not volume.is_named and volume.modes & _COPY:
        raise Invalid("nocopy is for named volumes: nothing is copied into a path of the host")
