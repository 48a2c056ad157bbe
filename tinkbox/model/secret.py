"""Secrets by their names: what people may call them, who gets them, and the marks that stand for their values in texts.

A mark is all that is ever rendered, stored and shown of a secret: its name, and a MAC by a key that belongs to one workflow
(`mark_of`).  The value takes its place on the machine, when an action's container is made.  So text that a machine or a
person wrote is never taken for one: nobody knows the key of a workflow before it is rendered, and afterwards nothing is.
"""

import base64
import hashlib
import hmac
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.text import spelled

MAX_SECRETS: Final = 1_000
MAX_VALUE: Final = 64 * 1024  # bytes
LEAST_VALUE: Final = 6  # bytes: what is shorter is found in any output, and cannot be masked
MAX_USES: Final = 64  # secrets of one action or service
FOLDER: Final = "/run/secrets"
"""Where a container has its secrets as files, as Docker's own."""
PREFIX: Final = "tbsecret-v1."
_MAC_BYTES: Final = 16
_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")
_MARK: Final = re.compile(
    r"tbsecret-v1\.(?P<name>[A-Za-z0-9][A-Za-z0-9._-]{0,252}?)\.(?P<form>raw|b64)\.(?P<mac>[0-9a-f]{32})"
)
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WRITTEN: Final = re.compile(r"""\{\{\s*secret\s*(?:\(\s*)?"(?P<name>[A-Za-z0-9._-]+)"\s*\)?\s*\}\}""")

_ASKING: Final = re.compile(r"""\{\{-?\s*secret\s*(?:\(\s*)?["'`]""")


# In the text of a template, before it is filled.
_CALLED: Final = re.compile(r"""(?<![\w.$])secret\s*\(?\s*\\?["'`](?P<name>[A-Za-z0-9._-]+)\\?["'`]""")
_LIST: Final = re.compile(r"(?P<before>[ \t]*(?:-[ \t]+)?)secrets:(?P<rest>.*)")
_NOT_NAMES: Final = re.compile(r"""(?:^|\s)\#.*|\b(?:env|file)["']?\s*:\s*[^,}\n]*|\bname["']?\s*:""", re.MULTILINE)


class Form(StrEnum):
    """What of a value stands in the place of its mark."""

    RAW = "raw"
    BASE64 = "b64"  # RFC 4648, section 4


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretUse:
    """An entry of `secrets:`: the secret as the variable `env`, or as the file at the path `file` in the container."""

    name: str
    env: str = ""
    file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretDocument:
    """A `kind: Secret` by its name and namespace."""

    name: str
    namespace: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretEntry:
    """An entry of a `kind: Secret`, which is a secret of its own (https://kubernetes.io/docs/concepts/configuration/secret/)."""

    document: SecretDocument
    key: str

    @property
    def name(self) -> str:
        """That of the secret."""
        return f"{self.document.name}.{self.key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """What may be told of a secret: `size` in bytes, and when and by whom its value was set.

    `document` is the one that it is an entry of, None: it was set by hand, and is an entry of each Secret whose name and a dot it begins
    with.
    """

    name: str
    size: int
    set_at: datetime
    set_by: str
    document: SecretDocument | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A mark in a text, whoever wrote it."""

    text: str
    name: str
    form: Form


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSecret:
    """A place of a rendered template that asks for a secret; `line` counts from 1, None: it is not known."""

    name: str
    line: int | None
    key: str = ""


def no_secret(asked: NamedSecret) -> Problem:
    """What to say of a place that asks for a secret that there is not."""
    return Problem(
        line=asked.line,
        key=asked.key,
        text=f'there is no secret "{asked.name}": set it with `tinkbox secret set {asked.name}`',
    )


def check_secret_name(name: str) -> None:
    """Raise Invalid for what is no name of a secret: letters, digits, `.`, `_` and `-`, as Kubernetes has its keys."""
    if not _NAME.fullmatch(name):
        raise Invalid(
            f"{spelled(name)} is no name of a secret: up to 253 letters, digits, dots, dashes and underscores, "
            "with a letter or digit at both ends"
        )


def check_value(value: bytes) -> None:
    """Raise Invalid for a value that is too long to keep, or too short to mask."""
    if len(value) > MAX_VALUE:
        raise Invalid(f"the value has more than {MAX_VALUE // 1024} KiB, which is the most that a secret may have")
    if not value.strip():
        raise Invalid("the value is empty, or blank alone: see that what was to give it did so")
    if len(value.strip()) < LEAST_VALUE:
        raise Invalid(
            f"the value has fewer than {LEAST_VALUE} bytes: so short a text is found in any output, and could not be masked"
        )


def is_text(value: bytes) -> bool:
    """Whether a command line or an environment can have a value: it is UTF-8 without NUL."""
    try:
        return "\0" not in value.decode()
    except UnicodeDecodeError:
        return False


def is_variable(name: str) -> bool:
    """Whether an environment variable may be called so (POSIX, Environment Variable Definition)."""
    return _VARIABLE.fullmatch(name) is not None


