"""Secrets of actions: asked for by templates, given to workers, kept encrypted, and masked in what is printed."""

import base64
import json
import urllib.parse
from pathlib import Path

import pytest

from tests.integration.engine.appliance import Appliance, Clock, appliance, hardware, mac
from tests.integration.engine.held import Hub, hold, say_held
from tests.integration.engine.metadata.installing import INSTALL, going
from tinkbox.engine.machines.metadata_tokens import PATH
from tinkbox.engine.secrets.key import CREDENTIAL, SecretKey, key_source
from tinkbox.model.access import operator
from tinkbox.model.actions.progress import Told
from tinkbox.model.breakpoint import Verb, Verdict
from tinkbox.model.documents.hardware import parse_hardware
from tinkbox.model.errors import Invalid, NotFound, Unavailable
from tinkbox.model.reasons import Reason
from tinkbox.model.secret import LEAST_VALUE, MAX_VALUE, PREFIX, revealed
from tinkbox.model.shells import Mode, ShellEnd, ShellWish
from tinkbox.model.workflow import Outcome, State
from tinkbox.private_files import kept_secret
from tinkbox.store.database import kept_secret_of
from tinkbox.wire.messages.hosting import Wanted
from tinkbox.wire.messages.progress import Telling
from tinkbox.wire.messages.worker import Hello, Offer, Report, decode_offer, encode
from tinkbox.wire.syslog import MAX_TEXT, Message, Severity, parse

VALUE = b"correct-horse/battery+staple?"
TEMPLATE = """\
version: "0.1"
name: asking
tasks:
  - name: os-installation
    worker: "{{.device_1}}"
    environment: {FROM_TASK: {{ secret "db-password" }}}
    actions:
      - name: ask
        image: tools/ask:v1
        command: [sh, -c, "echo {{ secret "db-password" }}"]
        environment: {ENCODED: {{ secret "db-password" | b64enc }}}
        retries: 1
        secrets: [tls-key, {name: db-password, env: DB}]
"""
TWO_ACTIONS = TEMPLATE.replace("    actions:\n", "    actions:\n      - {name: first, image: first}\n").replace(
    '    environment: {FROM_TASK: {{ secret "db-password" }}}\n', ""
)
SERVED = """\
version: "0.1"
name: serving
services:
  - {name: served, image: served, worker: "{{.device_1}}", environment: {DB: {{ secret "db-password" }}}}
tasks:
  - {name: os-installation, worker: "{{.device_1}}", actions: [{name: ask, image: ask}]}
"""
JINJA = """\
version: "0.1"
name: asking
tasks:
  - name: os-installation
    worker: "{{ device_1 }}"
    actions:
      - {name: ask, image: "tools/ask:v1", command: [sh, -c, "echo {{ secret('db-password') }}"]}
"""


async def asked(box: Appliance, text: str = TEMPLATE) -> tuple[str, str]:
    """A machine with a workflow that asks for secrets which there are; the ids of both."""
    worker = await box.machine(1)
    await box.secrets.set("db-password", VALUE, "ann")
    await box.secrets.set("tls-key", b"-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0\n-----END KEY-----\n", "ann")
    return worker, await box.workflow(text)


async def offered(box: Appliance, worker: str) -> Offer:
    offer = await box.offer(worker)
    assert offer is not None
    return offer


def seen(offer: Offer) -> str:
    """The command and the environment of an offer, as its container has them."""
    action = offer.action.spec
    return "\n".join(revealed(each, offer.given) for each in (*action.command, *action.environment.values()))


def in_files(folder: Path) -> bytes:
    """Everything that is on the disk but the key."""
    return b"\n".join(
        path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "secrets.key"
    )


@pytest.mark.parametrize("text", [TEMPLATE, JINJA], ids=["Go", "Jinja2"])
async def test_an_action_is_given_the_secrets_that_its_template_names(box: Appliance, text: str) -> None:
    worker, _ = await asked(box, text)
    offer = await offered(box, worker)
    assert f"echo {VALUE.decode()}" in seen(offer)
    assert VALUE.decode() not in repr(offer)
    assert decode_offer(encode(offer)) == offer


async def test_what_is_encoded_or_merged_and_what_secrets_lists_is_given_too(box: Appliance) -> None:
    worker, _ = await asked(box)
    offer = await offered(box, worker)
    environment = {name: revealed(value, offer.given) for name, value in offer.action.spec.environment.items()}
    assert environment == {"FROM_TASK": VALUE.decode(), "ENCODED": base64.b64encode(VALUE).decode()}
    assert offer.given["db-password"] == VALUE
    assert [(each.name, each.env, each.file) for each in offer.action.spec.secrets] == [
        ("tls-key", "", "/run/secrets/tls-key"),
        ("db-password", "DB", ""),
    ]


