"""Sprig's functions on slash-separated paths. The names that begin with `os` are the same, as on any Unix."""

from collections.abc import Mapping

from tinkbox.sprig.arguments import Function, typed


def clean(path: str) -> str:
    """Give the shortest equal path, `.` if it is empty."""
    rooted = path.startswith("/")
    parts: list[str] = []
    for part in path.split("/"):
        if part in ("", "."):
            continue
        if part != "..":
            parts.append(part)
        elif parts and parts[-1] != "..":
            parts.pop()
        elif not rooted:
            parts.append(part)
    return ("/" if rooted else "") + "/".join(parts) or "."


def base(path: str) -> str:
    """Give the last element; `.` of an empty path, `/` of the root."""
    if not path:
        return "."
    return path.rstrip("/").rpartition("/")[2] or "/"


def directory(path: str) -> str:
    """Give all but the last element, cleaned."""
    return clean(path[: path.rfind("/") + 1])


def extension(path: str) -> str:
    """Give the last element from its last dot on; empty if it has none."""
    _, dot, end = path.rpartition("/")[2].rpartition(".")
    return dot + end if dot else ""


def is_absolute(path: str) -> bool:
    return path.startswith("/")


NAMES = {"base": base, "dir": directory, "clean": clean, "ext": extension, "isAbs": is_absolute}
FUNCTIONS: Mapping[str, Function] = {
    **{name: typed(function, "string") for name, function in NAMES.items()},
    **{f"os{name[0].upper()}{name[1:]}": typed(function, "string") for name, function in NAMES.items()},
}
