"""Several faults in one run, chosen by chance.  The seed is in the test's name; FAULTS_SEED repeats it."""

import os
import random
import secrets

import pytest

from tests.integration.faults.faults import FAULTS, plan
from tests.integration.faults.matrix import BEHIND_THE_OFFER, TRANSITIONS
from tests.integration.faults.rig import Rig
from tests.integration.faults.verdict import Expected, complaints

ACTIONS = ("one", "two", "three", "four", "five", "six")
RETRIES = 1  # an action that died with the engine is tried again, and no action meets more than one fault
RUNS = 20
FIRST = int(os.environ.get("FAULTS_SEED") or secrets.randbelow(1_000_000))
NAMES = [*TRANSITIONS]
# Of the next action: it is offered with the answer to a report, and begins when the container before is removed.
NEXT = {
    "report sent": NAMES[NAMES.index("offer answered") :],
    "report taken": BEHIND_THE_OFFER,
    "report acknowledged": BEHIND_THE_OFFER,
}
SEEDS = range(FIRST, FIRST + (1 if "FAULTS_SEED" in os.environ else RUNS))


@pytest.mark.campaign
@pytest.mark.parametrize("rig", [ACTIONS], ids=[f"{len(ACTIONS)} actions"], indirect=True)
@pytest.mark.parametrize("seed", SEEDS)
async def test_a_fault_in_every_action_leaves_nothing_lost_and_nothing_doubled(seed: int, rig: Rig) -> None:
    chance, names = random.Random(seed), NAMES
    for action in ACTIONS:
        transition = chance.choice(names)
        plan(rig, chance.choice(FAULTS), transition, action)
        names = NEXT.get(transition, NAMES)
    assert complaints(await rig.run(retries=RETRIES), Expected(retries=RETRIES)) == []