async def test_no_secret_is_in_the_store_or_in_what_it_shows(tmp_path: Path) -> None:
    async with appliance(tmp_path / "db") as box:
        worker, workflow = await asked(box)
        offer = await offered(box, worker)
        printed = (
            b"it is " + VALUE + b", " + base64.b64encode(b"x" + VALUE) + b" and " + urllib.parse.quote(VALUE).encode()
        )
        await box.attempts.output(worker, offer.attempt, 0, printed)
        await box.report(
            worker,
            offer,
            State.FAILED,
            message=f"cannot log in with {VALUE.decode()}",
            reason="BadLogin",
            tail=(VALUE.decode(),),
        )
        shown = await box.workflows.get(workflow)
        assert '{{ secret "db-password" }}' in shown.text
        assert PREFIX not in shown.text
        events = json.dumps(
            [[event.kind, dict(event.data)] for event in await box.workflows.events(workflow)], default=str
        )
        on_disk = in_files(tmp_path)
        for each in (VALUE, base64.b64encode(VALUE), VALUE.hex().encode(), urllib.parse.quote(VALUE).encode()):
            assert each not in on_disk
            assert each.decode() not in repr(shown) + events
        assert (tmp_path / "secrets.key").stat().st_mode & 0o777 == 0o600


async def test_a_secret_is_masked_however_its_output_comes_in_pieces(box: Appliance) -> None:
    worker, workflow = await asked(box)
    offer = await offered(box, worker)
    printed = b"before " + VALUE + b" between " + base64.b64encode(VALUE) + b" after\n"
    for place in range(len(printed)):  # byte for byte, each sent twice, the second time with what came before it
        await box.attempts.output(worker, offer.attempt, place, printed[place : place + 1])
        await box.attempts.output(worker, offer.attempt, max(0, place - 3), printed[max(0, place - 3) : place + 1])
    (log,) = await box.workflows.output(workflow, {})
    kept = b"".join(piece.chunk for piece in log.pieces)
    assert len(kept) == len(printed)
    assert VALUE[3:] not in kept
    assert VALUE[2:8] not in kept
    assert kept.startswith(b"before ")
    assert kept.endswith(b" after\n")


async def held_with_secrets(box: Appliance) -> tuple[str, Offer]:
    """A machine's action that was given secrets, failed and is held; the machine's id."""
    worker, _ = await asked(box)
    offer = await offered(box, worker)
    await say_held(box, worker, offer)
    return worker, offer


async def test_what_is_typed_for_a_shell_reaches_its_worker_and_is_kept_masked(tmp_path: Path) -> None:
    typed = ShellWish(
        id="", tty=False, command=("login", "-p", VALUE.decode()), environment={"DB": VALUE.decode()}, folder="/tmp"
    )
    stars = "*" * len(VALUE)
    async with appliance(tmp_path / "db") as box:
        worker, offer = await held_with_secrets(box)
        opened = await box.shells.open(offer.workflow_id, typed, operator("ann"))
        async with box.shells.attached(opened.id, opened.ticket, Mode.DRIVE):
            (wish,) = (await box.breakpoints.orders(worker, offer.attempt)).shells
            assert (wish.command, wish.environment) == (typed.command, typed.environment)
            assert VALUE not in in_files(tmp_path)
        session = (await box.shells.listed(offer.workflow_id))[0].session
        assert (session.wish.command, session.wish.environment) == (("login", "-p", stars), {"DB": stars})
        events = {each.kind: each.data for each in await box.workflows.events(offer.workflow_id)}
        assert events["shell.command"]["argv"] == ["login", "-p", stars]
        with await box.shells.recording(opened.id) as recording:
            assert json.loads(recording.readline())["command"] == f"login -p '{stars}'"
        assert VALUE not in in_files(tmp_path)


async def test_a_shell_of_which_nobody_knows_any_more_what_was_typed_ends(tmp_path: Path) -> None:
    clock, plain = Clock(), ShellWish(id="", tty=True, environment={"DB": "none"})
    async with appliance(tmp_path / "db", clock) as box:
        worker, offer = await held_with_secrets(box)
        hub = Hub(box, tmp_path)
        for each in (plain, ShellWish(id="", tty=True, environment={"DB": VALUE.decode()})):
            opened = await hub.shells.open(offer.workflow_id, each, operator("ann"))
            async with hub.shells.attached(opened.id, opened.ticket, Mode.DRIVE):
                pass
        await hub.stop()
    async with appliance(tmp_path / "db", clock, iter(range(1000, 2000))) as box:
        (left,) = (await box.breakpoints.orders(worker, offer.attempt)).shells
        assert left.environment == plain.environment
        hub = Hub(box, tmp_path)
        await hub.shells.load()
        await hub.shells.sweep()
        first, second = (each.session.end for each in await hub.shells.listed(offer.workflow_id))
        assert first is None
        assert second is not None
        assert second.reason == "ApplianceRestarted"


