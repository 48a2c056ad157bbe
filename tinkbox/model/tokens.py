"""Tokens of people and programs: what is known of one, and what its name, its rights and its end may be."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from shlex import quote
from typing import Final

from tinkbox.model.access import BEYOND_SCOPES, OPERATOR, Caller, Means, Right
from tinkbox.model.duration import parse_duration
from tinkbox.model.errors import Forbidden, Invalid
from tinkbox.model.labels import Selector
from tinkbox.model.text import quoted

PREFIX: Final = "tbx_"
"""Every token begins so, and 48 hexadecimal digits follow: programs that look for leaked secrets search for `tbx_[0-9a-f]{48}`."""
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
# Also one that was cut off when it was pasted: the rest of it is soon guessed.
_LIKE_ONE: Final = re.compile(rf"{PREFIX}[0-9a-f]{{8,}}", re.IGNORECASE)
# Who else stands in the records: the operator, the appliance and its parts, the host's administrator, how people showed who they
# are, and words for no one.
RESERVED: Final = frozenset(
    {
        OPERATOR,
        "tinkbox",
        "appliance",
        "system",
        "worker",
        "root",
        "others",
        "ticket",
        "anonymous",
        "nobody",
        "none",
        "null",
        *Means,
    }
)
NEVER: Final = "never"
TAKEN_OVER: Final = "operator.people"
"""Who made the tokens that an earlier release had: its setting."""
DEFAULT_DAYS: Final = 90
MAX_DAYS: Final = 3650
MAX_TOKENS: Final = 1000
OVERLAP: Final = timedelta(hours=1)
MAX_OVERLAP: Final = timedelta(days=7)
MAX_LOGINS: Final = 8
"""Tokens that an issuer vouched for and that have one name: a ninth log-in ends the oldest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """All that is kept of a token; of its text there is the SHA-256 alone, in hexadecimal digits.

    `until` is None for one that never expires, `used_at` None for one that was not used yet, and late by a minute.  `by` is
    who made it.
    """

    id: str
    hash: str
    name: str
    rights: frozenset[Right]
    means: Means
    scope: Selector | None
    until: datetime | None
    created_at: datetime
    by: str
    used_at: datetime | None = None

    def is_over(self, now: datetime) -> bool:
        return self.until is not None and self.until <= now

    def describe(self) -> str:
        """Rights, scope and end for a record."""
        return describe(self.rights, self.scope, self.until)

    @property
    def bearer(self) -> Caller:
        """Who shows it."""
        return Caller(name=self.name, rights=self.rights, means=self.means, scope=self.scope, token=self.id)


def describe(rights: frozenset[Right], scope: Selector | None, until: datetime | None) -> str:
    """Rights, scope and end of a token for a record."""
    given = ", ".join(each for each in Right if each in rights)
    end = f"until {until.isoformat(timespec='seconds')}" if until is not None else "without an end"
    return f"{given}; {f'scope {scope}' if scope is not None else 'no scope'}; {end}"


def looks_like_one(text: str) -> bool:
    """Whether the text of a token of ours, or the beginning of one, is in a text."""
    return _LIKE_ONE.search(text) is not None


def refuse_text(text: str, name: str = "", *, known: bool = False) -> None:
    """Raises Invalid for the text of a token, one that is `known` or looks so, where its name is asked for, which may be known."""
    if known or looks_like_one(text):
        wanted = f"type `tinkbox token revoke {name}`" if name else "`tinkbox token list` shows the names"
        raise Invalid(f"this is the text of a token, and its name is asked for: {wanted}")


def parse_name(text: str) -> str:
    """The name of a token; raises Invalid."""
    if looks_like_one(text):
        raise Invalid("this is the text of a token and no name for one: choose the name of who will use it")
    if not NAME.fullmatch(text):
        raise Invalid(f"{quoted(text)} is no name of a token: use up to 64 letters, digits and . _ @ - in between")
    if text.lower() in RESERVED:
        raise Invalid(
            f"{quoted(text)} is no name of a token, for in the records it would be taken for another: choose the name of "
            "who will use it"
        )
    return text


def parse_rights(texts: Iterable[str]) -> frozenset[Right]:
    """Rights by their names, at least one; raises Invalid."""
    given = list(texts)
    wrong = next((each for each in given if each not in list(Right)), None)
    if wrong is not None or not given:
        which = "a token needs a right" if wrong is None else f"{quoted(wrong)} is no right"
        raise Invalid(f"{which}: expected {', '.join(Right)}")
    return frozenset(map(Right, given))


def parse_expiry(text: str, now: datetime) -> datetime | None:
    """When a token ends that expires after a duration such as 90d, empty: after DEFAULT_DAYS; None for `never`.

    Raises Invalid, also for a number without a unit: days are what people mean, and seconds what it is elsewhere.
    """
    if text == NEVER:
        return None
    seconds = _seconds(text) if text else DEFAULT_DAYS * 86_400
    if not 0 < seconds <= MAX_DAYS * 86_400:
        raise Invalid(f"{quoted(text)} is not between 1s and {MAX_DAYS}d: write {NEVER} for a token without an end")
    return now + timedelta(seconds=seconds)


def parse_overlap(text: str, lasts: timedelta | None) -> timedelta:
    """How long the former text of a token counts beside its new one, empty: OVERLAP; no longer than that one `lasts`, None: without an end.

    Raises Invalid as `parse_expiry`.
    """
    seconds = 0 if text.strip() == "0" else _seconds(text) if text else OVERLAP.total_seconds()
    if seconds > MAX_OVERLAP.total_seconds():
        raise Invalid(f"{quoted(text)} is too long: the former text counts {MAX_OVERLAP.days}d at most")
    overlap = timedelta(seconds=seconds)
    return overlap if lasts is None else min(overlap, lasts)


def _seconds(text: str) -> int:
    if text.strip().isdecimal():
        raise Invalid(f"{quoted(text)} has no unit: write {quoted(text.strip())[1:-1]}d for days, or h, m or s")
    try:
        return parse_duration(text)
    except Invalid:
        raise Invalid(
            f"{quoted(text)} is no duration: write days (d), hours (h), minutes (m) or seconds (s), such as 365d, 12h or 1h30m"
        ) from None


def refuse_useless(rights: frozenset[Right], scope: Selector | None) -> None:
    """Raises Invalid for a right that nobody can use who has a scope."""
    useless = [each for each in Right if each in rights & BEYOND_SCOPES]
    if scope is not None and useless:
        raise Invalid(
            f"the right to {' and '.join(useless)} is about all machines, so a token with a scope cannot use it: leave out "
            f"`-l {quote(str(scope))}`, or the right"
        )


def refuse_more(by: Caller, rights: frozenset[Right], scope: Selector | None) -> None:
    """Raises Forbidden where somebody would give rights that they lack, or a wider scope than theirs."""
    lacking = [each for each in Right if each in rights - by.rights]
    if lacking:
        raise Forbidden(f"{by.describe()} cannot give the right to {' or '.join(lacking)}: nobody gives what they lack")
    if by.scope is None:
        return
    if scope is None or not set(by.scope.requirements) <= set(scope.requirements):
        raise Forbidden(
            f"{by.name} has the scope {by.scope} and cannot give a wider one: add `-l {quoted(str(by.scope))}`"
        )
