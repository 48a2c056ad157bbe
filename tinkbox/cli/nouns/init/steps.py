"""The second half of `tinkbox init`: program and unit, OSIE, start, action images, and what to type next."""

import argparse
import shlex
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tinkbox.cli.output.printable import clean
from tinkbox.cli.terminal.questions import Questions
from tinkbox.client.operator import Operator
from tinkbox.model.errors import NotFound, Unavailable
from tinkbox.settings import CONFIG
from tinkbox.settings.doors import GROUP
from tinkbox.settings.environment import default_data
from tinkbox.setup.release_files import ReleaseFiles, find, place_osie, usual_folders

if TYPE_CHECKING:
    from tinkbox.settings.all_settings import Settings

START_SECONDS = 30.0


def place_program(chosen: argparse.Namespace, settings: "Settings", changed: list[str], config: Path) -> bool:
    """Have the executable and the unit installed; returns whether the unit is what starts the appliance."""
    from tinkbox.app import written_folders
    from tinkbox.cli.nouns.init.reference_files import place_reference
    from tinkbox.cli.reference.declarations import declared
    from tinkbox.installed_unit import FOLDERS
    from tinkbox.setup import unit
    from tinkbox.setup.placing import PROGRAM, put_program, running_program

    if chosen.no_unit:
        return False
    program = running_program()
    if program is not None:
        if put_program(program):
            changed.append(str(PROGRAM))
            print(f"program         {PROGRAM}")
        place_reference(declared(chosen.whole()), changed)
    if why := no_unit_because(config):
        print(clean(f"unit            not installed: {why}"))
        return False
    files = unit.install(unit.run, settings.data, written_folders(settings))
    changed += files
    print(clean(f"unit            {', '.join(files) or 'tinkbox.service is there already'}"))
    if str(FOLDERS) in files:
        print(clean(f"                {FOLDERS} lets it write to the folders that {config} names"))
    print(
        f"operators       root, and the group {GROUP}: `usermod -aG {GROUP} NAME` adds a colleague, from their next login on"
    )
    return True


def no_unit_because(config: Path) -> str:
    """Why no unit can be installed here; empty: one can."""
    from tinkbox.setup.host import has_systemd
    from tinkbox.setup.placing import running_program

    if running_program() is None:
        return "this is a checkout, and a unit needs the executable (`make binary`)"
    if not has_systemd():
        return "systemd does not run here"
    return "" if config == CONFIG else f"it reads {CONFIG}, not {config}"


def bring_osie(chosen: argparse.Namespace, ask: Questions, data: Path, changed: list[str], *, with_unit: bool) -> None:
    """Have an OSIE for machines to boot: that of the release, or one that is built now."""
    from tinkbox.osie.image import images
    from tinkbox.setup.placing import running_program

    _make_data(data, with_unit=with_unit)
    for source in _files(chosen).osies:
        image, placed = place_osie(source, data / "osie")
        if placed:
            changed.append(f"the OSIE for {image.architecture}")
        print(clean(f"OSIE            {image.architecture}, {image.version}{'' if placed else ', is there already'}"))
    there = images(data / "osie")
    if there:
        if not _files(chosen).osies:
            print(clean(f"OSIE            {', '.join(each.architecture for each in there)} is there already"))
        return
    if (
        running_program() is None
        or chosen.yes
        or not ask.agreed("no OSIE is here; build one from Debian packages", proposed=True)
    ):
        print("OSIE            there is none: `tinkbox osie build` makes it from Debian packages, in some minutes")
        return
    build_osie(data)
    changed.append("the OSIE")


def build_osie(data: Path) -> None:
    """Build the OSIE with this program inside."""
    from tinkbox.osie.architectures import of_this_machine
    from tinkbox.osie.build import build
    from tinkbox.setup.placing import running_program

    program = running_program()
    assert program is not None
    build(data / "osie", program, data / "cache", lambda step: print(clean(step), flush=True), of_this_machine())