async def test_how_a_shell_ended_is_told_without_secrets(box: Appliance) -> None:
    _, offer = await held_with_secrets(box)
    opened = await box.shells.open(offer.workflow_id, ShellWish(id="", tty=False, command=("x",)), operator("ann"))
    async with box.shells.attached(opened.id, opened.ticket, Mode.DRIVE):
        session = (await box.shells.listed(offer.workflow_id))[0].session
        await box.shells.over(session, ShellEnd(None, "NoCommand", f'exec: "{VALUE.decode()}": not found'))
    assert VALUE.decode() not in repr(await box.workflows.events(offer.workflow_id))
    assert VALUE.decode() not in repr(await box.shells.listed(offer.workflow_id))


async def test_what_people_say_of_a_hold_is_kept_masked(tmp_path: Path) -> None:
    async with appliance(tmp_path / "db") as box:
        _, offer = await held_with_secrets(box)
        said = f"the password is {VALUE.decode()}"
        await box.breakpoints.extend(offer.workflow_id, 60, "ann", said)
        hold = await box.breakpoints.resolve(offer.workflow_id, Verdict(verb=Verb.FAIL, who="ann", why=said))
        assert hold.verdict is not None
        assert hold.verdict.why == f"the password is {'*' * len(VALUE)}"
        events = await box.workflows.events(offer.workflow_id)
        assert VALUE.decode() not in repr(events)
        assert [each.data["why"] for each in events if "why" in each.data] == [hold.verdict.why] * 2
        assert VALUE not in in_files(tmp_path)


async def test_a_retry_in_whose_words_a_secret_stands_is_refused(box: Appliance) -> None:
    _, offer = await held_with_secrets(box)
    for changed in (
        Verdict(verb=Verb.RETRY, who="ann", why="", fresh=True, command=("login", VALUE.decode())),
        Verdict(verb=Verb.RETRY, who="ann", why="", environment={"DB": f"x{VALUE.decode()}"}),
    ):
        with pytest.raises(Invalid, match=r'write \{\{ secret "NAME" \}\} in its place'):
            await box.breakpoints.resolve(offer.workflow_id, changed)
    assert (await box.breakpoints.standing(offer.workflow_id)).hold is not None


async def test_the_unit_of_an_actions_progress_is_masked(box: Appliance) -> None:
    worker, _ = await asked(box)
    await box.secrets.set("db-password", b"Abcdef1", "ann")
    offer = await offered(box, worker)
    told = Told(done=3, total=30, unit="Abcdef1 B")
    await box.running_progress.tell(
        worker, offer.attempt, Telling(workflow_id=offer.workflow_id, boot_id="boot-1", progress=told)
    )
    (line,) = (await box.overview.snapshot("1")).workflows
    assert line.running is not None
    assert line.running.progress is not None
    assert line.running.progress.unit == "******* B"


async def test_what_is_typed_while_secrets_cannot_be_read_is_masked_as_a_whole_and_changes_no_command(
    tmp_path: Path,
) -> None:
    async with appliance(tmp_path / "db") as box:
        _, offer = await held_with_secrets(box)
    (tmp_path / "secrets.key").unlink()
    async with appliance(tmp_path / "db", numbers=iter(range(1000, 2000))) as box:
        with pytest.raises(Unavailable, match="put their key back"):
            await box.breakpoints.resolve(
                offer.workflow_id, Verdict(verb=Verb.RETRY, who="ann", fresh=True, command=("ls",))
            )
        hold = await box.breakpoints.resolve(offer.workflow_id, Verdict(verb=Verb.FAIL, who="ann", why="no disk"))
        assert hold.verdict is not None
        assert hold.verdict.why == "*" * len("no disk")


def say(box: Appliance, number: int, *texts: str, program: str = "worker") -> None:
    for text in texts:
        box.syslog.said(mac(number), Message(severity=Severity.WARNING, facility=1, program=program, text=text))


async def said(box: Appliance, number: int) -> list[str]:
    return [each.text for each in await box.syslog.of([mac(number)], 100)]


