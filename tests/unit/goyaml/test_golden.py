"""YAML is written and read as sigs.k8s.io/yaml did: tests/golden/goyaml/README.md says how the cases were recorded."""

import json

import pytest

from tests import golden
from tests.unit.goyaml.exchanges import answer, same

CASES = golden.text("goyaml/cases.jsonl").rstrip("\n").split("\n")


@pytest.mark.parametrize("verb", ["write", "read"])
def test_what_go_made_of_it_we_make_of_it(verb: str) -> None:
    told = [each for each in map(json.loads, CASES) if verb in each]
    different = [(each, ours) for each in told if not same(each, ours := answer(each))]
    assert len(told) > 350
    assert not different, f"{len(different)} of {len(told)}: {different[:3]}"
