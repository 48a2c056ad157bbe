"""toYaml and fromYaml beside sigs.k8s.io/yaml itself: what Go writes we write, byte by byte, and what Go reads we read.

    make campaign PART=tests/online/test_yaml.py

Values and texts are made by chance; SAMPLES_SEED=NUMBER makes the same ones again.
"""

import json
import os
import secrets
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.online.real_go import answers, built
from tests.online.yaml_samples import Samples
from tests.unit.goyaml.exchanges import answer, same

SEED = int(os.environ.get("SAMPLES_SEED") or secrets.randbelow(1 << 32))
HOW_MANY = 30_000
pytestmark = [pytest.mark.campaign, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def go(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("go_yaml", tmp_path_factory.mktemp("go_yaml"))


def is_settled(go: Path, asked: dict[str, Any]) -> bool:
    """Whether Go always gives the same: of keys that are equal in JSON it takes any, and with some keys its order goes in circles."""
    return len({json.dumps(told) for told in answers(go, [asked] * 60)}) == 1


def compared(go: Path, questions: list[dict[str, Any]]) -> None:
    """Ask Go and ourselves; fails with the first that differ, and prints how many of each outcome there were."""
    outcomes: Counter[str] = Counter()
    different = []
    for asked, told in zip(questions, answers(go, questions), strict=True):
        ours = answer(asked)
        if same(told, ours):
            outcomes["both refuse" if "error" in told else "the same"] += 1
        elif is_settled(go, asked):
            different.append(json.dumps({"Go": told, "ours": ours}))
        else:
            outcomes["Go's own answers differ"] += 1
    sys.stdout.write(f"SAMPLES_SEED={SEED}: {dict(outcomes)}, {len(different)} different\n")
    assert not different, f"SAMPLES_SEED={SEED}: " + "\n".join(different[:5])
    assert outcomes["the same"] > len(questions) // 3


def test_what_go_writes_we_write(go: Path) -> None:
    samples = Samples(SEED)
    compared(go, [{"write": samples.value()} for _ in range(HOW_MANY)])


def test_what_go_reads_we_read(go: Path) -> None:
    samples = Samples(SEED)
    compared(go, [{"read": samples.stream()} for _ in range(HOW_MANY)])