async def test_syslog_of_a_machine_is_masked_before_it_is_shown_and_stored(tmp_path: Path) -> None:
    secret, stars = VALUE.decode(), "*" * len(VALUE)
    long = "x" * (MAX_TEXT - 12) + secret[:12]
    async with appliance(tmp_path / "db") as box:
        worker, _ = await asked(box)
        other = await box.machine(2)
        offer = await offered(box, worker)
        say(box, 1, f"{secret} leaked", "begins correct-horse/", "battery+staple? ends", long)
        say(box, 1, f"{secret}", program="kernel")
        say(box, 2, f"{secret} of somebody else")
        masked = [f"{stars} leaked", f"begins {stars[:14]}", f"{stars[:15]} ends", f"{long[:-12]}{stars[:12]}", stars]
        for _ in range(2):
            assert await said(box, 1) == masked
            assert [each.text for each in await box.syslog.complaints([mac(1)], 100)] == masked
            assert [each.text for each in await box.syslog.of_kernel([mac(1)], box.clock.now, None)] == [stars]
            assert await said(box, 2) == [f"{secret} of somebody else"]
            await box.syslog.save()
        stored = await box.store.read(lambda tables: tables.syslog.of([mac(1)], 100))
        assert [each.text for each in stored.values()] == masked
        await box.report(worker, offer)
        say(box, 1, f"installed with {secret}")
        assert (await said(box, 1))[-1] == f"installed with {stars}", "until another workflow begins there"
        assert other


@pytest.mark.parametrize(
    "datagram",
    [
        "<13>Nov 30 22:00:00 node3 pass:wo rd99:x",
        "<13>node3 pass:wo rd99:x",
        "pass:wo rd99:x",
        "<13>1 2026-11-30T22:00:00Z node3 pass:wo rd99:x - - rest",
        "<13>1 2026-11-30T22:00:00Z node3 app - - pass:wo rd99:x",
    ],
)
async def test_syslog_is_masked_where_a_secret_is_read_as_the_name_of_a_program(box: Appliance, datagram: str) -> None:
    worker, _ = await asked(box)
    await box.secrets.set("db-password", b"pass:wo rd99:x", "ann")
    await offered(box, worker)
    for each in parse(datagram.encode()):
        box.syslog.said(mac(1), each)
    told = [f"{each.program}: {each.text}" for each in await box.syslog.of([mac(1)], 100)]
    assert not [each for each in told if "pass" in each or "rd99" in each], told


async def test_syslog_of_a_machine_with_a_service_is_masked_as_long_as_its_workflow_goes_on(box: Appliance) -> None:
    worker = await box.machine(2)
    await box.machine(1)
    await box.secrets.set("db-password", VALUE, "ann")
    text = SERVED.replace("{{.device_1}}", "{{.device_2}}", 1)
    workflow = await box.workflow(text, device_1=1, device_2=2)
    assert await box.services.wanted(worker, "", private=True)
    say(box, 2, VALUE.decode())
    assert await said(box, 2) == ["*" * len(VALUE)]
    await box.syslog.save()
    await box.workflows.cancel(workflow, "ann")
    say(box, 2, VALUE.decode())
    assert await said(box, 2) == ["*" * len(VALUE), VALUE.decode()]


async def test_what_an_installed_system_reports_of_its_first_boot_is_masked(box: Appliance) -> None:
    text = INSTALL.replace("image: x, timeout: 60", "image: x, timeout: 60, secrets: [{name: db-password, env: P}]")
    await box.secrets.set("db-password", VALUE, "ann")
    system = await going(box, text)
    await system.report("modules-final/config-scripts_user", "FAIL", f"no login with {VALUE.decode()}")
    await system.phone_home()
    await system.report("modules-final", "FAIL", "1 failed modules: scripts_user")
    _, message = await system.outcome()
    assert f"'no login with {'*' * len(VALUE)}'" in message
    seen = [await box.workflows.events(system.offer.workflow_id), await box.machines.timeline.of(mac(1))]
    assert VALUE.decode() not in repr(seen)


async def test_a_restart_within_a_secret_leaves_no_end_of_it(tmp_path: Path) -> None:
    clock = Clock()
    async with appliance(tmp_path / "db", clock) as box:
        worker, workflow = await asked(box)
        offer = await offered(box, worker)
        await box.attempts.output(worker, offer.attempt, 0, b"it is " + VALUE[:10])
    async with appliance(tmp_path / "db", clock, iter(range(1000, 2000))) as box:
        await box.attempts.output(worker, offer.attempt, 16, VALUE[10:] + b"\n")
        (log,) = await box.workflows.output(workflow, {})
        assert b"".join(piece.chunk for piece in log.pieces) == b"it is " + b"*" * len(VALUE) + b"\n"


