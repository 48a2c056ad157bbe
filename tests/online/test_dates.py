"""Dates against real Go and real Sprig: thousands of made-up layouts, texts and moments give the same, or both refuse.

    make campaign PART=tests/online/test_dates.py

It needs Go, Go's module proxy once, and time zones; without these it is skipped, and says so.
"""

from pathlib import Path

import pytest

from tests.online.date_snippets import date_snippets
from tests.online.real_go import answers, built
from tinkbox.engine.templates.surroundings import ZONES, now, surroundings
from tinkbox.gotemplate import TemplateError, parse
from tinkbox.sprig.all_functions import functions

COUNT = 20_000
pytestmark = [pytest.mark.campaign, pytest.mark.timeout(3600)]


@pytest.mark.skipif(not ZONES.is_dir(), reason="no time zones on this host: install the package tzdata")
@pytest.mark.parametrize("seed", range(3))
def test_dates_are_as_in_go(seed: int, tmp_path: Path) -> None:
    program = built("go_templates", tmp_path)
    snippets = list(date_snippets(seed, COUNT))
    given = functions(surroundings(now()))
    wrong = []
    for text, go in zip(snippets, answers(program, [{"template": each, "data": {}} for each in snippets]), strict=True):
        try:
            ours, problem = parse(text, functions=given).render({}), ""
        except TemplateError as error:
            ours, problem = None, str(error)
        if ours != go.get("output"):
            wrong.append(f"{text}\n    Go: {go}\n    tinkbox: {ours!r} {problem}")
    assert not wrong, f"{len(wrong)}: " + "\n".join(wrong[:25])
