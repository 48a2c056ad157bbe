"""What keeps machines from beginning is told with what to do."""

import pytest

from tinkbox.engine.workflows.obstacles import boot_obstacles
from tinkbox.model.hardware import Hardware, Interface, MacAddress


@pytest.mark.parametrize(
    ("architecture", "told"),
    [
        ("aarch64", "there is no OSIE for aarch64, which machine node1 boots: `tinkbox osie build` makes one"),
        (
            "riscv64",
            "there is no OSIE for riscv64, which machine node1 boots: none can be built for it: set arch to x86_64 or aarch64 in its document",
        ),
    ],
)
def test_no_osie_is_advised_to_be_built_where_none_can_be(architecture: str, told: str) -> None:
    card = Interface(mac=MacAddress("08:00:27:00:00:07"), architecture=architecture)
    machine = Hardware(id="h", interfaces=(card,), document={}, name="node1")
    assert list(boot_obstacles([machine], ["x86_64"], lambda each: each.name)) == [told]
