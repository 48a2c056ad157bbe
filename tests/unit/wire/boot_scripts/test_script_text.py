"""What a hardware document has its say in, as it stands in a boot script."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.model.boot import Boot, Plan
from tinkbox.model.hardware import Interface, MacAddress
from tinkbox.wire.boot_scripts.script_text import behalf, heading, plain, word

INTERFACE = Interface(mac=MacAddress("08:00:27:00:00:01"), hostname="lab-1")
PLAN = Plan(boot=Boot.OSIE, hardware_id="0eba0bf8", interface=INTERFACE, workflow="0b4a67b2")


def test_a_machine_is_called_by_the_best_name_that_there_is() -> None:
    nameless = replace(PLAN, interface=replace(INTERFACE, hostname=""))
    assert heading(PLAN, "1.2") == "tinkbox 1.2: lab-1 (08:00:27:00:00:01)"
    assert heading(nameless, "1.2") == "tinkbox 1.2: 0eba0bf8 (08:00:27:00:00:01)"
    assert heading(replace(nameless, hardware_id=""), "1.2") == "tinkbox 1.2: a new machine (08:00:27:00:00:01)"


def test_a_plan_without_a_workflow_is_on_behalf_of_the_machine() -> None:
    assert behalf(PLAN) == "0b4a67b2"
    assert behalf(replace(PLAN, workflow="")) == "0eba0bf8"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://172.30.0.1:8080/a_b/c.d?e=f@g+(h)-i,j", "http://172.30.0.1:8080/a_b/c.d?e=f@g+(h)-i,j"),
        ("${net0/mac} $x `id`", "__net0/mac_ _x _id_"),
        ("a && b || c | d > e < f", "a __ b __ c _ d _ e _ f"),
        ("install ; chain http://172.30.0.66/x", "install _ chain http://172.30.0.66/x"),
        ('it\'s "quoted" \\ # % ! ~ * [x]', "it_s _quoted_ _ _ _ _ _ _ _x_"),
        ("a\nboot\r\tb\0c\x1b[1m", "a_boot__b_c__1m"),
        ("Müller\u2028\u00a0\U0001f4be", "M_ller___"),
    ],
)
def test_what_a_loader_could_take_for_more_than_text_is_replaced(text: str, shown: str) -> None:
    assert plain(text) == shown
    assert word(text) == shown.replace(" ", "_")


@given(st.text())
def test_a_word_stays_one_and_no_text_becomes_shorter_or_is_changed_twice(text: str) -> None:
    assert len(plain(text)) == len(word(text)) == len(text)
    assert len(f"a{word(text)}".split()) == 1
    assert plain(word(text)) == word(plain(text)) == word(text)
