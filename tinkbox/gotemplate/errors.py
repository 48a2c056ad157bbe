"""What can go wrong with a template: `GoError` inside a function, `TemplateError` for everyone outside."""

MAX_PROBLEM = 500


class GoError(Exception):
    """A function of a template failed; `str()` is the message in Go's words, without any position.

    Rendering turns it into a TemplateError that says `error calling NAME: MESSAGE` and where.
    """


class NoEntry(GoError):
    """A map has no entry for a key."""

    def __init__(self, problem: str, key: str, holder: object) -> None:
        super().__init__(problem)
        self.key = key
        self.holder = holder


class TemplateError(Exception):
    """A template that cannot be parsed or rendered.

    `line` and `column` count characters from 1; `problem` is text for people, without the position;
    `name` is the name that was given to parse().  `missing` is the key that the data itself lacks; empty: it is something else.
    """

    def __init__(self, problem: str, *, line: int, column: int, name: str = "template", missing: str = "") -> None:
        super().__init__(problem, line, column, name)
        self.missing = missing
        self.problem = problem
        self.line = line
        self.column = column
        self.name = name

    def __str__(self) -> str:
        return f"template: {self.name}:{self.line}:{self.column}: {self.problem}"


def error_at(problem: str, source: str, at: int, name: str, missing: str = "") -> TemplateError:
    """Make the error for a place in the source, given as an offset; a problem of more than 500 characters is cut."""
    before = source[:at]
    problem = problem if len(problem) <= MAX_PROBLEM else problem[: MAX_PROBLEM - 1] + "…"
    return TemplateError(
        problem, line=before.count("\n") + 1, column=at - before.rfind("\n"), name=name, missing=missing
    )
