"""The function `secret` of templates: it gives the mark of a secret, never its value (`model.secret`)."""

import os
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from tinkbox.engine.templates.whole_marks import MAY, WholeMarks
from tinkbox.gotemplate import GoError
from tinkbox.model.documents.loose_values import mapping_of
from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.secret import Form, SecretDocument, SecretEntry, has_mark, mark_of, other_form

MARKS_KEY: Final = " marks"
"""The key of a workflow's marks among the data of its template, which does not see it: it is no name."""
REFERENCES: Final = "references"
KIND: Final = "Secret"
"""The kind of those of them that have secrets."""
SECRET: Final = "secret"  # noqa: S105  the function's name
_BEGINNING: Final = re.compile(r"tbsecret-v1", re.IGNORECASE)
_AFTER_BEGINNING: Final = re.compile(r"tbsecret-v1\.[A-Za-z0-9][A-Za-z0-9._-]{0,252}?\.(?:raw|b64)\.[0-9a-f]{32}")


class Marks:
    """What makes the marks of one rendering after the other: each has a key of its own."""

    def __init__(self) -> None:
        self.whole = WholeMarks()
        self._key = b""

    def renewed(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Begin a rendering with this data; returns what of it the template may see."""
        self.whole.begin()
        given = data.get(MARKS_KEY)
        self._key = bytes.fromhex(given) if isinstance(given, str) else os.urandom(32)
        seen = {name: value for name, value in data.items() if name != MARKS_KEY}
        references = mapping_of(seen.get(REFERENCES))
        return {**seen, REFERENCES: {name: self._filled(each) for name, each in references.items()}} if seen else seen

    def _filled(self, referent: Mapping[str, Any]) -> Mapping[str, Any]:
        """A Secret with marks of its values in base64, as Kubernetes has them, at its keys."""
        if referent.get("kind") != KIND:
            return referent
        document = SecretDocument(name=referent["metadata"]["name"], namespace=referent["metadata"]["namespace"])
        entries = [SecretEntry(document=document, key=each) for each in referent["data"]]
        marks = {each.key: self.whole.note(mark_of(self._key, each.name, Form.BASE64)) for each in entries}
        return {**referent, "data": marks}

    def secret(self, name: object) -> str:
        """The mark of a secret; raises GoError for what is no name of one."""
        if not isinstance(name, str):
            raise GoError("secret takes the name of a secret, as text")
        try:
            return self.whole.note(mark_of(self._key, name))
        except Invalid as refusal:
            raise GoError(str(refusal)) from None

    def aware(self, function: Callable[..., Any], form: Form) -> Callable[..., Any]:
        """`b64enc` or `b64dec`, of which a mark makes a mark: the value is encoded when it is handed out.

        Raises GoError for a mark that has this form already, or that does not stand alone.
        """

        def changed(*arguments: Any) -> Any:
            if len(arguments) == 1 and isinstance(arguments[0], str) and has_mark(arguments[0]):
                found = other_form(self._key, arguments[0], form)
                if found is not None:
                    return self.whole.note(found)
            if self.whole.held(arguments):
                name = "b64enc" if form is Form.BASE64 else "b64dec"
                raise GoError(f"{name} takes no secret that is encoded so already, or that is beside other text: {MAY}")
            return function(*arguments)

        return changed

    def functions(self, others: Mapping[str, Callable[..., Any]]) -> Mapping[str, Callable[..., Any]]:
        """`secret`, and those of the other functions that know marks."""
        aware = {
            name: self.aware(others[name], form)
            for name, form in (("b64enc", Form.BASE64), ("b64dec", Form.RAW))
            if name in others
        }
        return {**aware, SECRET: self.secret}


def refuse_altered_marks(text: str) -> None:
    """Raise Invalid where a function changed a mark: its value could not take its place."""
    problems = [
        Problem(
            line=text.count("\n", 0, found.start()) + 1,
            text="a secret stands here that a function has changed, such as upper or trunc: its value is not known when the "
            "template is filled, and only b64enc and b64dec can follow secret",
        )
        for found in _BEGINNING.finditer(text)
        if not _AFTER_BEGINNING.match(text, found.start())
    ]
    if problems:
        raise Invalid("a secret is only known when an action is handed out", problems)
