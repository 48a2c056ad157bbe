"""Every function gives what real Sprig gave: tests/golden/sprig/record.go says how the cases were recorded."""

import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import pytest

from tests import golden
from tinkbox.gotemplate import TemplateError, parse
from tinkbox.gotemplate.values import Thing, from_bytes
from tinkbox.sprig import FUNCTIONS, REFUSED
from tinkbox.sprig.all_functions import NAMES as ALL

NAMES = json.loads(golden.text("sprig/names.json"))
CASES: dict[str, list[dict[str, Any]]] = defaultdict(list)
for each in json.loads(golden.text("sprig/cases.json")):
    CASES[each["call"][0]].append(each)
PARTS = ("Major", "Minor", "Patch", "Prerelease", "Metadata", "Original")  # of the one thing that there is, a version
UNORDERED = ("keys", "values")
FAILED = "an error"


def value(recorded: Any) -> Any:
    """Read what the recorder could not say in JSON: floats that are no numbers, bytes that are no text."""
    if isinstance(recorded, list):
        return [value(each) for each in recorded]
    if isinstance(recorded, dict):
        if "$float" in recorded:
            return float(recorded["$float"])
        if "$bytes" in recorded:
            return from_bytes(bytes.fromhex(recorded["$bytes"]))
        return {key: value(each) for key, each in recorded.items()}
    return recorded


def exact(given: object) -> str:
    """Show a value so that 1, 1.0 and True differ, 0 and -0 too, and NaN is NaN."""
    if isinstance(given, list | tuple):
        return f"[{', '.join(map(exact, given))}]"
    if isinstance(given, Mapping):
        return f"{{{', '.join(f'{key!r}: {exact(each)}' for key, each in sorted(given.items()))}}}"
    return repr(given)


def answer(name: str, arguments: list[Any]) -> str:
    """Call a function from a template, as the recorder did."""
    results: list[Any] = []

    def keep(result: object) -> str:
        results.append({part: result[part] for part in PARTS} if isinstance(result, Thing) else result)
        return ""

    source = f"{{{{ keep ({name}{''.join(f' (argument {index})' for index in range(len(arguments)))}) }}}}"
    functions = {**FUNCTIONS, "keep": keep, "argument": lambda index: arguments[index]}
    try:
        parse(source, functions=functions).render(None)
    except TemplateError:
        return FAILED
    (result,) = results
    return exact(sorted(result, key=exact) if name in UNORDERED else result)


def expected(case: dict[str, Any]) -> str:
    wanted = case.get("ours", case)
    if "error" in wanted:
        return FAILED
    result = value(wanted["result"])
    return exact(sorted(result, key=exact) if case["call"][0] in UNORDERED else result)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_function_answers_as_sprig_did(name: str) -> None:
    assert CASES[name]
    wrong = []
    for case in CASES[name]:
        arguments = value(case["call"][1:])
        given = answer(name, arguments)
        after = exact(value(case.get("changed", case["call"][1:])))
        if given != expected(case) or exact(arguments) != after:
            wrong.append(f"{case['call']} gave {given} and left {exact(arguments)}, not {expected(case)} and {after}")
    assert not wrong, "\n".join(wrong)


def test_every_name_of_sprig_is_either_there_or_refused() -> None:
    assert set(ALL) | set(REFUSED) == set(NAMES["hermetic"]) | set(NAMES["other"])
    assert not set(ALL) & set(REFUSED)


def test_only_what_sprig_itself_calls_not_hermetic_is_refused() -> None:
    assert set(REFUSED) <= set(NAMES["other"])


def test_every_deviation_says_why_and_is_one() -> None:
    for case in (each for cases in CASES.values() for each in cases if "ours" in each):
        assert case["why"]
        assert case["ours"] != {key: case[key] for key in ("result", "error") if key in case}
