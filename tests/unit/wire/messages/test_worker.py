"""The messages between worker and appliance."""

import contextlib
import json
from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.model.actions.action import Action, Until
from tinkbox.model.breakpoint import Armed, Override
from tinkbox.model.disks.disks import Disk
from tinkbox.model.errors import Invalid
from tinkbox.model.reasons import MAX_REASON, Giver, Reason, ReasonText
from tinkbox.model.workflow import Outcome, PlannedAction, State
from tinkbox.wire.messages import worker

ACTION = PlannedAction(
    index=1,
    task="os-installation",
    worker="0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94",
    address="08:00:27:00:00:01",
    spec=Action(
        name="disk-image",
        image="image2disk:v1",
        timeout=600,
        command=("sh", "-c", "echo hi"),
        volumes=("/dev:/dev",),
        environment={"MODE": "0644"},
        pid="host",
    ),
)
OFFER = worker.Offer(workflow_id="w", attempt="t", remaining=59.5, action=ACTION)
REPORT = worker.Report(
    workflow_id="w",
    boot_id="b",
    outcome=Outcome(state=State.FAILED, exit_code=3, reason="Broken", message="it broke", tail=("last",)),
)
DECODERS = (worker.decode_credential, worker.decode_hello, worker.decode_offer, worker.decode_report)


def test_what_is_encoded_decodes_to_the_same() -> None:
    credential = worker.Credential(server="http://172.30.0.1", registry="172.30.0.1", worker="w", token="t")
    hello = worker.Hello(boot_id="b", version="0.1.0", finishing=True)
    assert worker.decode_credential(worker.encode(credential)) == credential
    guest = replace(credential, discovery=True)
    assert worker.decode_credential(worker.encode(guest)) == guest
    # One that was written before there was discovery.
    assert worker.decode_credential('{"server": "s", "registry": "r", "worker": "w", "token": "t"}').discovery is False
    assert worker.decode_hello(worker.encode(hello)) == hello
    assert worker.decode_offer(worker.encode(OFFER)) == OFFER
    assert worker.decode_report(worker.encode(REPORT)) == REPORT


def test_a_credential_for_tls_keeps_the_plain_url_for_what_trusts_no_authority() -> None:
    plain = worker.Credential(server="http://172.30.0.1", registry="172.30.0.1", worker="w", token="t")
    assert "authority" not in worker.encode(plain), "what an earlier release said is said the same"
    door = worker.TlsDoor(server="https://172.30.0.1:8443", registry="172.30.0.1:8443", authority="-----BEGIN\n")
    secured = door.credential(plain)
    assert (secured.server, secured.registry, secured.authority) == (door.server, door.registry, door.authority)
    assert (secured.worker, secured.token, secured.url_for_others) == ("w", "t", "http://172.30.0.1")
    assert worker.decode_credential(worker.encode(secured)) == secured
    assert door.credential(secured) == secured
    assert plain.url_for_others == plain.server


def test_what_breakpoints_and_services_add_travels_with_the_rest_and_is_not_there_by_itself() -> None:
    hello = worker.Hello(boot_id="b", debug=False)
    assert worker.decode_hello(worker.encode(hello)) == hello
    assert worker.decode_hello('{"boot_id": "b"}').debug
    for override in (Override(), Override(command=("sh", ""), environment={"A": "=ü"}), Override(command=())):
        offer = replace(OFFER, armed=Armed(before=True, on_failure=True), override=override)
        assert worker.decode_offer(worker.encode(offer)) == offer
    offer = replace(OFFER, hosts={"w.lab": "172.30.0.1", "appliance": ""})
    assert worker.decode_offer(worker.encode(offer)) == offer
    plain = json.loads(worker.encode(replace(OFFER, action=replace(ACTION, spec=replace(ACTION.spec, helper=False)))))
    del plain["armed"], plain["override"], plain["hosts"], plain["action"]["helper"]
    assert worker.decode_offer(json.dumps(plain)) == OFFER


@pytest.mark.parametrize(
    ("name", "value"),
    [("armed", []), ("armed", {"after": 1}), ("override", "sh"), ("override", {"command": "sh"}),
     ("override", {"environment": {"A": 1}}), ("hosts", ["a"]), ("hosts", {"a": 1})],
)  # fmt: skip
def test_breakpoints_that_are_none_are_refused(name: str, value: object) -> None:
    with pytest.raises(Invalid):
        worker.decode_offer(json.dumps({**json.loads(worker.encode(OFFER)), name: value}))


