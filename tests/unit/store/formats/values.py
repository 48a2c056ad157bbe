"""Any value that is stored as JSON, and the two functions of its format."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from hypothesis import strategies as st

from tinkbox.model.actions.action import Action
from tinkbox.model.breakpoint import Breakpoints, Override, Verb, Verdict
from tinkbox.model.disks.disks import Content
from tinkbox.model.hardware import MacAddress
from tinkbox.model.inventory import Card, Device, Disk, Inventory
from tinkbox.model.services import (
    HealthCheck,
    Phase,
    PlannedService,
    Resources,
    Restart,
    RestartPolicy,
    Service,
    Standing,
)
from tinkbox.model.shells import ShellWish
from tinkbox.model.workflow import Outcome, PlannedAction, State
from tinkbox.store.formats.actions import action_of, action_text, outcome_of, outcome_text, override_of, override_text
from tinkbox.store.formats.breakpoints import breakpoints_of, breakpoints_text, verdict_of, verdict_text
from tinkbox.store.formats.disks import contents_of, contents_text
from tinkbox.store.formats.inventories import inventory_of, inventory_text
from tinkbox.store.formats.services import files_of, files_text, service_of, service_text, standing_of, standing_text
from tinkbox.store.formats.shells import wish_of, wish_text


@dataclass(frozen=True)
class Format:
    """How one kind of value is written, and read again."""

    name: str
    values: st.SearchStrategy[Any]
    write: Callable[[Any], str]
    read: Callable[[str], Any]

    def __str__(self) -> str:
        return self.name


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
WORDS = st.lists(TEXT, max_size=3).map(tuple)
PAIRS = st.dictionaries(TEXT, TEXT, max_size=3)
NUMBER = st.integers(0, 2**63 - 1)
SECONDS = st.floats(0, 1e9)
PORTS = st.lists(st.integers(1, 65_535), max_size=3).map(tuple)
EXIT_CODE = st.none() | st.integers(0, 255)
MAC = st.integers(0, 2**48 - 1).map(lambda number: MacAddress(number.to_bytes(6, "big").hex(":")))

SPEC = st.builds(
    Action, name=TEXT, image=TEXT, timeout=NUMBER, command=WORDS, on_timeout=WORDS, on_failure=WORDS, volumes=WORDS,
    environment=PAIRS, pid=TEXT, retries=NUMBER, reboot=st.booleans(), helper=st.booleans(), wipes=WORDS,
    disk=TEXT,
    network=TEXT,
)  # fmt: skip
ACTION = st.builds(PlannedAction, index=NUMBER, task=TEXT, worker=TEXT, address=TEXT, spec=SPEC)
OUTCOME = st.builds(
    Outcome, state=st.sampled_from(State), exit_code=EXIT_CODE, signal=TEXT, reason=TEXT, message=TEXT, hint=TEXT, tail=WORDS
)  # fmt: skip
OVERRIDE = st.builds(Override, command=st.none() | WORDS, environment=PAIRS)
BREAKPOINTS = st.builds(
    Breakpoints, on_failure=st.booleans(), before=WORDS, after=WORDS, timeout=NUMBER, on_expiry=st.sampled_from(Verb)
)
VERDICT = st.builds(
    Verdict, verb=st.sampled_from(Verb), who=TEXT, why=TEXT, fresh=st.booleans(), command=st.none() | WORDS, environment=PAIRS
)  # fmt: skip
HEALTH = st.builds(
    HealthCheck, test=WORDS, interval=SECONDS, timeout=SECONDS, start_period=SECONDS, retries=NUMBER
)  # fmt: skip
SERVICE = st.builds(
    PlannedService,
    index=NUMBER,
    host=TEXT,
    spec=st.builds(
        Service,
        name=TEXT,
        worker=TEXT,
        image=TEXT,
        command=WORDS,
        environment=PAIRS,
        volumes=WORDS,
        labels=st.lists(st.tuples(TEXT, TEXT), max_size=3).map(tuple),
        urls=WORDS,
        health=st.none() | HEALTH,
        restart=st.builds(Restart, policy=st.sampled_from(RestartPolicy), limit=NUMBER),
        ports=PORTS,
        timeout=NUMBER,
        resources=st.builds(Resources, memory=NUMBER, cpus=SECONDS, pids=NUMBER),
    ),
)
STANDING = st.builds(
    Standing, run=TEXT, phase=st.sampled_from(Phase), restarts=NUMBER, exit_code=EXIT_CODE, signal=TEXT, reason=TEXT,
    message=TEXT, tail=WORDS, address=TEXT, ports=PORTS,
)  # fmt: skip
WISH = st.builds(
    ShellWish, id=TEXT, tty=st.booleans(), command=WORDS, user=TEXT, folder=TEXT, environment=PAIRS, term=TEXT, rows=NUMBER,
    columns=NUMBER,
)  # fmt: skip
CONTENTS = st.lists(st.builds(Content, kind=TEXT, id=TEXT, label=TEXT, offset=NUMBER), max_size=3).map(tuple)
INVENTORY = st.builds(
    Inventory, architecture=TEXT, processor=TEXT, processors=NUMBER, memory=NUMBER, firmware=TEXT, secure_boot=st.booleans(),
    firmware_version=TEXT, manufacturer=TEXT, product=TEXT, serial=TEXT, uuid=TEXT, bmc=TEXT,
    disks=st.lists(
        st.builds(Disk, device=TEXT, size=NUMBER, serial=TEXT, model=TEXT, rotational=st.booleans()), max_size=2
    ).map(tuple),
    cards=st.lists(
        st.builds(Card, name=TEXT, mac=MAC, link=st.booleans(), speed=NUMBER, driver=TEXT), max_size=2
    ).map(tuple),
    devices=st.lists(
        st.builds(
            Device, place=TEXT, id=TEXT, kind=TEXT, driver=TEXT, module=TEXT, asks_firmware=st.booleans(),
            missing=st.lists(TEXT, max_size=2).map(tuple),
        ),
        max_size=2,
    ).map(tuple),
)  # fmt: skip
FILES = st.tuples(PAIRS, st.dictionaries(TEXT, st.datetimes(timezones=st.just(UTC)), max_size=3))

FORMATS = (
    Format("an action", ACTION, action_text, action_of),
    Format("an outcome", OUTCOME, outcome_text, outcome_of),
    Format("an override", OVERRIDE.filter(lambda value: value != Override()), override_text, override_of),
    Format("breakpoints", BREAKPOINTS, breakpoints_text, breakpoints_of),
    Format("a verdict", VERDICT, verdict_text, verdict_of),
    Format("a service", SERVICE, service_text, service_of),
    Format("a standing", STANDING, standing_text, standing_of),
    Format("files", FILES, lambda value: files_text(*value), files_of),
    Format("a wish", WISH, wish_text, wish_of),
    Format("contents", CONTENTS, contents_text, contents_of),
    Format("an inventory", INVENTORY, inventory_text, inventory_of),
)
