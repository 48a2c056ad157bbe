"""Templates against real Go and real Sprig: thousands of made-up snippets give the same bytes, or both refuse.

    make campaign PART=tests/online/test_go_templates.py

It needs Go, and Go's module proxy once; without these it is skipped, and says so.  What may differ is in DIFFERENCES, and in
docs/templates.md under the same names. SNIPPETS_SEED=1000 makes up other snippets.
"""

import os
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.online.real_go import ENDED, answers, built
from tests.online.snippets import asked, given, snippets
from tinkbox.engine.templates.surroundings import now, surroundings
from tinkbox.gotemplate import TemplateError, parse
from tinkbox.sprig.all_functions import functions

AT_A_TIME = 5_000
SEED = int(os.environ.get("SNIPPETS_SEED", "0"))
SEEDS = range(SEED, SEED + 8)
WANTED = 0.999
DOCUMENT = Path(__file__).parents[2] / "docs" / "templates.md"
pytestmark = [pytest.mark.campaign, pytest.mark.timeout(3600)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A snippet with what Go and tinkbox made of it: each an output, or None and the problem."""

    template: str
    go: str | None
    ours: str | None
    problem: str

    def __str__(self) -> str:
        return f"{self.template!r}\n    Go: {self.go!r}\n    tinkbox: {self.ours!r}\n    {self.problem[:300]}"


# What no two runs of Go have in common cannot be compared.
ADDRESS = re.compile(r"0x[0-9a-f]{8,}")
# Each difference that may remain, and how it is known.
DIFFERENCES: dict[str, Callable[[Comparison], bool]] = {
    "a map that contains itself": lambda each: (
        "contains itself" in each.problem
        or "levels deep" in each.problem
        or (each.go is None and ENDED["error"] in each.problem)
    ),
    "a slice ends at its length": lambda each: (
        each.go is not None and re.search(r"slice bounds out of range|index out of range", each.problem) is not None
    ),
    "a text or a list beyond the limits": lambda each: (
        each.go is not None and re.search(r"longer than|more than \d+ (elements|steps)", each.problem) is not None
    ),
    "the inside of a version": lambda each: (
        "semver" in each.template and re.search(r"%|[dD]eepCopy", each.template) is not None
    ),
    "a complex number": lambda each: "complex numbers" in each.problem,
    "a character that Python does not know yet": lambda each: any(
        unicodedata.category(character) == "Cn" for character in f"{each.template}{each.go}{each.ours}"
    ),
}


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("go_templates", tmp_path_factory.mktemp("go"))


def compared(program: Path, seed: int) -> list[Comparison]:
    made = list(snippets(seed, AT_A_TIME))
    told = answers(program, [{"template": text, "data": asked(data)} for text, data in made])
    results = []
    for (text, data), go in zip(made, told, strict=True):
        ours, problem = None, str(go.get("error", ""))
        try:
            ours = parse(text, functions=functions(surroundings(now()))).render(given(data))
        except TemplateError as error:
            problem = str(error)
        results.append(Comparison(template=text, go=go.get("output"), ours=ours, problem=problem))
    return results


def test_snippets_render_as_in_go(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counts: Counter[str] = Counter()
    unknown: list[Comparison] = []
    for each in (each for seed in SEEDS for each in compared(program, seed)):
        rendered = "rendered" if each.go is not None else "refused"
        if each.go != each.ours and ADDRESS.search(each.go or ""):
            counts["an address in memory"] += 1
            continue
        counts[rendered] += 1
        if each.go == each.ours:
            counts[f"{rendered} alike"] += 1
            continue
        name = next((name for name, known in DIFFERENCES.items() if known(each)), "")
        counts[name] += 1
        if not name:
            unknown.append(each)
    share = counts["rendered alike"] / counts["rendered"]
    with capsys.disabled():
        sys.stdout.write(f"\n{share:.3%} of {counts['rendered']} snippets that Go renders: {dict(counts)}\n")
    assert not unknown, "\n".join(map(str, unknown[:20]))
    assert counts["rendered"] + counts["refused"] + counts["an address in memory"] == AT_A_TIME * len(SEEDS)
    assert share > WANTED


@pytest.mark.parametrize("name", [*DIFFERENCES, "an address in memory"])
def test_what_may_differ_is_in_the_documentation(name: str) -> None:
    assert name in " ".join(DOCUMENT.read_text(encoding="utf-8").split())
