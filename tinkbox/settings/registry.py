"""The section `registry`: where images come from that a template names with a registry's host."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.images.mirrors import Mirror
from tinkbox.model.images.references import REPOSITORY, parse_reference
from tinkbox.settings import readers
from tinkbox.settings.declaring import reader, setting

MAX_MIRRORS: Final = 64
_KEYS: Final = ("url", "username", "password_file")
_EXAMPLE: Final = "https://registry-1.docker.io"


@reader("hosts of registries, each with a URL, or with `url`, `username` and `password_file`")
def mirrors(value: Any, _: Mapping[str, Mirror]) -> Mapping[str, Mirror]:
    """By host, as repositories are kept here.  Raises Invalid with a problem for each that is wrong."""
    if not isinstance(value, dict):
        raise Invalid(f"expected hosts with URLs, such as {{docker.io: '{_EXAMPLE}'}}, not {value!r}")
    found: dict[str, Mirror] = {}
    problems: list[Problem] = []
    for host, written in value.items():
        try:
            kept = _kept_host(host)
            if kept in found:
                raise Invalid(f"{kept} stands here twice: leave one of them")
            found[kept] = _mirror(written)
        except Invalid as error:
            problems.append(Problem(key=str(host), text=str(error)))
    if len(value) > MAX_MIRRORS:
        problems.append(Problem(text=f"at most {MAX_MIRRORS} hosts, not {len(value)}"))
    if problems:
        raise Invalid("wrong mirrors", problems)
    return found


def _kept_host(host: object) -> str:
    try:
        named = parse_reference(f"{host}/x")
    except Invalid:
        named = parse_reference("x")
    if named.host != host:
        raise Invalid(f"expected the host of a registry, as images name it, such as quay.io, not {host!r}")
    return named.kept_as.partition("/")[0]


def _mirror(written: object) -> Mirror:
    fields: Mapping[Any, Any] = written if isinstance(written, dict) else {"url": written}
    unknown = [str(each) for each in fields if each not in _KEYS]
    if unknown or not all(isinstance(each, str) for each in fields.values()):
        raise Invalid(f"expected a URL, or texts under {', '.join(_KEYS)}, not {written!r}")
    username, file = fields.get("username", ""), fields.get("password_file", "")
    if bool(username) != bool(file):
        raise Invalid("`username` and `password_file` go together: write both, or none")
    if ":" in username:
        raise Invalid("a user name has no colon (RFC 7617, section 2)")
    path = readers.folder.read(file, None)
    return Mirror(url=_url(fields.get("url", "")), username=username, password_file=str(path or ""))


def _url(text: str) -> str:
    try:
        parts = urlsplit(text.rstrip("/"))
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        whole = False
    if not whole or parts.query or parts.fragment or not text.isascii() or any(each <= " " for each in text):
        raise Invalid(f"expected the URL of a registry, such as {_EXAMPLE}, not {text!r}")
    if "@" in parts.netloc:
        raise Invalid("a URL has no password in it: write `username` and `password_file`")
    if parts.path and not REPOSITORY.match(parts.path.removeprefix("/")):
        raise Invalid(f"behind the host only the beginning of repositories' names may stand, not {parts.path!r}")
    return f"{parts.scheme}://{parts.netloc}{parts.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """Images of other registries."""

    offline: bool = setting(
        False,
        readers.switch,
        "whether images come from the appliance alone: neither it nor a machine asks another registry",
    )
    mirrors: Mapping[str, Mirror] = setting(
        {},
        mirrors,
        "registries from which the appliance fetches what it lacks ([actions.md](actions.md#images-of-other-registries)), by "
        f"the host in an image's name: `{{docker.io: {_EXAMPLE}}}`. That of `docker.io` is also asked for names of one part, such as "
        "`alpine` ([images.md](images.md#names-without-a-host))",
    )

    @property
    def asked(self) -> Mapping[str, Mirror]:
        """The mirrors that may be asked."""
        return {} if self.offline else self.mirrors
