"""What must be right before `tinkbox install` changes anything: every machine, the image, the keys, the action images."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tinkbox.cli.wording.machines import shown_by
from tinkbox.model.actions.released import INSTALL_IMAGE, REBOOT, to_load
from tinkbox.model.errors import Conflict, Invalid, NotFound, Problem, Refusal
from tinkbox.model.images.system_image import LATEST
from tinkbox.model.spelling import meant

if TYPE_CHECKING:
    from tinkbox.catalogue.entries import Entry
    from tinkbox.client.operator import Document, Operator

# What the template `install` runs.
ACTIONS: Final = (INSTALL_IMAGE, REBOOT)
# Data sources by which keys and user-data reach the installed system.
TELLING: Final = ("nocloud", "ec2")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The command line, its files read; `user_data_file` names the one of the user-data, `timeout` is in seconds, 0 the template's own."""

    image: str
    machines: tuple[str, ...]
    ssh_keys: tuple[str, ...] = ()
    user_data: str = ""
    user_data_file: str = ""
    disk: str = "only"
    hostname: str = ""
    seed: str = ""
    timeout: int = 0


class NotFetched(NotFound):
    """Nothing stands in the way but that the image is not kept, and the catalogue has it."""

    def __init__(self, entry: "Entry") -> None:
        super().__init__(f"no system image {entry.id!r} is kept here: type `tinkbox image fetch {entry.id}` first")
        self.entry = entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """What is to be done with one machine: the template's parameters, how it is spoken of, and what may come of it."""

    machine_id: str
    name: str
    address: str
    user: str
    reference: str
    parameters: Mapping[str, str]
    doubts: tuple[str, ...] = ()


async def checked(operator: "Operator", wanted: Wanted) -> Sequence[Installation]:
    """An installation for each machine, each once.

    Raises the only refusal, or Invalid with every one of them; of these NotFetched is none but where it is the only one.
    """
    refused: list[Refusal] = []
    machines: dict[str, Document] = {}
    for key in wanted.machines:
        try:
            found = await _machine(operator, key)
            machines[found["id"]] = found
        except (NotFound, Conflict) as refusal:
            refused.append(refusal)
    image: Document | None = None
    missing: NotFetched | None = None
    kept = await operator.images.all()
    try:
        image = await _image(operator, wanted.image, kept)
    except NotFetched as refusal:
        missing = refusal
    except (NotFound, Invalid) as refusal:
        refused.append(refusal)
    for check in (_refuse_without_actions(operator, kept), _refuse_without_osie(operator)):
        try:
            await check
        except NotFound as refusal:
            refused.append(refusal)
    told = image or (_foretold(missing.entry) if missing else None)
    keys = bool(wanted.ssh_keys or (told is not None and await operator.default_keys()))
    if told is not None:
        refused += _unread(told, wanted)
        in_any_case = keys or bool(wanted.user_data_file)
        refused += [each for machine in machines.values() for each in _misfits(told, machine, told=in_any_case)]
    if missing and not refused:
        raise missing
    if len(refused) == 1:
        raise refused[0]
    if refused or image is None:
        raise Invalid(
            f"nothing was begun: {len(refused)} things stand in the way",
            [Problem(text=_whole(each)) for each in refused],
        )
    return [_installation(wanted, image, each, keys=keys) for each in machines.values()]


def _whole(refusal: Refusal) -> str:
    """A refusal in one line, with the problems that it lists."""
    return ": ".join([str(refusal), *map(str, refusal.problems if isinstance(refusal, Invalid) else ())])


def _foretold(entry: "Entry") -> "Document":
    """What an image of the catalogue will say of itself, as far as is known before it is fetched."""
    config = {"architecture": entry.architecture, "firmware": entry.firmware, "data_source": entry.data_source}
    return {"id": entry.id, "config": config}


async def _machine(operator: "Operator", key: str) -> "Document":
    """Raises NotFound with what to type, and Conflict where a workflow has the machine already."""
    try:
        machine = await operator.hardware.get(key)
    except NotFound:
        raise NotFound(await _unknown(operator, key)) from None
    busy = await operator.hardware.workflows(machine["id"])
    if busy:
        raise Conflict(
            f"{name_of(machine)} has workflow {busy[0]}, which is not over: `tinkbox workflow watch {busy[0][:8]}` follows it, "
            f"`tinkbox workflow cancel {busy[0][:8]}` ends it, with --force also when the machine does not answer"
        )
    return machine


async def _unknown(operator: "Operator", key: str) -> str:
    from tinkbox.model.hardware import MacAddress

    with suppress(Invalid):
        mac = MacAddress(key)
        waiting = {each["mac"] for each in await operator.discovered.all() if each["standing"] == "waiting"}
        if mac in waiting:
            return f"machine {mac} waits to be accepted: type `tinkbox hardware accept {mac}` first"
        return f"machine {mac} is not known: type `tinkbox hardware add {mac} --name NAME` first"
    return (
        f"machine {key[:80]!r} is not known: `tinkbox hardware add MAC --name NAME` adds it, `tinkbox hardware list` shows those "
        "that are"
    )


async def _image(operator: "Operator", name: str, kept: "Sequence[Document]") -> "Document":
    try:
        image = await operator.images.system_image(name)
    except NotFound:
        raise _not_kept(name) from None
    for each in kept:
        if each.get("problem") and (each["name"], each["digest"]) == (image["id"], image["digest"]):
            raise Invalid(
                f"system image {name[:200]} cannot be written: {each['problem']}, or fetch or import it again"
            )
    return image


