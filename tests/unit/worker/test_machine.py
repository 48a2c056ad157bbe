import inspect

import pytest

from tinkbox.client.node import NodeDoor
from tinkbox.worker.machine import Door

ASKED = sorted(
    name
    for each in Door.__mro__
    for name, member in vars(each).items()
    if inspect.isfunction(member) and not name.startswith("_")
)


@pytest.mark.parametrize("name", ASKED)
def test_what_an_attempt_asks_is_what_the_node_doors_client_answers(name: str) -> None:
    asked, answered = (list(inspect.signature(getattr(each, name)).parameters) for each in (Door, NodeDoor))
    assert asked == answered


def test_everything_that_breakpoints_need_is_asked_for() -> None:
    assert {"held", "resumed", "verdict", "orders", "shell"} <= set(ASKED)
