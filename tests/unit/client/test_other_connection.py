"""What another appliance refuses, in its own words."""

import json

import pytest

from tinkbox.client.operator.other_connection import OtherConnection
from tinkbox.model.errors import Conflict, Full, Invalid, NotFound, Refusal, Unavailable

URL = "http://other.lab:7080"


def refusal(status: int, detail: str, place: str = "") -> Refusal:
    connection = OtherConnection(URL, socket=None, url=URL, token="t", variable="--to", token_place="TINKBOX_TO_TOKEN")
    document = {"detail": detail, "problems": [{"text": "wrong", "line": 3}]}
    with pytest.raises(Refusal) as raised:
        connection.raise_refusal(status, "No", {"Location": place}, json.dumps(document).encode())
    return raised.value


@pytest.mark.parametrize(("status", "kind"), [(404, NotFound), (409, Conflict), (422, Invalid), (507, Full)])
def test_a_refusal_says_whose_it_is_and_stays_what_it_is(status: int, kind: type[Refusal]) -> None:
    refused = refusal(status, "x is here already: `tinkbox image delete x`, then `tinkbox image gc`")
    assert type(refused) is kind
    assert str(refused) == (
        f"{URL}, the other appliance, says: x is here already: `TINKBOX_SERVER={URL} tinkbox image delete x`, then "
        f"`TINKBOX_SERVER={URL} tinkbox image gc`"
    )
    if isinstance(refused, Invalid):
        assert [each.line for each in refused.problems] == [3]


def test_a_token_that_is_not_known_there_is_told_with_the_place_that_it_came_from() -> None:
    assert str(refusal(401, "not known here")) == (
        f"{URL}, the other appliance, says: not known here. Put yours into TINKBOX_TO_TOKEN"
    )


def test_an_appliance_that_sends_on_is_to_be_named_by_the_flag() -> None:
    refused = refusal(301, "", "https://elsewhere/")
    assert isinstance(refused, Unavailable)
    assert str(refused).endswith("sends us on to https://elsewhere/: name the appliance itself by --to")
