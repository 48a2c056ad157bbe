"""Which values an action or a service is given, at the moment when it is handed out."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from tinkbox.engine.secrets.key import SecretKey
from tinkbox.model.errors import Invalid, Unavailable
from tinkbox.model.reasons import Reason
from tinkbox.model.secret import Mark, NamedSecret, SecretUse, in_form, is_true, marks_in, no_secret, workflow_key
from tinkbox.model.text import quoted
from tinkbox.store.database import Tables

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

    def refuse_unfit(
        self,
        tables: Tables,
        workflow_id: str,
        text: str,
        named: Sequence[NamedSecret],
        coming: Collection[str] = (),
    ) -> None:
        """Raise Invalid where a rendered text asks for secrets that there are not, or has marks that no template made.

        Those that are `coming` will be there, whatever is now.  Raises Unavailable where they cannot be read.
        """
        names = sorted({each.name for each in named} - {*coming})
        for each in tables.secrets.current(names):
            self._key.open(each.name, each.content)
        missing = {*tables.secrets.missing(names)}
        problems = dict.fromkeys(no_secret(each) for each in named if each.name in missing)
        if problems:
            ordered = sorted(problems, key=lambda each: each.line or 0)
            raise Invalid("the workflow asks for secrets that there are not", ordered)
        false = {each.name for each in marks_in([text]) if not is_true(self.marks_key(workflow_id), each)}
        if false:
            raise Invalid(
                f"something that the template was filled from looks like the secret {quoted(min(false))}, and is none: no machine "
                "and no parameter can name a secret, the template itself does"
            )

    def give(
        self,
        tables: Tables,
        holder: str,
        workflow_id: str,
        texts: Iterable[str],
        uses: Sequence[SecretUse],
        *,
        private: bool,
    ) -> Mapping[str, bytes]:
        """The values by what asks for them: a mark in these texts, or the name of a use.

        Whoever was given some keeps them, whatever became of the secrets since.  Raises NotGiven, also where others than who
        asks could read the answer: it is not `private`.
        """
        marks = {each.text: each for each in marks_in(texts)}
        if not marks and not uses:
            return NOTHING
        if not private:
            raise NotGiven(
                Reason.NOT_ENCRYPTED,
                "it asks for secrets, and the machine's worker asks in plain HTTP, which everybody on the wire can read: nothing "
                "was handed out",
            )
        key = self.marks_key(workflow_id)
        true = [each for each in marks.values() if is_true(key, each)]
        names = sorted({each.name for each in true} | {each.name for each in uses})
        if len(true) < len(marks):
            raise _of_another_key(marks, self._key.place)
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


def _of_another_key(marks: Mapping[str, Mark], place: str) -> NotGiven:
    """With another key than before no mark is true any more: to hand out the marks themselves would be wrong."""
    name = next(iter(marks.values())).name
    return NotGiven(
        Reason.SECRET_UNREADABLE,
        f'the action asks for the secret "{name}", and {place} is missing, or is not the key by which the workflow was made: put '
        "that key back, or make a new workflow",
    )