def start(chosen: argparse.Namespace, data: Path, config: Path, changed: list[str], *, with_unit: bool) -> None:
    """Have the appliance run, where a unit starts it, and the action images loaded, where it answers."""
    from tinkbox.setup import unit

    if with_unit:
        ran = _answers(data)
        anew = needs_restart(changed, config) or unit.RESTART_IS_DUE.exists()
        if not ran or anew:
            print("appliance       starting it (systemctl restart tinkbox) …", flush=True)
            unit.start(partial(unit.run, slow=_say_what_it_waits_for))
            unit.RESTART_IS_DUE.unlink(missing_ok=True)
            _wait(data)
        print(f"appliance       {'runs already' if ran and not anew else 'runs'} (`systemctl status tinkbox`)")
    elif _answers(data):
        print("appliance       runs already")
        if str(config) in changed:
            print("                with its former configuration: end it, and start it again with `tinkbox serve`")
    else:
        named = "" if config == CONFIG else f" --config {shlex.quote(str(config))}"
        print(clean(f"appliance       start it in another terminal: tinkbox serve{named}"))
        if _files(chosen).images:
            print("                then type the same line again, which loads the action images")
        return
    _load_images(chosen, data, changed)


def finish(data: Path, config: Path, changed: list[str]) -> None:
    """What was done, and the three lines that come next."""
    program = "tinkbox" if config == CONFIG or data == default_data() else f"tinkbox --data {shlex.quote(str(data))}"
    print()
    print(clean(f"Changed: {', '.join(changed)}.") if changed else "Nothing had to be changed.")
    print(
        "Next, with your machine's MAC:\n"
        f"  {program} hardware add 08:00:27:00:00:01 --name node7\n"
        f"  {program} image fetch debian-13\n"
        f"  {program} install debian-13 node7 --ssh-key ~/.ssh/id_ed25519.pub"
    )


def _files(chosen: argparse.Namespace) -> ReleaseFiles:
    from tinkbox.setup.placing import running_program

    return find(chosen.files, usual_folders(running_program()))


def needs_restart(changed: Sequence[str], config: Path) -> bool:
    """Whether something was changed that an appliance reads only when it starts."""
    from tinkbox.installed_unit import FOLDERS
    from tinkbox.setup.placing import PLACES, PROGRAM

    return bool(set(changed) & {str(config), str(PROGRAM), str(PLACES["tinkbox.service"]), str(FOLDERS)})


def _say_what_it_waits_for() -> None:
    from tinkbox.setup.unit import jobs

    waiting = jobs()
    what = f"systemd first waits for {', '.join(waiting)}" if waiting else "the appliance does not answer yet"
    print(
        clean(
            f"                {what}: see `systemctl list-jobs` and `journalctl -u tinkbox` in another terminal; "
            "Ctrl-C stops waiting"
        ),
        flush=True,
    )


def _make_data(data: Path, *, with_unit: bool) -> None:
    from tinkbox.setup.unit import give_folder

    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Unavailable(f"cannot make the data folder {data}: {error.strerror}: name another with --data") from None
    if with_unit:
        give_folder(data)


def _answers(data: Path) -> bool:
    """Whether an appliance with this data folder serves."""
    from tinkbox.client.operator.quick_connection import QuickConnection, answer_of

    async def asked() -> bool:
        async with Operator(QuickConnection(socket=data / "operator.sock")) as operator:
            await operator.connection.send("GET", "/healthz")
        return True

    try:
        return answer_of(asked())
    except Unavailable:
        return False


def _wait(data: Path) -> None:
    """Raises Unavailable when it does not answer in time."""
    end = time.monotonic() + START_SECONDS
    while not _answers(data):
        if time.monotonic() > end:
            raise Unavailable(
                f"the appliance does not answer after {START_SECONDS:.0f} seconds: `journalctl -u tinkbox` says why"
            )
        time.sleep(0.2)


def _load_images(chosen: argparse.Namespace, data: Path, changed: list[str]) -> None:
    """Send the action images of the release; those that are there with the same bytes change nothing."""
    import asyncio

    from tinkbox.client.operator.lasting_connection import LastingConnection

    paths = _files(chosen).images

    async def loaded() -> tuple[set[str], set[str]]:
        async with Operator(LastingConnection(socket=data / "operator.sock")) as operator:
            before = await _kept(operator)
            for path in paths:
                try:
                    await operator.images.load(path)
                except OSError as error:
                    raise NotFound(f"cannot read {path}: {error.strerror}") from None
            return before, await _kept(operator)

    before, after = asyncio.run(loaded())
    if not after:
        print("images          none is here to load: `tinkbox image load FILE` takes what `make images` builds")
        return
    new = sorted(after - before)
    changed += [f"the image {each}" for each in new]
    there = f"{', '.join(each.name for each in paths) or ', '.join(sorted(before))}: already there"
    print(clean(f"images          {', '.join(new) or there}"))


async def _kept(operator: Operator) -> set[str]:
    return {f"{each['name']}:{each['tag']}" for each in await operator.images.all()}
