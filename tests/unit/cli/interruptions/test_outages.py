"""What is said of an appliance that does not answer."""

import pytest

from tinkbox.cli.interruptions.outages import Outages
from tinkbox.model.errors import Unavailable


def test_the_same_trouble_is_told_once_until_the_appliance_answers(capsys: pytest.CaptureFixture[str]) -> None:
    outages = Outages()
    for why in ("it ended", "gone\x1b[2J", "gone\x1b[2J", "gone\x1b[2J"):
        outages.tell(Unavailable(why))
    assert capsys.readouterr().err == "tinkbox: it ended; trying again\ntinkbox: gone [2J; trying again\n"
    outages.over()
    outages.tell(Unavailable("gone"))
    outages.tell(Unavailable("gone"))
    assert capsys.readouterr().err == "tinkbox: gone; trying again\n"
