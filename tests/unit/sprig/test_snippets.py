"""Templates with Sprig's functions that real Go has executed; tests/online/record_snippets.py says how to add one.

`make campaign` compares many thousands more.
"""

import json

import pytest

from tests import golden
from tests.online.snippets import given
from tests.unit.sprig.around import AROUND
from tinkbox.gotemplate import TemplateError, parse
from tinkbox.sprig.all_functions import functions

RECORDED = json.loads(golden.text("sprig/snippets.json"))


@pytest.mark.parametrize("data", ["machine", "values", "structs"])
def test_a_snippet_renders_as_in_go(data: str) -> None:
    wrong = []
    for case in (each for each in RECORDED if each["data"] == data):
        try:
            output = parse(case["template"], functions=functions(AROUND)).render(given(data))
        except TemplateError as error:
            if "refused" not in case:
                wrong.append(f"{case['template']!r} was refused: {error}")
            continue
        if output != case.get("output"):
            wrong.append(f"{case['template']!r} gave {output!r}, not {case.get('output', 'a refusal')!r}")
    assert not wrong, "\n".join(wrong)