@pytest.mark.parametrize("is_canceled", [False, True])
async def test_value_that_is_replaced_while_an_action_runs_is_masked_until_that_is_over_also_after_a_restart(
    tmp_path: Path, is_canceled: bool
) -> None:
    clock = Clock()
    async with appliance(tmp_path / "db", clock) as box:
        worker, workflow = await asked(box)
        offer = await offered(box, worker)
        await box.attempts.output(worker, offer.attempt, 0, b"it is " + VALUE[:10])
        if is_canceled:  # it is told to stop, and prints until it did
            await box.workflows.cancel(workflow, "ann")
        await box.secrets.set("db-password", b"quite-another", "bob")
        await box.retainer.look()
    async with appliance(tmp_path / "db", clock, iter(range(1000, 2000))) as box:
        await box.retainer.look()
        await box.attempts.output(worker, offer.attempt, 16, VALUE[10:] + b" and " + VALUE + b"\n")
        told = f"no login with {VALUE.decode()}"
        await box.report(worker, offer, State.FAILED, message=told, tail=(told,))
        say(box, 1, told)
        (log,) = await box.workflows.output(workflow, {})
        stars = b"*" * len(VALUE)
        assert b"".join(piece.chunk for piece in log.pieces) == b"it is " + stars + b" and " + stars + b"\n"
        shown = repr((await box.workflows.get(workflow), await box.workflows.events(workflow), await said(box, 1)))
        assert VALUE.decode() not in shown
        assert f"no login with {stars.decode()}" in shown


async def test_an_attempt_keeps_what_it_was_given_and_a_retry_gets_what_there_is_then(box: Appliance) -> None:
    worker, _ = await asked(box)
    first = await offered(box, worker)
    await box.secrets.set("db-password", b"quite-another", "bob")
    assert (await offered(box, worker)).given == first.given
    await box.attempts.output(worker, first.attempt, 0, VALUE)
    await box.report(worker, first, State.FAILED, message=VALUE.decode())
    second = await offered(box, worker)
    assert "quite-another" in seen(second)
    await box.attempts.output(worker, second.attempt, 0, VALUE + b" quite-another")
    logs = await box.workflows.output(second.workflow_id, {})
    assert all(set(b"".join(piece.chunk for piece in log.pieces)) <= {ord("*"), ord(" ")} for log in logs)


async def test_a_workflow_that_names_no_secret_that_there_is_is_refused_with_its_line(box: Appliance) -> None:
    await box.machine(1)
    with pytest.raises(Invalid) as refused:
        await box.workflow(TEMPLATE)
    told = [(problem.line, problem.text) for problem in refused.value.problems]
    assert (6, 'there is no secret "db-password": set it with `tinkbox secret set db-password`') in told
    assert (13, 'there is no secret "tls-key": set it with `tinkbox secret set tls-key`') in told
    assert [line for line, _ in told] == sorted(line or 0 for line, _ in told)
    assert await box.workflows.all() == []


async def test_a_template_that_asks_for_a_secret_that_there_is_not_is_told_when_it_is_validated(box: Appliance) -> None:
    await box.secrets.set("tls-key", VALUE, "ann")
    machine = parse_hardware(json.dumps(hardware(1)))
    verdicts = await box.templates.validate(TEMPLATE, [machine], None, "ann")
    assert [each.problems for each in verdicts] == [()], "it may be set later"
    assert [each.text for each in verdicts.remarks.notes] == [
        'there is no secret "db-password": set it with `tinkbox secret set db-password`'
    ]
    await box.secrets.set("db-password", VALUE, "ann")
    assert not (await box.templates.validate(TEMPLATE, [machine], None, "ann")).remarks.notes


async def test_a_secret_that_was_deleted_fails_the_action_that_asks_for_it(box: Appliance) -> None:
    worker, workflow = await asked(box)
    await box.secrets.delete("tls-key")
    assert await box.offer(worker) is None
    failed = await box.workflows.get(workflow)
    assert failed.state is State.FAILED
    assert failed.actions[0].outcome is not None
    assert failed.actions[0].outcome.reason == Reason.SECRET_MISSING
    assert "tinkbox secret set tls-key" in failed.actions[0].outcome.message
    await box.secrets.set("tls-key", b"a new key", "ann")
    await box.workflows.retry(workflow)
    assert (await offered(box, worker)).given["tls-key"] == b"a new key"


async def test_a_worker_of_before_secrets_gets_no_action_that_asks_for_one(box: Appliance) -> None:
    worker, workflow = await asked(box)
    assert await box.attempts.offer(worker, Hello(boot_id="boot-1"), private=True) is None
    outcome = (await box.workflows.get(workflow)).actions[0].outcome
    assert outcome is not None
    assert outcome.reason == Reason.WORKER_OUTDATED


async def test_an_answer_that_others_can_read_has_no_secret(box: Appliance) -> None:
    worker, workflow = await asked(box)
    hello = Hello(boot_id="boot-1", secrets=True)
    assert await box.attempts.offer(worker, hello, private=False) is None
    outcome = (await box.workflows.get(workflow)).actions[0].outcome
    assert outcome is not None
    assert outcome.reason == Reason.NOT_ENCRYPTED
    await box.workflows.retry(workflow)
    assert (await offered(box, worker)).given["db-password"] == VALUE
    assert await box.attempts.offer(worker, hello, private=False) is None, "nor has one that was handed out before"


