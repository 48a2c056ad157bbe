"""Which appliance is asked, and in which order."""

from collections.abc import Callable
from pathlib import Path

from tests.unit.cli.conftest import FakeAppliance, Printed

Tinkbox = Callable[..., Printed]


def test_several_keys_are_asked_in_their_order_and_the_first_refusal_ends_it(
    tinkbox: Tinkbox, appliance: FakeAppliance
) -> None:
    appliance.answers = {"DELETE /v1/templates/one": {"id": "one"}, "DELETE /v1/templates/three": {"id": "three"}}
    assert tinkbox("template", "delete", "one", "two", "three").status == 1
    assert [request for request, _ in appliance.asked] == ["DELETE /v1/templates/one", "DELETE /v1/templates/two"]


def test_data_beats_the_environment(tinkbox: Tinkbox, appliance: FakeAppliance, tmp_path: Path) -> None:
    assert tinkbox("--data", str(tmp_path), "hardware", "list").status == 3
    assert appliance.asked == []
