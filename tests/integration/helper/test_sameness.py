"""A command cannot tell that the helper started it: each runs with and without, and says all it can find out."""

import pytest

from tests.integration.docker_engine import HEARD, DockerEngine
from tests.integration.helper.container import SH, WITH_SHELL, ActionContainer

ODD_WORDS = ("", " ", "*", "a\nb", "$HOME", "'\"\\", "--", "-x", "ümlaut", "x" * 5_000)
PROBE = r"""
tr '\0' '|' </proc/$$/cmdline; echo
tr '\0' '|' </proc/$$/environ; echo
readlink /proc/$$/exe /proc/$$/cwd /proc/$$/root
# Read by the shell itself: while it starts a program, the C library blocks its signals for a moment.
while IFS= read -r line; do case $line in
    Umask*|Uid*|Gid*|Groups*|NoNewPrivs*|Seccomp*|SigB*|SigI*|SigC*|???Pnd*|Cap*|Cpus_allowed_list*) echo "$line" ;;
    NSpid*) set -- $line; [ $# -gt 2 ] && echo a namespace too many ;;
esac; done </proc/$$/status
cat /proc/$$/limits /proc/$$/oom_score_adj
set -- $(cat /proc/$$/stat)
[ "$5" = $$ ] && echo leads its group
[ "$6" = $$ ] && echo leads its session
echo terminal $7, nice ${19}
ls /proc/$$/fd; for each in 0 1 2; do readlink /proc/$$/fd/$each | cut -d: -f1; done
cut -d' ' -f5 /proc/self/mountinfo | grep -v -e '^/tinkbox' -e '^/tekton/debug/'
cat
echo problem >&2
"""
# The engine gives several variables in any order, so there is but one of ours each time.
SITUATIONS = {
    "nothing special": (),
    "a user": ("--user=1000:1001", "--group-add=44", "--env=EMPTY="),
    "a folder and an environment": ("--workdir=/some/where", "--env=ODD=a\nb *", "--env=PATH=/x:/bin"),
    "nothing writable": ("--read-only", "--tmpfs=/tmp"),
    "no capabilities": ("--cap-drop=ALL", "--security-opt=no-new-privileges", "--user=7"),
    "the machine's processes": ("--pid=host",),
    "limits": ("--ulimit=nofile=77:88", "--ulimit=core=0", "--oom-score-adj=300", "--cpuset-cpus=0"),
}  # fmt: skip


@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_command_sees_the_same_with_and_without_the_helper(
    engine: DockerEngine, action: ActionContainer, situation: str
) -> None:
    words = (*SH, f"{PROBE}{HEARD}\nexit 9", *ODD_WORDS)
    action.files.set_command_line(words)

    def said(*last: str) -> tuple[int, str, str]:
        common = ("run", "--rm", "-i", "--network=none", "--hostname=box", *SITUATIONS[situation])
        done = engine.cli(*common, *last, stdin=b"given\nto it", check=False)
        return done.returncode, done.stdout, done.stderr

    alone = said("--entrypoint=", WITH_SHELL, *words)
    assert (alone[0], "given\nto it" in alone[1], "leads its session" in alone[1]) == (9, True, True), alone
    assert said(*action.under_helper, WITH_SHELL) == alone
    assert action.facts == ["started 1", "exited 1 9 exit"]


@pytest.mark.parametrize(
    "words",
    [
        ("own", "one", "two"),
        ("/bin/own",),
        ("bin/own",),
        ("nothing",),
        ("/bin/nothing",),
        ("/bin",),
        ("/etc/hostname",),
        ("",),
    ],
    ids=" ".join,
)
def test_a_program_is_found_and_not_found_as_without_the_helper(
    engine: DockerEngine, action: ActionContainer, words: tuple[str, ...]
) -> None:
    action.files.set_command_line(words)
    common = ("run", "--rm", "--network=none", "--workdir=/")
    alone = engine.cli(*common, "--entrypoint=", WITH_SHELL, *words, check=False)
    helped = engine.cli(*common, *action.under_helper, WITH_SHELL, check=False)
    assert (helped.returncode, helped.stdout) == (alone.returncode, alone.stdout)
    assert helped.stderr == "", "it is for the worker to say why"
    failed = action.files.status().failure is not None
    assert failed == (alone.returncode != 3)