async def test_a_report_that_others_can_read_is_answered_without_a_secret(box: Appliance) -> None:
    worker, workflow = await asked(box, TWO_ACTIONS)
    first = await offered(box, worker)
    assert not first.given
    asks = Hello(boot_id="boot-1", secrets=True)
    done = Report(workflow_id=workflow, boot_id="boot-1", outcome=Outcome(state=State.SUCCESS), next=asks)
    assert await box.attempts.report(worker, first.attempt, done, private=False) is None
    outcome = (await box.workflows.get(workflow)).actions[1].outcome
    assert outcome is not None
    assert outcome.reason == Reason.NOT_ENCRYPTED


async def test_a_service_on_a_machine_that_others_can_read_of_has_no_secret(box: Appliance) -> None:
    worker, workflow = await asked(box, SERVED)
    wanted = await box.services.wanted(worker, "", private=False)
    assert wanted is not None
    assert all(not each.given for each in wanted.services)
    assert (await box.workflows.get(workflow)).services[0].standing.reason == Reason.NOT_ENCRYPTED
    await box.workflows.retry(workflow)
    (again,) = (await box.services.wanted(worker, "", private=True) or Wanted()).services
    assert VALUE in again.given.values()
    (plain,) = (await box.services.wanted(worker, "", private=False) or Wanted()).services
    assert not plain.given


async def test_text_of_a_machine_never_becomes_a_secret(box: Appliance) -> None:
    worker, _ = await asked(box)
    offer = await offered(box, worker)
    (mark,) = [each for each in offer.given if each.startswith(PREFIX) and ".raw." in each]
    await box.report(worker, offer)
    for told in (mark, f"{PREFIX}db-password.raw.{'0' * 32}"):
        document = {**hardware(2), "metadata": {"instance": {"hostname": told}}}
        await box.machines.push(parse_hardware(json.dumps(document)))
        text = TEMPLATE.replace(
            '"echo {{ secret "db-password" }}"', '"{{ .hardware.spec.metadata.instance.hostname }}"'
        )
        with pytest.raises(Invalid, match="looks like the secret"):
            await box.workflow(text, device_1=2)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("image: tools/ask:v1", 'image: {{ secret "db-password" }}'),
        ("name: ask\n", 'name: {{ secret "db-password" }}\n'),
        ("retries: 1", 'if: {{ secret "db-password" }}'),
        ("retries: 1", 'volumes: ["/{{ secret "db-password" }}:/x"]'),
        ("{FROM_TASK: ", '{ {{ secret "db-password" }}: x, FROM_TASK: '),
    ],
)
async def test_a_secret_has_no_place_but_in_a_command_or_an_environment(
    box: Appliance, before: str, after: str
) -> None:
    await asked(box)
    with pytest.raises(Invalid) as refused:
        await box.workflow(TEMPLATE.replace(before, after))
    assert any("a secret has no place here" in problem.text for problem in refused.value.problems)
    assert not any("tbsecret" in problem.text for problem in refused.value.problems)


async def test_what_a_function_makes_of_a_secret_is_refused(box: Appliance) -> None:
    await asked(box)
    with pytest.raises(Invalid) as refused:
        await box.workflow(TEMPLATE.replace("| b64enc", "| upper"))
    assert [(each.line, "upper takes no secret" in each.text) for each in refused.value.problems] == [(11, True)]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{{ secret "nope" }}', 'there is no secret "nope": set it with `tinkbox secret set nope`'),
        ('{{ secret "db-password" | b64enc }}', "without a function"),
        (f"{PREFIX}db-password.raw.{'0' * 32}", "is none"),
    ],
)
async def test_a_retry_that_asks_for_what_cannot_be_given_is_refused_and_the_action_stays_held(
    box: Appliance, text: str, why: str
) -> None:
    await box.secrets.set("db-password", VALUE, "ann")
    held = await hold(box, await box.machine(1))
    for verdict in (
        Verdict(verb=Verb.RETRY, who="ann", why="", fresh=True, command=("sh", "-c", text)),
        Verdict(verb=Verb.RETRY, who="ann", why="", fresh=True, environment={"A": text}),
    ):
        with pytest.raises(Invalid) as refused:
            await box.breakpoints.resolve(held.workflow_id, verdict)
        assert why in " ".join([str(refused.value), *(each.text for each in refused.value.problems)])
    assert (await box.breakpoints.standing(held.workflow_id)).hold is not None
    good = Verdict(verb=Verb.RETRY, who="ann", why="", fresh=True, command=("echo", '{{ secret "db-password" }}'))
    await box.breakpoints.resolve(held.workflow_id, good)


