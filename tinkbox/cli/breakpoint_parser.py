"""The verbs of `tinkbox breakpoint`, and what their help says to whoever reads it at night."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from tinkbox.cli.grammar import KEY, Verbs, add_listing, add_noun, add_verb, assignment, duration, speed

STORY = """\
Hold a workflow's action where it fails, or before or after it, and decide how it goes on.

What is held stays on its machine as its process left it, and no clock of its workflow runs. A hold ends by itself
30 minutes after the last activity, unless told otherwise; then the action fails as it would have without it.
"""
BY_HEART = """\
from a failure to its repair:
  tinkbox breakpoint arm WORKFLOW      hold what fails from now on; workflow create --breakpoint on-failure does it too
  tinkbox workflow watch WORKFLOW      says when something is held
  tinkbox workflow state WORKFLOW      says what, how it ended, and until when it is held
  tinkbox breakpoint shell WORKFLOW    a terminal in the held container, to look and to repair
  tinkbox breakpoint retry WORKFLOW    run its command again in the repaired container
"""
SHELL = """\
tinkbox breakpoint shell [-h] [--view | --take] [--user USER] [--folder DIR] [--env NAME=VALUE] [--record-input]
                                WORKFLOW [-- COMMAND ...]"""
RETRY = "tinkbox breakpoint retry [-h] [-m TEXT] [--fresh] [--env NAME=VALUE] WORKFLOW [-- COMMAND ...]"


def add_breakpoint(nouns: "Verbs[argparse.ArgumentParser]") -> None:
    verbs = add_noun(nouns, "breakpoint", "hold an action, look into it, decide", STORY, BY_HEART)
    add_listing(add_verb(verbs, "list", "breakpoint:show_list", "what is held now, and where something is armed"))
    _arming(verbs)
    _shells(verbs)
    _verdicts(verbs)
    extend = add_verb(
        verbs,
        "extend",
        "breakpoint:extend",
        "hold it longer",
        "A hold ends by itself so much later than it would have. Activity in a shell moves its deadline as well.",
    )
    extend.add_argument("key", metavar="WORKFLOW", help=KEY)
    extend.add_argument("seconds", nargs="?", type=duration, default=1800, metavar="DURATION", help="30m when left out")
    extend.add_argument("-m", "--why", default="", metavar="TEXT", help="for the records")


def command_apart(arguments: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The arguments, and apart from them the command behind the first `--` of a verb of `breakpoint`.

    argparse would take the command's first word for one of the verb's own.
    """
    if "--" in arguments and "breakpoint" in arguments[: arguments.index("--")]:
        place = arguments.index("--")
        return arguments[:place], arguments[place + 1 :]
    return arguments, ()


def _arming(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    arm = _places(
        add_verb(
            verbs,
            "arm",
            "breakpoint:arm",
            "hold what fails from now on, or what is named",
            "Without a flag that says where, on failure. What is armed already stays, and an action that runs heeds "
            "it too. Of a failure that the template follows by another attempt only the last one is held.",
        )
    )
    arm.add_argument(
        "--timeout",
        type=duration,
        metavar="DURATION",
        help="how long after the last activity a hold ends by itself: 90s, 30m, 1h30m (30m)",
    )
    arm.add_argument(
        "--on-expiry", choices=("fail", "continue", "abort"), help="the verdict when a hold ends by itself (fail)"
    )
    _places(
        add_verb(
            verbs,
            "clear",
            "breakpoint:clear",
            "hold no more, or no more what is named",
            "Without a flag, nothing stays armed. What is held already stays held and wants its verdict.",
        )
    )


def _places(verb: argparse.ArgumentParser) -> argparse.ArgumentParser:
    verb.add_argument("key", metavar="WORKFLOW", help=KEY)
    verb.add_argument("--on-failure", action="store_true", help="what fails, also by timeout or out of memory")
    for word, where in (("before", "before it starts"), ("after", "after it ended, however it did")):
        about = f"{where}: ACTION or TASK/ACTION; may be repeated"
        verb.add_argument(f"--{word}", action="append", metavar="ACTION", default=[], help=about)
    return verb


def _shells(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    shell = add_verb(
        verbs,
        "shell",
        "shell:shell",
        "a terminal in the held container, or one command there",
        "It has the action's own user, folder and environment. Enter ~. leaves it, and the same again comes back to "
        "it; whoever opens one that somebody types in looks on. What it prints is recorded. With a COMMAND, standard "
        "input, output and error are the command's, and so is the exit status; 255 says that there is none.",
    )
    shell.usage = SHELL
    shell.add_argument("key", metavar="WORKFLOW", help=KEY)
    mode = shell.add_mutually_exclusive_group()
    mode.add_argument("--view", action="store_const", const="view", dest="mode", help="look on, and open none")
    mode.add_argument("--take", action="store_const", const="take", dest="mode", help="type, whoever did so far")
    shell.add_argument("--user", default="", metavar="USER", help="NAME, UID or UID:GID instead of the action's own")
    shell.add_argument("--folder", default="", metavar="DIR", help="begin there")
    shell.add_argument(
        "--env",
        dest="environment",
        action="append",
        type=assignment,
        metavar="NAME=VALUE",
        default=[],
        help="set a variable, over those of the action; may be repeated",
    )
    shell.add_argument("--record-input", action="store_true", help="record what is typed too, passwords with it")
    shell.set_defaults(mode="drive", command=())
    replay = add_verb(
        verbs, "replay", "replay:replay", "show a shell's recording again", "Pauses are cut to two seconds."
    )
    replay.add_argument("session", metavar="SESSION", help="its id, or a unique beginning of it")
    replay.add_argument("--speed", type=speed, default=1.0, metavar="N", help="so many times as fast (1)")
    replay.add_argument("--raw", type=Path, metavar="FILE", help="write the recording there instead, as asciicast")


def _verdicts(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    _verdict(
        verbs,
        "continue",
        "go on as if it had succeeded",
        "A failed action counts as succeeded; its exit code, reason and message are kept, and who decided and why. "
        "An action that is held before its start begins; behind one that succeeded the next begins.",
        why="why a failure counts as success; asked for when a terminal is there",
    )
    _verdict(verbs, "skip", "leave out an action that is held before its start", "It counts as done; the next begins.")
    _verdict(
        verbs,
        "fail",
        "let it fail, and the workflow with it",
        "The action fails as its process did: its on-failure command runs, and no later action does.",
    )
    retry = _verdict(
        verbs,
        "retry",
        "run it again",
        "Its command runs again in the container as it is, with everything that was repaired there, or with --fresh in "
        "a new container from its image. It has its whole timeout again. A COMMAND replaces the whole command line.",
    )
    retry.usage = RETRY
    retry.add_argument("--fresh", action="store_true", help="in a new container: repairs in the old one are lost")
    about = "set a variable, over those of the action; may be repeated"
    retry.add_argument(
        "--env", dest="environment", action="append", type=assignment, metavar="NAME=VALUE", default=[], help=about
    )
    retry.set_defaults(command=())
    _verdict(verbs, "abort", "cancel the whole workflow", "The action and the workflow end as canceled.")


def _verdict(
    verbs: "Verbs[argparse.ArgumentParser]", verb: str, about: str, story: str, why: str = "for the records"
) -> argparse.ArgumentParser:
    parser = add_verb(verbs, verb, "breakpoint:decide", about, story)
    parser.add_argument("key", metavar="WORKFLOW", help=KEY)
    parser.add_argument("-m", "--why", default="", metavar="TEXT", help=why)
    parser.set_defaults(verb=verb)
    return parser