def workflow_key(key: bytes, workflow_id: str) -> bytes:
    """The key of a workflow's marks, from the appliance's."""
    return hmac.digest(key, b"marks of " + workflow_id.encode(), hashlib.sha256)


def mark_of(key: bytes, name: str, form: Form = Form.RAW) -> str:
    """The mark of a secret in the workflow of this key; raises Invalid for what is no name of a secret."""
    check_secret_name(name)
    mac = hmac.digest(key, f"{name} {form}".encode(), hashlib.sha256)[:_MAC_BYTES].hex()
    return f"{PREFIX}{name}.{form}.{mac}"


def other_form(key: bytes, mark: str, form: Form) -> str | None:
    """The mark of the same secret in another form; None for what is no mark of this key and of the opposite form."""
    found = _MARK.fullmatch(mark)
    if found is None or Form(found["form"]) is form or not is_true(key, _mark(found)):
        return None
    return mark_of(key, found["name"], form)


def is_true(key: bytes, mark: Mark) -> bool:
    """Whether a mark is of this key."""
    try:
        return hmac.compare_digest(mark_of(key, mark.name, mark.form), mark.text)
    except Invalid:
        return False


def marks_in(texts: Iterable[str]) -> Iterator[Mark]:
    """Everything in these texts that looks like a mark."""
    for text in texts:
        if PREFIX in text:
            yield from map(_mark, _MARK.finditer(text))


def has_mark(text: str) -> bool:
    return PREFIX in text and _MARK.search(text) is not None


def named_in(text: str) -> list[NamedSecret]:
    """The secrets whose marks stand in a rendered text, with their lines."""
    found = _MARK.finditer(text) if PREFIX in text else ()
    return [NamedSecret(name=each["name"], line=text.count("\n", 0, each.start()) + 1) for each in found]


def shown(text: str) -> str:
    """A text for people: each mark as it is written in templates."""
    if PREFIX not in text:
        return text
    return _MARK.sub(lambda found: f'{{{{ secret "{found["name"]}"{_FILTERS[Form(found["form"])]} }}}}', text)


def marked(key: bytes, text: str) -> str:
    """The opposite of `shown`, for what a person wrote: `{{ secret "name" }}` becomes a mark."""
    return _WRITTEN.sub(lambda found: mark_of(key, found["name"]), text) if "{{" in text else text


def asks_for_secret(text: str) -> bool:
    """Whether a person wrote something into this that asks for a secret as a template does."""
    return "{{" in text and _ASKING.search(text) is not None


def asked_in(text: str) -> frozenset[str]:
    """The names that a template asks for as its text stands: by `secret "NAME"` and in lists of `secrets:`.

    What it makes up of parts is not known before it is filled.  A list that is filled may have words that are no secrets.
    """
    if "secret" not in text:
        return frozenset()
    listed = _NOT_NAMES.sub(" ", "\n".join(_lists(text.splitlines())))
    return frozenset({found["name"] for found in _CALLED.finditer(text)} | set(_NAME.findall(listed)))


def _lists(lines: Sequence[str]) -> Iterator[str]:
    """The lines of all lists of `secrets:`, by how far they are indented (YAML 1.2, sections 7.4 and 8.2.1)."""
    column = -1
    for each in lines:
        begin, indented = _LIST.match(each), len(each) - len(each.lstrip(" "))
        if begin is not None:
            column = len(begin["before"])
            yield begin["rest"]
        elif column >= 0 and each.strip():
            if indented > column or (indented == column and each.lstrip().startswith(("-", "]", "{{"))):
                yield each
            else:
                column = -1


def in_form(value: bytes, form: Form) -> bytes:
    """What takes the place of a mark of this form."""
    return base64.b64encode(value) if form is Form.BASE64 else value


def revealed(text: str, given: Mapping[str, bytes]) -> str:
    """A text with the values of the marks that are in it; others stay.  Raises Invalid for a value that is no text (UTF-8)."""
    if PREFIX not in text:
        return text

    def value(found: re.Match[str]) -> str:
        content = given.get(found[0])
        return found[0] if content is None else as_text(found["name"], content)

    return _MARK.sub(value, text)


def as_text(name: str, value: bytes) -> str:
    """A value for a command line or an environment; raises Invalid for what none of these can have."""
    if not is_text(value):
        raise Invalid(
            f'the secret "{name}" is no text, and no command line or environment can have it: give it as a file, '
            f"with `secrets: [{name}]`"
        )
    return value.decode()


def base64_aware(key: bytes, function: Callable[..., str], form: Form) -> Callable[[str], str]:
    """`b64enc` or `b64dec`, of which a mark makes the mark of the other form."""

    def changed(text: str) -> str:
        return other_form(key, text, form) or function(text)

    return changed


_FILTERS: Final = {Form.RAW: "", Form.BASE64: " | b64enc"}


def _mark(found: re.Match[str]) -> Mark:
    return Mark(text=found[0], name=found["name"], form=Form(found["form"]))