async def test_secrets_are_listed_without_values_and_with_who_asks_for_them(box: Appliance) -> None:
    worker, workflow = await asked(box)
    password, key = await box.secrets.all()
    assert (password.secret.name, password.secret.size, password.secret.set_by) == ("db-password", len(VALUE), "ann")
    assert (key.secret.name, key.workflows) == ("tls-key", (workflow,))
    assert len(key.templates) == 1
    await box.finish(worker)
    assert [each.workflows for each in await box.secrets.all()] == [(), ()]


async def test_what_is_no_secret_is_refused(box: Appliance) -> None:
    for name, value in (
        ("", VALUE),
        ("../x", VALUE),
        ("x" * 254, VALUE),
        ("short", b"x" * (LEAST_VALUE - 1)),
        ("short", b"\n" * LEAST_VALUE),
        ("long", b"x" * (MAX_VALUE + 1)),
    ):
        with pytest.raises(Invalid):
            await box.secrets.set(name, value, "ann")
    with pytest.raises(NotFound):
        await box.secrets.delete("nothing")


async def test_without_its_key_a_secret_fails_its_workflow_and_nothing_else(tmp_path: Path) -> None:
    clock = Clock()
    async with appliance(tmp_path / "db", clock) as box:
        worker, workflow = await asked(box)
        (tmp_path / "secrets.key").rename(tmp_path / "put-away")
    async with appliance(tmp_path / "db", clock, iter(range(1000, 2000))) as box:
        with pytest.raises(Unavailable, match=r"secrets\.key"):
            await box.secrets.set("another", VALUE, "ann")
        await box.workflow()
        with pytest.raises(Unavailable, match=r"secrets\.key"):
            await box.workflow(TEMPLATE)
        assert await box.offer(worker) is not None  # the workflow that asks for none: the first one is over
        outcome = (await box.workflows.get(workflow)).actions[0].outcome
        assert outcome is not None
        assert outcome.reason == Reason.SECRET_UNREADABLE
        assert "put that key back" in outcome.message
        (tmp_path / "put-away").rename(tmp_path / "secrets.key")
        await box.finish(worker)
        await box.workflows.retry(workflow)
        assert VALUE.decode() in seen(await offered(box, worker))


async def test_key_that_is_missing_or_another_one_is_told_at_the_start_and_while_it_runs(tmp_path: Path) -> None:
    key, away = tmp_path / "secrets.key", tmp_path / "put-away"
    async with appliance(tmp_path / "db") as box:
        assert await box.secrets.unreadable() == "", "there is no secret"
        await box.secrets.set("db-password", VALUE, "ann")
        assert await box.secrets.unreadable() == ""
        key.rename(away)
        assert "is missing" in await box.secrets.unreadable()
        # It has the key in memory, which the next start has not.
        with pytest.raises(Unavailable, match=r"nothing was kept: .*secrets\.key is missing, .* restart tinkbox"):
            await box.secrets.set("another", VALUE, "ann")
        for text, told in (("x" * 64, "holds another key"), ("", "is empty, damaged, or closed to tinkbox")):
            key.write_text(text)
            with pytest.raises(Unavailable, match=rf"nothing was kept: .*secrets\.key {told}, ") as refused:
                await box.secrets.set("another", VALUE, "ann")
            assert "secret set" not in str(refused.value)
            assert "memory alone" not in str(refused.value)
        key.unlink()
        with pytest.raises(Unavailable, match=r"nothing was kept: "):
            await box.secrets.set("db-password", VALUE, "ann")
        away.rename(key)
        await box.secrets.set("another", VALUE, "ann")
        await box.secrets.delete("another")
        key.rename(away)
        sealed = kept_secret_of(tmp_path / "db")
        assert sealed is not None
        assert sealed.name == "db-password"
    async with appliance(tmp_path / "db") as box:
        key.write_text("x" * 64)
        assert 'the secret "db-password" cannot be read' in await box.secrets.unreadable()
        assert "is not the key by which it was kept" in await box.secrets.unreadable()
        key.write_text("")
        why = await box.secrets.unreadable()
        assert "put the key back from a backup. See first whether it is a credential of systemd" in why
        assert "When there is neither, delete this file and the secrets, and set them anew" in why
        away.replace(key)
        assert await box.secrets.unreadable() == ""


def test_key_that_is_a_broken_credential_is_to_be_sealed_anew(tmp_path: Path) -> None:
    (tmp_path / CREDENTIAL).write_text("short")
    source = key_source(tmp_path, str(tmp_path), kept_secret)
    with pytest.raises(
        Unavailable, match=f"{CREDENTIAL} is no key of secrets.*: it is a credential of systemd, so seal"
    ):
        source.stored()
    (tmp_path / CREDENTIAL).write_text("x" * 64)
    with pytest.raises(Unavailable, match=r"\. It is a credential of systemd, so seal the right key"):
        SecretKey(source).open("db-password", b"y" * 64)