def test_a_disk_travels_where_there_is_one() -> None:
    offer = replace(OFFER, action=replace(ACTION, spec=replace(ACTION.spec, disk="smallest")))
    assert worker.decode_offer(worker.encode(offer)) == offer
    assert "disk" not in json.loads(worker.encode(OFFER))["action"]
    looked = (Disk(path="smallest", device="/dev/vda", name="WD-1"), Disk(path="/dev/sda"))
    report = replace(REPORT, disks=looked)
    assert worker.decode_report(worker.encode(report)) == report
    assert [each.get("device") for each in json.loads(worker.encode(report))["disks"]] == ["/dev/vda", None]


def test_a_network_travels_where_there_is_one_and_a_worker_that_knows_networks_says_so() -> None:
    offer = replace(OFFER, action=replace(ACTION, spec=replace(ACTION.spec, network="none")))
    assert worker.decode_offer(worker.encode(offer)) == offer
    assert "network" not in json.loads(worker.encode(OFFER))["action"]
    knows = worker.Hello(boot_id="b", networks=True)
    assert worker.decode_hello(worker.encode(knows)) == knows
    assert "networks" not in json.loads(worker.encode(replace(knows, networks=False)))


def test_a_report_of_something_that_is_no_end_is_refused() -> None:
    running = replace(REPORT, outcome=Outcome(state=State.RUNNING))
    with pytest.raises(Invalid, match="no end"):
        worker.decode_report(worker.encode(running))


def test_what_a_machine_says_is_cut_to_its_limits() -> None:
    lines = tuple(f"line {number}" for number in range(999))
    loud = Outcome(state=State.FAILED, reason="R" * 999, message="m" * 99_999, tail=lines)
    outcome = worker.outcome_from_document(asdict(loud))
    assert len(outcome.reason) == MAX_REASON
    assert len(outcome.message) == worker.MAX_MESSAGE
    assert outcome.tail == lines[-worker.MAX_TAIL_LINES :]


def test_halves_of_characters_become_text_that_can_be_stored() -> None:
    half = r"a\ud800b"
    assert worker.decode_hello(f'{{"boot_id":"{half}"}}').boot_id == "a?b"
    document = f'{{"state":"FAILED","reason":"{half}","message":"{half}","tail":["{half}","é"]}}'
    outcome = worker.outcome_from_document(json.loads(document))
    assert outcome == Outcome(state=State.FAILED, reason="a?b", message="a?b", tail=("a?b", "é"))


@pytest.mark.parametrize("decode", DECODERS)
@pytest.mark.parametrize("text", ["", "[]", "null", "{}", "{", b"\xff", "[" * 100_000])
def test_anything_else_is_refused_by_name(decode: object, text: str | bytes) -> None:
    with pytest.raises(Invalid):
        decode(text)  # type: ignore[operator]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3)
)


@given(name=st.sampled_from(sorted(worker.action_document(ACTION))), value=values)
def test_a_broken_field_never_escapes_as_anything_but_a_refusal(name: str, value: object) -> None:
    document = json.loads(worker.encode(OFFER))
    document["action"][name] = value
    with contextlib.suppress(Invalid):
        worker.decode_offer(json.dumps(document))


def test_an_action_travels_as_one_flat_object_with_its_keys_in_the_order_of_the_first_release() -> None:
    written = worker.encode(worker.Offer(workflow_id="w", attempt="t", remaining=1.5, action=ACTION))
    assert written == (
        '{"workflow_id":"w","attempt":"t","remaining":1.5,"action":{"index":1,"task":"os-installation",'
        '"name":"disk-image","worker":"0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94","address":"08:00:27:00:00:01",'
        '"image":"image2disk:v1","timeout":600,"command":["sh","-c","echo hi"],"on_timeout":[],"on_failure":[],'
        '"volumes":["/dev:/dev"],"environment":{"MODE":"0644"},"pid":"host","retries":0,"reboot":false,"helper":true,'
        '"wipes":[]},"left":false,"armed":{"before":false,"after":false,"on_failure":false},"override":null,"hosts":{}}'
    )


