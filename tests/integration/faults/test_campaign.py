"""Several faults in one run, chosen by chance.  The seed is in the test's name; FAULTS_SEED repeats it."""

import os
import random
import secrets

import pytest

from tests.integration.faults.faults import FAULTS, plan
from tests.integration.faults.matrix import TRANSITIONS
from tests.integration.faults.rig import Rig
from tests.integration.faults.verdict import Expected, complaints

ACTIONS = ("one", "two", "three", "four", "five", "six")
RETRIES = 1  # an action that died with the engine is tried again, and no action meets more than one fault
RUNS = 20
FIRST = int(os.environ.get("FAULTS_SEED") or secrets.randbelow(1_000_000))
SEEDS = range(FIRST, FIRST + (1 if "FAULTS_SEED" in os.environ else RUNS))


@pytest.mark.campaign
@pytest.mark.parametrize("rig", [ACTIONS], ids=[f"{len(ACTIONS)} actions"], indirect=True)
@pytest.mark.parametrize("seed", SEEDS)
async def test_a_fault_in_every_action_leaves_nothing_lost_and_nothing_doubled(seed: int, rig: Rig) -> None:
    chance = random.Random(seed)
    for action in ACTIONS:
        plan(rig, chance.choice(FAULTS), chance.choice(list(TRANSITIONS)), action)
    assert complaints(await rig.run(retries=RETRIES), Expected(retries=RETRIES)) == []