async def test_values_that_were_replaced_are_forgotten_once_no_workflow_masks_them(tmp_path: Path) -> None:
    async with appliance(tmp_path / "db") as box:
        worker, _ = await asked(box)
        await offered(box, worker)
        for number in range(3):
            await box.secrets.set("db-password", b"another-one-%d" % number, "ann")
        assert await _values(box) == 3  # what the attempt has, what there is now, and the other secret
        await box.secrets.delete("tls-key")
        await box.retainer.look()
        assert await _values(box) == 3, "the output of the attempt is masked by what it was given"
        await box.finish(worker)
        await box.retainer.look()
        assert await _values(box) == 1


async def _values(box: Appliance) -> int:
    return len(await box.store.read(lambda tables: tables.secrets.everything()))


REFERRED = """\
version: "0.1"
name: asking
tasks:
  - name: os-installation
    worker: "{{.device_1}}"
    actions:
      - name: ask
        image: tools/ask:v1
        environment:
          USER: "{{ .references.login.data.user }}"
          PASSWORD: "{{ index .references.login.data "pass-word" | b64dec }}"
"""
REFERRED_JINJA = """\
version: "0.1"
name: asking
tasks:
  - name: os-installation
    worker: "{{ device_1 }}"
    actions:
      - name: ask
        image: tools/ask:v1
        environment:
          USER: "{{ references.login.data.user }}"
          PASSWORD: "{{ references.login.data['pass-word'] | b64dec }}"
"""


@pytest.mark.parametrize("text", [REFERRED, REFERRED_JINJA], ids=["Go", "Jinja2"])
async def test_references_of_a_machine_to_secrets_are_theirs(box: Appliance, text: str) -> None:
    interface = {"dhcp": {"mac": "08:00:27:00:00:03", "ip": {"address": "172.30.0.13"}}, "netboot": {"allowPXE": True}}
    reference = {"name": "lab", "namespace": "default", "version": "v1", "resource": "secrets"}
    document = {
        "apiVersion": "tinkerbell.org/v1alpha1",
        "kind": "Hardware",
        "metadata": {"name": "three"},
        "spec": {"interfaces": [interface], "references": {"login": reference}},
    }
    parsed = parse_hardware(json.dumps(document))
    await box.machines.push(parsed)
    with pytest.raises(Invalid) as refused:
        await box.workflow(text, device_1=3)
    assert "login" in str(refused.value.problems)
    await box.secrets.set("lab.user", b"installer", "ann")
    await box.secrets.set("lab.pass-word", VALUE, "ann")
    workflow = await box.workflow(text, device_1=3)
    assert [(each.workflows, each.templates) for each in await box.secrets.all()] == [((workflow,), ())] * 2
    offer = await offered(box, parsed.id)
    environment = {name: revealed(value, offer.given) for name, value in offer.action.spec.environment.items()}
    assert environment == {"USER": base64.b64encode(b"installer").decode(), "PASSWORD": VALUE.decode()}


PLAIN = """\
version: "0.1"
name: plain
tasks:
  - {name: os-installation, worker: "{{.device_1}}", actions: [{name: env, image: env}]}
"""


async def test_the_token_of_the_machines_metadata_is_masked_in_what_an_action_prints_and_reports(
    box: Appliance,
) -> None:
    worker = await box.machine(1)
    workflow = await box.workflow(PLAIN)
    offer = await offered(box, worker)
    token = offer.metadata.removeprefix(PATH).encode()
    printed = b"TINKBOX_METADATA=http://172.30.0.1" + PATH.encode() + token + b"\nHOME=/\n"
    for begin in range(0, len(printed), 7):
        await box.attempts.output(worker, offer.attempt, begin, printed[begin : begin + 7])
    said = f"cannot fetch {PATH}{token.decode()}/user-data"
    await box.report(worker, offer, State.FAILED, reason="Failed", message=said, tail=(said,))
    (log,) = await box.workflows.output(workflow, {})
    assert b"".join(piece.chunk for piece in log.pieces) == printed.replace(token, b"*" * len(token))
    shown = await box.workflows.get(workflow)
    assert token.decode() not in repr(shown)
    assert "cannot fetch /metadata/" + "*" * len(token) in repr(shown)


async def test_secrets_and_the_token_of_the_metadata_are_masked_in_one_output(box: Appliance) -> None:
    worker, workflow = await asked(box)
    offer = await offered(box, worker)
    token = offer.metadata.removeprefix(PATH).encode()
    await box.attempts.output(worker, offer.attempt, 0, VALUE + b" " + token + b" end\n")
    (log,) = await box.workflows.output(workflow, {})
    kept = b"".join(piece.chunk for piece in log.pieces)
    assert kept == b"*" * len(VALUE) + b" " + b"*" * len(token) + b" end\n"
