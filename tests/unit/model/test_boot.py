"""The order of a boot's stages is the order in which they happen."""

from tinkbox.model.boot import Stage


def test_a_boot_begins_with_dhcp_and_ends_with_the_worker() -> None:
    order = list(Stage)
    assert order.index(Stage.DISCOVER) < order.index(Stage.LOADER) < order.index(Stage.SCRIPT)
    assert (
        order.index(Stage.SCRIPT) < order.index(Stage.KERNEL) < order.index(Stage.RAMDISK) < order.index(Stage.WORKER)
    )
