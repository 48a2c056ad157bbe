"""`tinkbox init`: an appliance on this host, step by step; a second time it changes nothing that is right already."""

import argparse
import os
import sys
from contextlib import suppress
from pathlib import Path

from tinkbox.cli.flags import carry_out, folder
from tinkbox.model.errors import Denied


def declare(noun: argparse.ArgumentParser) -> None:
    from tinkbox.settings.dhcp import MODES

    carry_out(noun, init)
    noun.description = (
        "Set up an appliance on this host: choose the network that machines are on, write tinkbox.yaml, install the systemd "
        "unit, bring the OSIE and the action images, and start. What is right already stays as it is."
    )
    noun.add_argument("--interface", metavar="IF", help="the network interface that machines are on")
    noun.add_argument("--address", metavar="A/P", help="the appliance's address there, such as 172.30.0.1/24")
    noun.add_argument(
        "--set-address", action="store_true", help="give the interface that address, now and at each boot"
    )
    noun.add_argument("--dhcp", choices=MODES, help="who gives machines their addresses (docs/addresses.md)")
    noun.add_argument("--pool", metavar="FIRST-LAST", help="addresses to lend, with --dhcp pool")
    noun.add_argument("--files", type=folder, metavar="DIR", help="where osie/ and images/ of the release are")
    noun.add_argument("--yes", "-y", action="store_true", help="answer every question as proposed")
    noun.add_argument("--no-unit", action="store_true", help="install no systemd unit")
    noun.add_argument("--config", type=Path, metavar="FILE", help="default: /etc/tinkbox/tinkbox.yaml")
    noun.add_argument("--data", type=folder, metavar="DIR", default=argparse.SUPPRESS, help="default: /var/lib/tinkbox")


def init(chosen: argparse.Namespace) -> int:
    from tinkbox.cli.nouns.init.configuration import configured
    from tinkbox.cli.nouns.init.steps import bring_osie, finish, needs_restart, place_program, start
    from tinkbox.cli.output.printable import clean
    from tinkbox.cli.terminal.questions import Questions
    from tinkbox.settings import CONFIG
    from tinkbox.setup.host import is_root
    from tinkbox.setup.unit import RESTART_IS_DUE

    if not is_root():
        raise Denied("this sets up the host, and only root may do that: type `sudo tinkbox init`")
    os.umask(0o022)  # whatever the shell's is: the user that the appliance runs as reads what is put here
    ask, config = Questions(yes=chosen.yes), (chosen.config or CONFIG).absolute()
    changed = list[str]()
    try:
        settings = configured(chosen, ask, config, changed)
        with_unit = place_program(chosen, settings, changed, config)
        bring_osie(chosen, ask, settings.data, changed, with_unit=with_unit)
        start(chosen, settings.data, config, changed, with_unit=with_unit)
    except BaseException as end:
        if needs_restart(changed, config):
            with suppress(OSError):
                RESTART_IS_DUE.touch()
        if isinstance(end, KeyboardInterrupt):
            done = f"changed so far: {', '.join(changed)}" if changed else "nothing was changed so far"
            print(file=sys.stderr)
            print(clean(f"stopped, {done}. Type the same line again to go on."), file=sys.stderr)
        raise
    finish(settings.data, config, changed)
    return 0