def _not_kept(name: str) -> NotFound:
    """What to type for a system image that is not kept."""
    from tinkbox.catalogue.layers import load
    from tinkbox.cli.nouns.image.fetch import catalogue_folders

    image_id = name.partition("@")[0].partition(":")[0][:200]
    try:
        catalogue = load(catalogue_folders(), [])
        entry = catalogue.entry(image_id)
    except NotFound:
        return NotFound(
            f"no system image {name[:200]!r} is kept here, nor in the catalogue ({meant(image_id, catalogue.entries)}): of a file of "
            f"your own `tinkbox image import FILE --id {image_id}` makes one"
        )
    if name in (entry.id, f"{entry.id}:{LATEST}"):
        return NotFetched(entry)
    return NotFound(
        f"no system image {name[:200]!r} is kept here: `tinkbox image list` shows the versions that are, and "
        f"`tinkbox install {image_id}` takes the newest"
    )


async def _refuse_without_actions(operator: "Operator", listed: "Sequence[Document]") -> None:
    """Raise NotFound where what the template runs is missing or damaged; a stored template of its name runs what it likes."""
    if any(each["stored"] for each in await operator.templates.catalogue() if each["name"] == "install"):
        return
    kept = {f"{each['name']}:{each['tag']}": each for each in listed}
    if disks := [each for each in ACTIONS if each in kept and kept[each].get("kind") == "system"]:
        raise NotFound(
            f"{' and '.join(disks)} is a system image here, where an action image must be: type "
            f"`tinkbox image delete {' '.join(disks)}`, and then `tinkbox image load` with the archive of the action image"
        )
    missing = [each for each in ACTIONS if each not in kept]
    if missing:
        are = "image {} is" if len(missing) == 1 else "images {} are"
        raise NotFound(f"the action {are.format(' and '.join(missing))} not loaded: {to_load(missing)}")
    damaged = [each for each in ACTIONS if kept[each].get("problem")]
    if damaged:
        told = "; ".join(f"{each}: {kept[each]['problem']}" for each in damaged)
        raise NotFound(f"what `tinkbox image list` shows as damaged cannot run: {told}: {to_load(damaged)}")


async def _refuse_without_osie(operator: "Operator") -> None:
    if not await operator.osie.all():
        raise NotFound(
            "there is no OSIE for machines to boot: type `tinkbox osie build` first, or `tinkbox init --files DIR` with "
            "the folder that has osie/"
        )


def _unread(image: "Document", wanted: Wanted) -> list[Refusal]:
    """The refusal of user-data that cloud-init would ignore, where the image has it; other systems read other texts."""
    from tinkbox.engine.documents.user_data import ignored_whole

    if not wanted.user_data_file or image["config"]["data_source"] not in TELLING:
        return []
    problem = ignored_whole(wanted.user_data)
    if problem is None:
        return []
    where, remedy = "", "give a file with content, or leave --user-data out"
    if problem.line:
        where, remedy = f", line {problem.line}", "the first line must be `#cloud-config`, or `#!/bin/sh` for a script"
    return [Invalid(f"{wanted.user_data_file}{where}: {problem.text}: {remedy}")]


def _misfits(image: "Document", machine: "Document", *, told: bool) -> list[Refusal]:
    """What cannot be right of this image on this machine; `told` says that you can log in whatever its document says."""
    from tinkbox.engine.metadata.instances import lets_in, user_data_of

    found: list[Refusal] = []
    made, name, config = machine.get("inventory") or {}, name_of(machine), image["config"]
    if made.get("architecture") and made["architecture"] != config["architecture"]:
        found.append(Conflict(f"{image['id']} is for {config['architecture']}, and {name} is {made['architecture']}"))
    if made.get("firmware") and config["firmware"] and made["firmware"] not in config["firmware"]:
        kinds = " and ".join(config["firmware"])
        found.append(Conflict(f"{image['id']} boots by {kinds}, and {name} has {made['firmware']} firmware"))
    if config["data_source"] in TELLING and not (told or lets_in(machine["document"])):
        read = " that cloud-init reads" if user_data_of(machine["document"]) else ""
        text = (
            f"no key and no user-data{read}: you could not log in to {name}. Add --ssh-key ~/.ssh/id_ed25519.pub or --user-data FILE "
            "(`ssh-keygen -t ed25519` makes a key)"
        )
        found.append(Invalid(text))
    return found


def _installation(wanted: Wanted, image: "Document", machine: "Document", *, keys: bool) -> Installation:
    """`keys` says that the system is told some, whatever the machine's document says."""
    from tinkbox.engine.documents.logins import doubts, user_of
    from tinkbox.engine.metadata.instances import ssh_keys_of, user_data_of

    document, config = machine["document"], image["config"]
    user_data = wanted.user_data or user_data_of(document)
    asked = config["data_source"] in TELLING
    first, name = shown_by(machine), name_of(machine)
    given = {
        "hostname": wanted.hostname or first["hostname"],
        "ssh_keys": "\n".join(wanted.ssh_keys),
        "user_data": wanted.user_data,
        "seed": wanted.seed,
        "timeout": str(wanted.timeout or ""),
    }
    return Installation(
        machine_id=machine["id"],
        name=name,
        address=first["address"],
        user=user_of(user_data, config["default_user"]) if asked else config["default_user"],
        reference=image["reference"],
        parameters={
            "image": image["reference"],
            "disk": wanted.disk,
            **{key: value for key, value in given.items() if value},
        },
        doubts=tuple(doubts(user_data, keys=keys or any(ssh_keys_of(document)))) if asked else (),
    )


def name_of(machine: "Document") -> str:
    """What people call a machine."""
    document = machine["document"]
    named = (document.get("metadata") or {}).get("name") if document.get("kind") == "Hardware" else ""
    card = shown_by(machine)
    return str(named or card["hostname"] or card["mac"] or machine["id"])
