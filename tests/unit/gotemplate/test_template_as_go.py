"""Templates that real Go has executed: tests/golden/gotemplate/README.md tells how they were recorded."""

import json
from typing import Any

from tests import golden
from tinkbox.gotemplate import GoError, TemplateError, parse
from tinkbox.gotemplate.values import sprint

RECORDED = json.loads(golden.text("gotemplate/cases.json"))
CASES: list[dict[str, Any]] = RECORDED["cases"]


def fail(message: object) -> object:
    raise GoError(sprint(message))


# The recorder defines these too.
FUNCTIONS = {
    "list": lambda *values: list(values),
    "pair": lambda first, second: [first, second],
    "none": lambda: None,
    "fail": fail,
}


def outcome(case: dict[str, Any]) -> str | TemplateError:
    try:
        return parse(case["template"], functions=FUNCTIONS).render(RECORDED["data"][case["data"]])
    except TemplateError as error:
        return error


def test_every_case_ends_as_in_go() -> None:
    assert len(CASES) > 1500
    differing = []
    for case in CASES:
        ours = outcome(case)
        if (None if isinstance(ours, TemplateError) else ours) != case.get("output"):
            differing.append((case, str(ours)))
    assert not differing


def test_every_error_stands_in_the_line_that_go_names() -> None:
    failing = [(case, outcome(case)) for case in CASES if case.get("error_line")]
    assert len(failing) > 300
    assert not [
        (case, str(ours))
        for case, ours in failing
        if isinstance(ours, TemplateError) and ours.line != case["error_line"]
    ]
