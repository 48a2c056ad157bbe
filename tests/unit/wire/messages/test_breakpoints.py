"""The messages about breakpoints."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.model.breakpoint import Armed, Kind, Verb, Verdict
from tinkbox.model.errors import Invalid
from tinkbox.model.workflow import Outcome, State
from tinkbox.wire.messages import breakpoints as holds
from tinkbox.wire.messages.worker import MAX_MESSAGE, Order

WHICH = {"workflow_id": "w", "boot_id": "b", "sequence": 2}
FAILED = Outcome(state=State.FAILED, exit_code=7, reason="DiskNotFound", message="no disk", tail=("last",))
HELD = holds.Held(**WHICH, kind=Kind.FAILURE, outcome=FAILED, container=True, in_place=False)
ASKED = holds.Asked(**WHICH, verb=Verb.RETRY, why="mounted", fresh=True, shell="s1")
VERDICT = Verdict(verb=Verb.RETRY, who="anna", why="so", fresh=True, command=("sh", "-c", ""), environment={"A": "b"})
SHELL = holds.ShellWish(
    id="s1",
    tty=True,
    command=("top",),
    user="0",
    folder="/x",
    environment={"A": "b"},
    term="vt100",
    rows=30,
    columns=90,
)
ORDERS = holds.Orders(
    armed=Armed(before=True, on_failure=True),
    stop=Order(state=State.CANCELED, message="by anna"),
    ruling=holds.Ruling(sequence=2, verdict=VERDICT),
    shells=(SHELL, holds.ShellWish(id="s2", tty=False)),
    hold=2,
)


def test_what_is_encoded_decodes_to_the_same() -> None:
    before = holds.Held(**WHICH, kind=Kind.BEFORE)
    for held in (HELD, before):
        assert holds.decode_held(holds.encode(held)) == held
    resumed = holds.Resumed(**WHICH)
    assert holds.decode_resumed(holds.encode(resumed)) == resumed
    assert holds.decode_asked(holds.encode(ASKED)) == ASKED
    for orders in (ORDERS, replace(ORDERS, hold=None), holds.Orders(), holds.Orders(hold=1)):
        assert holds.decode_orders(holds.encode(orders)) == orders
    for verdict in (VERDICT, Verdict(verb=Verb.FAIL, who="x"), replace(VERDICT, command=())):
        assert holds.verdict_from_document(asdict(verdict)) == verdict


def test_orders_are_told_apart_by_their_mark() -> None:
    others = [
        holds.Orders(),
        ORDERS,
        replace(ORDERS, stop=None),
        replace(ORDERS, ruling=replace(ORDERS.ruling, sequence=3)),
        replace(ORDERS, shells=(SHELL,)),
        replace(ORDERS, armed=Armed()),
        replace(ORDERS, hold=None),
        replace(ORDERS, hold=1),
    ]
    assert len({each.mark for each in others}) == len(others)
    assert holds.decode_orders(holds.encode(ORDERS)).mark == ORDERS.mark


def test_orders_without_a_hold_are_spelled_as_workers_of_earlier_releases_do() -> None:
    armed = '{"before":false,"after":false,"on_failure":false}'
    nothing = f'{{"armed":{armed},"stop":null,"ruling":null,"shells":[]}}'
    assert holds.encode(holds.Orders()) == nothing
    assert holds.Orders().mark == hashlib.sha256(nothing.encode()).hexdigest()[:16]
    assert holds.encode(holds.Orders(hold=2)) == nothing.replace("[]}", '[],"hold":2}')
    known = {name: value for name, value in asdict(ORDERS).items() if name != "hold"}
    assert holds.encode(replace(ORDERS, hold=None)) == json.dumps(known, separators=(",", ":"))


def test_what_somebody_says_is_cut_to_its_limits() -> None:
    asked = holds.decode_asked(holds.encode(replace(ASKED, why="x" * 99_999)))
    assert len(asked.why) == holds.MAX_WHY
    verdict = holds.verdict_from_document(asdict(replace(VERDICT, why="x" * 99_999, command=("a",) * 9_999)))
    assert (len(verdict.why), len(verdict.command or ())) == (MAX_MESSAGE, holds.MAX_WORDS)


def test_a_terminal_has_a_size_that_a_terminal_can_have() -> None:
    wish = holds.wish_from_document({**asdict(SHELL), "rows": 0, "columns": 10**9})
    assert (wish.rows, wish.columns) == (1, 1_000)


@pytest.mark.parametrize(
    ("decode", "wrong"),
    [
        (holds.decode_held, {"kind": "sideways"}),
        (holds.decode_held, {"outcome": "bad"}),
        (holds.decode_held, {"sequence": "2"}),
        (holds.decode_resumed, {"boot_id": None}),
        (holds.decode_asked, {"verb": "dance"}),
        (holds.decode_orders, {"armed": []}),
        (holds.decode_orders, {"armed": {"before": "yes"}}),
        (holds.decode_orders, {"stop": {"state": "RUNNING"}}),
        (holds.decode_orders, {"stop": 7}),
        (holds.decode_orders, {"ruling": {"sequence": 1, "verdict": None}}),
        (holds.decode_orders, {"ruling": "retry"}),
        (holds.decode_orders, {"hold": "2"}),
        (holds.decode_orders, {"hold": True}),
        (holds.decode_orders, {"shells": {}}),
        (holds.decode_orders, {"shells": ["s1"]}),
        (holds.decode_orders, {"shells": [{"tty": True}]}),
    ],
)
def test_what_is_no_such_message_is_refused(decode: Callable[[str], object], wrong: dict[str, object]) -> None:
    right = {holds.decode_held: HELD, holds.decode_resumed: holds.Resumed(**WHICH), holds.decode_asked: ASKED}
    document = {**asdict(right.get(decode, ORDERS)), **wrong}
    with pytest.raises(Invalid):
        decode(json.dumps(document))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda x: (
            st.lists(x)
            | st.dictionaries(
                st.sampled_from(
                    ["armed", "stop", "ruling", "shells", "hold", "verdict", "sequence", "id", "tty", "kind", "verb"]
                ),
                x,
            )
        ),
    )
)
def test_whatever_comes_it_is_read_or_refused(document: object) -> None:
    for decode in (holds.decode_held, holds.decode_resumed, holds.decode_asked, holds.decode_orders):
        try:
            decode(json.dumps(document))
        except Invalid:
            continue
