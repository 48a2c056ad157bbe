"""What becomes of the rules' findings."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.unit.engine.boot_story import MAC, answered, appliance, asked, case, failed, fetched, osie_boot, rival, seen
from tests.unit.engine.doctor.rules.test_silence import WORK
from tinkbox.engine.doctor.case import Case, Finding
from tinkbox.engine.doctor.doctor import RULES, Rule, diagnose
from tinkbox.model.boot import Silence, Stage
from tinkbox.model.diagnosis import Gravity

DOCS = Path(__file__).parents[4] / "docs" / "doctor.md"


def named(found: Case) -> list[str]:
    return [each.rule for each in diagnose(found)]


def test_a_boot_that_goes_well_has_nothing() -> None:
    assert named(case(*osie_boot(0))) == []
    assert named(appliance()) == []


def test_the_gravest_stands_first() -> None:
    stray = seen(3, Stage.OTHER_SERVER, server="172.30.0.9", address="172.30.0.77")
    found = diagnose(case(asked(0, secs=30), seen(1, Stage.OFFERED), stray, failed(4, "probe", 0), fetched(5), after=5))
    assert [each.rule for each in found] == ["OtherServer", "SpanningTree", "SizeProbe"]
    assert [each.gravity for each in found] == [Gravity.FAULT, Gravity.SUSPECT, Gravity.HARMLESS]
    assert {each.machine for each in found} == {MAC}


def test_what_concerns_the_appliance_names_no_machine() -> None:
    (found,) = diagnose(appliance(rivals=(rival(),)))
    assert (found.rule, found.machine) == ("OtherServer", "")


def test_vague_rules_are_silent_where_another_knows_more() -> None:
    stopped = case(asked(0), *answered(1), failed(30, "silence", 3), after=60)
    assert named(stopped) == ["TransferStopped"]
    assert named(case(asked(0), *answered(1), failed(2, "probe", 0), fetched(3), after=90)) == [
        "SilentLoader",
        "SizeProbe",
    ]


def test_rules_have_names_that_stay_and_words_for_people() -> None:
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"(?:[A-Z][a-z]+)+", name) for name in names)


@pytest.mark.parametrize("mode", ["reservation", "pool", "proxy", "off"])
def test_where_nothing_was_seen_and_nobody_asked_nothing_is_said(mode: str) -> None:
    for empty in (
        case(mode=mode, ticket=False),
        case(mode=mode, ticket=False, rivals=None),
        appliance(mode=mode, rivals=None),
    ):
        assert named(empty) == []


def test_the_docs_tell_every_rule_in_the_same_order() -> None:
    rows = re.findall(r"^\| `([A-Z][A-Za-z]+)` \| ([^|]+?) \|", DOCS.read_text(), re.MULTILINE)
    assert rows == [(rule.name, rule.about) for rule in RULES]


def test_the_docs_tell_of_every_rule_what_it_said_and_how_soon_it_is_told() -> None:
    rows = re.findall(r"^\| `[A-Z][A-Za-z]+` \|.*$", DOCS.read_text(), re.MULTILINE)
    assert len(rows) == len(RULES)
    assert [each for each in rows if not re.fullmatch(r"(\| [^|]+ ){5}\|", each)] == []


@pytest.mark.parametrize("broken", RULES, ids=lambda each: each.name)
def test_a_rule_that_fails_keeps_no_other_from_speaking(broken: Rule, caplog: pytest.LogCaptureFixture) -> None:
    def fails(_: Case) -> Iterator[Finding]:
        raise ZeroDivisionError("this rule is broken")

    stray = seen(3, Stage.OTHER_SERVER, server="172.30.0.9", address="172.30.0.77")
    told = case(asked(0, secs=30), seen(1, Stage.OFFERED), stray, failed(4, "probe", 0), fetched(5), after=5)
    rules = [replace(each, look=fails) if each is broken else each for each in RULES]
    found = [(each.rule, each.cause) for each in diagnose(told, rules)]
    others = [(each.rule, each.cause) for each in diagnose(told) if each.rule != broken.name]
    said = [each for each in found if each[0] == "RuleFailed"]
    assert [each for each in found if each[0] != "RuleFailed"] == others
    if broken.vague:  # where others know more, it is not asked at all
        assert said == []
    else:
        assert [cause for _, cause in said] == [
            f"The doctor's rule {broken.name} failed, so nothing is known of {broken.about}."
        ]
        assert "this rule is broken" in caplog.text


def test_trouble_before_the_worker_is_suspect_at_most_while_that_works() -> None:
    story = (asked(0, architecture=6), seen(1, Stage.IGNORED, why=Silence.NO_PROGRAM.value))
    (lost,) = diagnose(case(*story, after=5))
    assert (lost.rule, lost.gravity) == ("NoProgram", Gravity.FAULT)
    told = case(*story, after=5)
    working = replace(told, work=replace(WORK, contact=told.now))
    (found,) = diagnose(working)
    assert (found.rule, found.gravity) == ("NoProgram", Gravity.SUSPECT)
    assert found.evidence[-1].startswith("2026-11-21 03:00:06 its worker was in touch all the same")
    silent = replace(told, work=replace(WORK, contact=told.now - timedelta(minutes=5)))
    assert Gravity.FAULT in {each.gravity for each in diagnose(silent) if each.rule == "NoProgram"}
