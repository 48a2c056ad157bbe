"""Which fields of documents the field calls secret, and documents without their values, for who lacks the right to `secrets`.

A field is known by its name, at whatever depth: documents of 2020 and images of today put theirs where they like.
"""

import base64
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.hardware import Hardware

MASKED: Final = "(masked: to read this needs the right to secrets)"
LEAST_LINE: Final = 6  # letters
# In small letters, without dashes and underscores.
SECRET_FIELDS: Final = frozenset(
    {
        "userdata",
        "vendordata",
        "cryptedrootpassword",
        "rootpassword",
        "password",
        "passwordhash",
        "passwd",
        "hashedpasswd",
        "plaintextpasswd",
        "sshhostkeys",
        "hostkeys",
        "privatekey",
        "clientkey",
    }
)


def masked(document: Any) -> Any:
    """The same without the values of secret fields, in place of which MASKED stands; what has none is the same object."""
    if isinstance(document, Mapping):
        shown = {name: MASKED if _is_secret(name, value) else masked(value) for name, value in document.items()}
        return document if all(shown[name] is value for name, value in document.items()) else shown
    if isinstance(document, list | tuple):
        listed = [masked(each) for each in document]
        return document if all(one is each for one, each in zip(listed, document, strict=True)) else listed
    return document


def has_secrets(document: Any) -> bool:
    """Whether a document has a field that is called secret, and that has a value."""
    return masked(document) is not document


def masked_machine(machine: Hardware) -> Hardware:
    """The same machine, whose document has no secret values."""
    shown = masked(machine.document)
    return machine if shown is machine.document else replace(machine, document=shown)


def secret_texts(document: Any) -> Iterator[str]:
    """The texts of secret fields, wherever they are."""
    if isinstance(document, Mapping):
        for name, value in document.items():
            yield from _texts(value) if _is_secret(name, value) else secret_texts(value)
    elif isinstance(document, list | tuple):
        for each in document:
            yield from secret_texts(each)


def concealed(document: Any, secrets: Collection[str]) -> Any:
    """A document in whose texts MASKED stands in the place of these secrets, and of their lines, as templates put them there.

    What a template makes of a secret, other than its base64 and hexadecimal forms, is not found.
    """
    forms = _forms(secrets)
    return _without(document, forms) if forms else document


def refuse_masked(document: Any) -> None:
    """Raises Invalid for a document that was shown without its secrets: stored so, it would lose them."""
    problems = [
        Problem(key=key, text="it is masked, and storing it would lose what it hides") for key in _masked(document, "")
    ]
    if problems:
        raise Invalid(
            "the document was read without the right to secrets: leave these fields as they are with `tinkbox hardware edit` and "
            "its flags, or read it with a token that has the right",
            problems,
        )


def _is_secret(name: object, value: Any) -> bool:
    return (
        isinstance(name, str)
        and name.lower().replace("_", "").replace("-", "") in SECRET_FIELDS
        and value not in (None, "", [], {}, False, True)
    )


def _forms(secrets: Collection[str]) -> Sequence[str]:
    """What is looked for, the longest first; a short line says little, and stands elsewhere too."""
    forms: set[str] = set()
    for each in secrets:
        forms |= {each, base64.b64encode(each.encode()).decode(), each.encode().hex(), json.dumps(each)[1:-1]}
        forms |= {line.strip() for line in each.splitlines()}
    return sorted((each for each in forms if len(each.strip()) >= LEAST_LINE), key=len, reverse=True)


def _without(document: Any, forms: Sequence[str]) -> Any:
    if isinstance(document, str):
        for each in forms:
            document = document.replace(each, MASKED)
        return document
    if isinstance(document, Mapping):
        return {name: _without(value, forms) for name, value in document.items()}
    if isinstance(document, list | tuple):
        return [_without(each, forms) for each in document]
    return document


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)


def _masked(document: Any, where: str) -> Iterator[str]:
    if isinstance(document, Mapping):
        for name, value in document.items():
            yield from _masked(value, f"{where}.{name}" if where else str(name))
    elif isinstance(document, list | tuple):
        for number, each in enumerate(document):
            yield from _masked(each, f"{where}[{number}]")
    elif document == MASKED:
        yield where