def test_a_report_asks_for_what_comes_next_and_its_answer_is_that_or_nothing() -> None:
    report = replace(REPORT, next=worker.Hello(boot_id="b", version="1", finishing=True, debug=False))
    assert worker.decode_report(worker.encode(report)) == report
    before = json.loads(worker.encode(REPORT))
    assert "next" not in before
    assert worker.decode_report_answer(worker.encode(OFFER)) == OFFER
    assert worker.decode_report_answer("{}") is None
    for wrong in ("[]", '{"next": 1}', ""):
        with pytest.raises(Invalid):
            worker.decode_report_answer(wrong)
    for wrong in ([], "x", {}, {"boot_id": 1}):
        with pytest.raises(Invalid):
            worker.decode_report(json.dumps({**before, "next": wrong}))


def test_an_offer_says_only_where_it_is_so_that_only_the_appliance_is_asked_for_its_image() -> None:
    assert worker.decode_offer(worker.encode(replace(OFFER, appliance_only=True))).appliance_only
    assert "appliance_only" not in json.loads(worker.encode(OFFER))
    assert not worker.decode_offer(worker.encode(OFFER)).appliance_only


def test_an_offer_says_of_the_data_only_that_there_is_none() -> None:
    assert worker.decode_offer(worker.encode(replace(OFFER, no_data=True))).no_data
    assert "no_data" not in json.loads(worker.encode(OFFER))


def test_where_metadata_is_and_what_an_action_waits_for_are_said_only_where_there_is_something() -> None:
    plain = json.loads(worker.encode(OFFER))
    assert "metadata" not in plain
    assert "until" not in plain["action"]
    waiting = replace(ACTION, spec=replace(ACTION.spec, reboot=True, until=Until.PHONE_HOME))
    offer = replace(OFFER, metadata="/metadata/T", action=waiting)
    assert worker.decode_offer(worker.encode(offer)) == offer


def test_what_an_action_prints_and_the_words_for_its_end_never_look_like_a_command_of_ours() -> None:
    said = "`tinkbox workflow cancel node1`"
    printed = Outcome(state=State.FAILED, signal=said, reason=ReasonText(said), tail=(said,))
    outcome = worker.outcome_from_document(asdict(printed))
    assert {outcome.signal, outcome.reason, *outcome.tail} == {"'tinkbox workflow cancel node1'"}


@pytest.mark.parametrize(
    "version", ["", "0.1.0", "0.2.0.dev3+g1234abc", "1:2", "0.1.0.\n  What to do: type `sh`", "v" * 65, "-", "ä"]
)
def test_version_of_a_worker_has_a_form_or_the_worker_is_refused(version: str) -> None:
    hello = worker.encode(worker.Hello(boot_id="b", version=version))
    if version in ("", "0.1.0", "0.2.0.dev3+g1234abc"):
        assert worker.decode_hello(hello).version == version
        return
    with pytest.raises(
        Invalid, match=r"^version is at most 64 letters, digits and \. \+ ~ - _, such as 0\.1\.0, and not '"
    ) as refused:
        worker.decode_hello(hello)
    assert "`" not in str(refused.value)
    assert str(refused.value).isprintable()


def test_what_an_action_says_never_looks_like_a_command_of_ours() -> None:
    said = Outcome(
        state=State.FAILED, reason=ReasonText("Broken"), message="`tinkbox workflow delete --all`", hint="run `reboot`"
    )
    outcome = worker.outcome_from_document(asdict(said))
    assert (outcome.message, outcome.hint) == ("'tinkbox workflow delete --all'", "run 'reboot'")
    for each in Reason:
        ours = replace(said, reason=each, hint=each.hint)
        assert worker.outcome_from_document(asdict(ours)).hint == each.hint

    earlier = replace(said, reason=Reason.NON_ZERO_EXIT, hint="read what it printed: tinkbox workflow logs")
    assert worker.outcome_from_document(asdict(earlier)).hint == Reason.NON_ZERO_EXIT.hint


@pytest.mark.parametrize("reason", [each for each in Reason if each.givers == Giver.APPLIANCE])
def test_a_reason_that_only_the_appliance_gives_is_a_word_of_the_action_where_a_machine_reports_it(
    reason: Reason,
) -> None:
    told = Outcome(state=State.FAILED, reason=reason, message="all is well")
    is_passed_on = reason is Reason.DISK_NOT_EMPTY
    assert worker.outcome_from_document(asdict(told)).hint == ("" if is_passed_on else Reason.NON_ZERO_EXIT.hint)
