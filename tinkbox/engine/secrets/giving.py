"""Which values an action or a service is given, at the moment when it is handed out."""

import logging
from collections.abc import Iterable, Mapping, Sequence

from tinkbox.engine.secrets.key import SecretKey
from tinkbox.model.errors import Unavailable
from tinkbox.model.reasons import Reason
from tinkbox.model.secret import Mark, SecretUse, in_form, is_true, marks_in, workflow_key
from tinkbox.store.database import Tables

_log = logging.getLogger(__name__)
NOTHING: Mapping[str, bytes] = {}


class NotGiven(Exception):
    """A value that is asked for is not to be had; `str()` is for people."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Giving:
    """Finds what is asked for in texts, and notes who was given it."""

    def __init__(self, key: SecretKey) -> None:
        self._key = key

    def marks_key(self, workflow_id: str) -> bytes:
        """The key of a workflow's marks."""
        return workflow_key(self._key.marking(), workflow_id)

    def give(
        self, tables: Tables, holder: str, workflow_id: str, texts: Iterable[str], uses: Sequence[SecretUse]
    ) -> Mapping[str, bytes]:
        """The values by what asks for them: a mark in these texts, or the name of a use.

        Whoever was given some keeps them, whatever became of the secrets since.  Raises NotGiven.
        """
        marks = {each.text: each for each in marks_in(texts)}
        if not marks and not uses:
            return NOTHING
        key = self.marks_key(workflow_id)
        true = [each for each in marks.values() if is_true(key, each)]
        names = sorted({each.name for each in true} | {each.name for each in uses})
        if not names:
            self._refuse_without_key(tables, marks)
            return NOTHING
        found = {each.name: each for each in tables.secrets.given(holder)}
        fresh = [each for each in tables.secrets.current(names) if each.name not in found]
        found |= {each.name: each for each in fresh}
        missing = [each for each in names if each not in found]
        if missing:
            raise NotGiven(
                Reason.SECRET_MISSING,
                f'there is no secret "{missing[0]}" any more: `tinkbox secret set {missing[0]}`, and retry the workflow',
            )
        try:
            values = {each: self._key.open(each, found[each].content) for each in names}
        except Unavailable as error:
            raise NotGiven(Reason.SECRET_UNREADABLE, str(error)) from None
        tables.secrets.give(holder, workflow_id, [each.number for each in fresh])
        named = {each.name: values[each.name] for each in uses}
        return named | {each.text: in_form(values[each.name], each.form) for each in true}

    def _refuse_without_key(self, tables: Tables, marks: Mapping[str, Mark]) -> None:
        """With another key than before no mark is true any more: to hand out the marks themselves would be wrong."""
        name = next(iter(marks.values())).name
        raise NotGiven(
            Reason.SECRET_UNREADABLE,
            f'the template asks for the secret "{name}", and {self._key.place} is missing, or is not the key by which the '
            "workflow was made: put that key back, or make a new workflow",
        )
