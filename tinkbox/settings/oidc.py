"""The section `operator.oidc`: an issuer of a company's accounts, by which people log in."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from tinkbox.model.access import Right
from tinkbox.model.errors import Invalid, Problem
from tinkbox.settings import readers
from tinkbox.settings.declaring import reader, setting
from tinkbox.wire.oidc import check_url

MAX_GROUPS: Final = 1000
MAX_NAME: Final = 256
SHORTEST: Final = timedelta(minutes=1)
OPENID: Final = "openid"
_EXAMPLE: Final = "https://login.example.com"


@reader(f"a URL such as `{_EXAMPLE}`")
def issuer(value: Any, default: str) -> str:
    """The URL as it was written: it must be what the issuer says of itself, letter by letter."""
    found = readers.written(value) or default
    if found:
        check_url(found)
    return found


@reader(f"groups, each with a list of rights: {', '.join(f'`{each}`' for each in Right)}")
def rights_by_group(value: Any, _: Mapping[str, frozenset[Right]]) -> Mapping[str, frozenset[Right]]:
    """Raises Invalid with a problem for each wrong group."""
    if not isinstance(value, dict):
        raise Invalid(f"expected groups with rights, such as {{lab: [look, attach]}}, not {value!r}")
    problems: list[Problem] = []
    for group, rights in value.items():
        if not isinstance(group, str) or not group or len(group) > MAX_NAME:
            problems.append(Problem(key=str(group)[:MAX_NAME], text="a group is text: put it in quotes"))
        elif not isinstance(rights, list) or not rights or not all(each in list(Right) for each in rights):
            problems.append(Problem(key=group, text=f"expected a list of {', '.join(Right)}, such as [look]"))
    if len(value) > MAX_GROUPS:
        problems.append(Problem(text=f"at most {MAX_GROUPS} groups, not {len(value)}"))
    if problems:
        raise Invalid("wrong groups or rights", problems)
    return {group: frozenset(map(Right, rights)) for group, rights in value.items()}


@reader("a list of scopes", shown=lambda default: f"[{', '.join(default)}]")
def scopes(value: Any, default: tuple[str, ...]) -> tuple[str, ...]:
    """Without `openid` an issuer gives no id token (OpenID Connect Core 1.0, section 3.1.2.1)."""
    found = readers.texts.read(value, default)
    if any(not each.isascii() or not each.isprintable() or " " in each for each in found):
        raise Invalid(f"expected a list of scopes such as [openid, profile, groups], not {value!r}")
    return found if OPENID in found else (OPENID, *found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Oidc:
    """People who log in by an issuer of OpenID Connect; without `issuer` nobody does."""

    issuer: str = setting(
        "",
        issuer,
        "OIDC issuer whose accounts may log in with `tinkbox login --oidc`, written as the issuer writes itself "
        "([Log in with your company's accounts](#log-in-with-your-companys-accounts))",
    )
    client_id: str = setting(
        "", readers.text, "the client that the issuer knows tinkbox as: a public one, for tinkbox alone"
    )
    groups: Mapping[str, frozenset[Right]] = setting(
        {},
        rights_by_group,
        "groups of the issuer, and the rights of their members. With several groups somebody has the rights of all",
    )
    claim: str = setting(
        "groups",
        readers.text,
        "claim of the id token that has a person's groups; `realm_access.roles` is a claim within another one",
    )
    name: str = setting(
        "preferred_username",
        readers.text,
        "claim of the id token that names a person in records; `email` counts only where the issuer verified it",
    )
    scopes: tuple[str, ...] = setting(
        (OPENID, "profile"), scopes, "scopes that the issuer is asked for; `openid` is always one of them"
    )
    lifetime: timedelta = setting(
        timedelta(hours=8), readers.duration(SHORTEST), "how long the token lasts that somebody gets by logging in"
    )
    ca: Path | None = setting(
        None,
        readers.folder,
        "file (PEM) of the authority that signed the issuer's certificate. Default: those that the host trusts",
    )


def check_oidc(oidc: Oidc, unread: Sequence[str]) -> Iterator[Problem]:
    """An issuer needs a client and a group, and both need it."""
    needed = {"client_id": oidc.client_id, "groups": oidc.groups}
    if not oidc.issuer and any(needed.values()) and "issuer" not in unread:
        yield Problem(key="issuer", text=f"missing: the URL of the issuer, such as {_EXAMPLE}")
    for key, value in needed.items():
        if oidc.issuer and not value and not any(each.split(".")[0] == key for each in unread):
            yield Problem(key=key, text="missing: operator.oidc.issuer needs it")
