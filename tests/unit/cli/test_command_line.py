"""The command line of 2020's `tink`, and what tinkbox adds to it."""

import argparse
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import golden
from tests.unit.cli.conftest import run_of
from tinkbox.cli import nouns
from tinkbox.cli.command_line import command_apart, command_line, parse
from tinkbox.cli.flags import filters_of
from tinkbox.cli.nouns import NOUNS

FOLDER = Path(nouns.__file__).parent
HERE = Path.cwd()
ID = "75ab8483-6f42-42a9-a80d-a9f6196130df"
COMMANDS = {
    "hardware push --file a.json": ("hardware.documents:push", {"file": Path("a.json")}),
    "hardware push": ("hardware.documents:push", {"file": None}),
    "hardware list": ("hardware.listing:show_list", {"format": "table", "no_headers": False, "quiet": False}),
    "hardware get": ("hardware.listing:get", {"keys": []}),
    f"hardware id {ID} x": ("hardware.documents:by_id", {"keys": [ID, "x"]}),
    "hardware mac 08:00:27:00:00:01 -d": ("hardware.documents:by_mac", {"details": True}),
    "hardware ip 172.30.0.11 --details": ("hardware.documents:by_ip", {"details": True}),
    "hardware delete x": ("hardware.removal:delete", {"keys": ["x"]}),
    "hardware watch x": ("hardware.documents:watch", {"keys": ["x"]}),
    "hardware credential 08:00:27:00:00:01": ("hardware.identity:credential", {"key": "08:00:27:00:00:01"}),
    "template create -n hello -p t.yaml": ("template:create", {"name": "hello", "file": Path("t.yaml")}),
    "template create --name hello --path t.yaml": ("template:create", {"name": "hello", "file": Path("t.yaml")}),
    "template create -n hello --file t.yaml": ("template:create", {"name": "hello", "file": Path("t.yaml")}),
    "template list -q": ("template:show_list", {"quiet": True}),
    f"template get {ID} --format json": ("template:get", {"keys": [ID], "format": "json"}),
    f"template update {ID} -n new": ("template:update", {"key": ID, "name": "new", "file": None}),
    f"template delete {ID}": ("template:delete", {"keys": [ID]}),
    "template validate": ("template:validate", {"file": None}),
    f"workflow create -t {ID} -r {{}}": ("workflow.creation:create", {"template": ID, "hardware": {}}),
    f"workflow create --template {ID} --hardware {{}}": (
        "workflow.creation:create",
        {"template": ID, "hardware": {}},
    ),
    "workflow create --breakpoint on-failure --breakpoint before=disk/wipe": (
        "workflow.creation:create",
        {"template": None, "breakpoints": [("on-failure", ""), ("before", "disk/wipe")]},
    ),
    "workflow list --no-headers": ("workflow.listing:show_list", {"no_headers": True}),
    f"workflow get {ID}": ("workflow.listing:get", {"keys": [ID]}),
    f"workflow state {ID}": ("workflow.state:state", {"keys": [ID]}),
    f"workflow events {ID} x": ("workflow.following:events", {"keys": [ID, "x"]}),
    f"workflow data {ID} -v 3": ("workflow.data:data", {"keys": [ID], "data_version": 3, "metadata": False}),
    f"workflow data {ID} --version 3 -m": ("workflow.data:data", {"data_version": 3, "metadata": True}),
    f"workflow data {ID} -l": ("workflow.data:data", {"data_version": 0, "latest": True}),
    f"workflow data {ID} --list --format yaml": ("workflow.data:data", {"list": True, "format": "yaml"}),
    f"workflow data {ID} --save DIR -v 2": ("workflow.data:data", {"save": Path("DIR"), "data_version": 2}),
    f"workflow cancel {ID} x": ("workflow.decisions:cancel", {"keys": [ID, "x"]}),
    f"workflow retry {ID}": ("workflow.decisions:retry", {"keys": [ID], "first": None}),
    f"workflow retry {ID} --from os/disk": ("workflow.decisions:retry", {"keys": [ID], "first": "os/disk"}),
    f"workflow retry {ID} --confirm-wipe": ("workflow.decisions:retry", {"keys": [ID], "confirm_wipe": True}),
    "workflow create -t a -r {} --confirm-wipe": ("workflow.creation:create", {"confirm_wipe": True}),
    f"workflow logs -f {ID}": ("workflow.following:logs", {"keys": [ID], "follow": True}),
    f"workflow watch {ID}": ("workflow.following:watch", {"key": ID}),
    f"workflow delete {ID} x": ("workflow.decisions:delete", {"keys": [ID, "x"]}),
    "image load a.tar b.tar": ("image.archives:load", {"files": [Path("a.tar"), Path("b.tar")]}),
    "image list": ("image.listing:show_list", {"format": "table"}),
    "image delete a:v1": ("image.listing:delete", {"keys": ["a:v1"]}),
    "osie build --output o --cache c --executable e": (
        "osie:build",
        {"output": HERE / "o", "cache": HERE / "c", "executable": Path("e"), "architecture": "x86_64"},
    ),
    "osie build --without-firmware": ("osie:build", {"without_firmware": True}),
    "osie build --architecture aarch64": ("osie:build", {"architecture": "aarch64", "executable": None}),
    "osie list --format yaml": ("osie:show_list", {"format": "yaml"}),
    "events watch": ("events:watch", {"after": None}),
    "events watch --after 7": ("events:watch", {"after": 7}),
    "status": ("status:show", {"data": None}),
    "version": ("version:show_version", {}),
    "--version": ("version:show_version", {}),
    "serve": ("serve:serve", {"config": None, "data": None, "check": False}),
    "serve --config c.yaml --data d --check": (
        "serve:serve",
        {"config": Path("c.yaml"), "data": HERE / "d", "check": True},
    ),
    "--data d hardware list": ("hardware.listing:show_list", {"data": HERE / "d"}),
    "--data d serve": ("serve:serve", {"data": HERE / "d"}),
    "--worker": ("worker:work", {"server": None, "credential": None, "docker": None, "no_privileged": False}),
    "--worker --no-debug": ("worker:work", {"no_debug": True}),
    "--worker --server http://a --credential w.json --docker unix:///d --data d --no-privileged": (
        "worker:work",
        {
            "server": "http://a",
            "credential": Path("w.json"),
            "docker": "unix:///d",
            "data": HERE / "d",
            "no_privileged": True,
        },
    ),
}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "--server https://other:7080 hardware list",
            "`TINKBOX_SERVER=https://other:7080 tinkbox hardware …` has one command ask another box, and `tinkbox login https://other:7080` all",
        ),
        ("--server=https://other:7080 hardware list", "--server is a flag of --worker, and hardware is a command"),
        ("--credential w.json --no-debug status", "--credential is a flag of --worker, and status is a command"),
        ("--worker hardware list", "--worker takes no command: leave out --worker, or hardware"),
    ],
)
def test_flags_of_the_worker_beside_a_command_are_refused(
    line: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(line.split())
    assert ended.value.code == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_is_understood(line: str) -> None:
    run, values = COMMANDS[line]
    chosen = parse(line.split())
    assert run_of(chosen) == run
    assert {name: getattr(chosen, name) for name in values} == values


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("hardware get hardware/node7 node8", "keys", ["node7", "node8"]),
        ("hardware delete hardware/hardware/x", "keys", ["hardware/x"]),
        ("hardware return hardware/node7", "keys", ["node7"]),
        ("template delete template/ubuntu", "keys", ["ubuntu"]),
        ("workflow watch workflow/install-node7", "key", "install-node7"),
        ("workflow create -t template/ubuntu hardware/node7", "machines", ["node7"]),
        ("workflow list --machine hardware/node7", "machine", "node7"),
        ("hardware get template/ubuntu", "keys", ["template/ubuntu"]),
        ("workflow state hardware/node7 workflow/hardware/x", "keys", ["node7", "hardware/x"]),
        ("workflow cancel hardware/08:00:27:00:00:07", "keys", ["08:00:27:00:00:07"]),
        ("breakpoint shell hardware/node7", "key", "node7"),
        ("rollout watch template/ubuntu", "key", "ubuntu"),
        ("rollout list --template template/ubuntu", "template", "ubuntu"),
        ("rollout get hardware/node7", "keys", ["hardware/node7"]),
        ("hardware get hardware/", "keys", ["hardware/"]),
        ("hardware note node7 hardware/x", "text", ["hardware/x"]),
        ("hardware label hardware/node7 hardware/rack=r1", "keys", ["node7", "hardware/rack=r1"]),
        ("hardware label hardware/node7 hardware/rack-", "keys", ["node7", "hardware/rack-"]),
        ("hardware get hardware/rack-", "keys", ["rack-"]),
    ],
)
def test_a_key_may_have_its_noun_before_it_as_apply_prints_it(line: str, name: str, value: object) -> None:
    assert getattr(parse(line.split()), name) == value


def test_2020s_name_of_a_flag_may_have_a_space() -> None:
    assert parse(["workflow", "data", ID, "--latest version"]).latest


@pytest.mark.parametrize("line", ["hardware list --form json", "--work", "hardware pu"])
def test_abbreviations_are_refused_for_they_break_when_a_flag_is_added(line: str) -> None:
    with pytest.raises(SystemExit) as stop:
        parse(line.split())
    assert stop.value.code == 2


def test_every_noun_has_a_module_of_its_name() -> None:
    assert {path.stem for path in (*FOLDER.glob("[a-z]*.py"), *FOLDER.glob("[a-z]*/"))} >= set(NOUNS)


def flags_of(parser: argparse.ArgumentParser, words: str) -> Iterator[str]:
    """A line for every flag and argument of every command, with all that a script can rely on."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from flags_of(below, f"{words} {name}")
        elif not isinstance(action, argparse._HelpAction):
            facts = [*action.option_strings] or [f"<{action.dest}>"]
            facts += [f"nargs={action.nargs}"] if action.nargs is not None else []
            facts += [f"choices={','.join(action.choices)}"] if action.choices else []
            plain = isinstance(action.default, str | int | float) and action.default not in ("", argparse.SUPPRESS)
            facts += [f"default={action.default}"] if plain else []
            yield " ".join([words, *facts])


# Flags that took less once, or have one more spelling; the default of formats is the command line's own now, and still a table.
GROWN = {
    "--file -p --path": "--file -f -p --path",
    "workflow create --file": "workflow create --file -f",
    "hardware push --file": "hardware push --file -f",
    "--format choices=table,json,csv,yaml default=table": "-o --output --format choices=table,wide,json,yaml,csv,name,tink",
    "--format choices=table,json default=table": "-o --output --format choices=table,wide,json,yaml,csv,name,tink",
    "<seconds> nargs=? default=1800": "<keys> nargs=*",  # the last of several words
}


def grown(line: str) -> str:
    for before, now in GROWN.items():
        line = line.replace(before, now)
    return line


def test_old_scripts_find_every_flag() -> None:
    before = {grown(line) for line in golden.text("cli/flags.txt").splitlines()}
    now = set(flags_of(command_line(list(NOUNS)), "tinkbox"))
    # Where labels select, keys may be left out, and what took one takes several.
    several = {line.removesuffix("<keys> nargs=*") for line in now if line.endswith("<keys> nargs=*")}
    one = {each + taken for each in several for taken in ("<keys> nargs=+", "<key>", "<machine> nargs=?")}
    missing = before - now - one
    assert len(before) > 150
    assert not missing, f"old scripts use these: {sorted(missing)}"


def test_a_command_is_cut_off_at_the_first_pair_of_dashes_of_a_breakpoint_alone() -> None:
    assert command_apart(["breakpoint", "retry", "w", "--", "a", "--", "b"]) == (
        ["breakpoint", "retry", "w"], ["a", "--", "b"],
    )  # fmt: skip
    for arguments in (["workflow", "get", "--", "w"], ["breakpoint", "retry", "w"], ["get", "--", "breakpoint"]):
        assert command_apart(arguments) == (arguments, ())


@pytest.mark.parametrize(
    ("flags", "variable", "program", "format_", "as_2020"),
    [
        ("", "", "tinkbox", "table", False),
        ("-o wide", "", "tinkbox", "wide", False),
        ("--wide", "json", "tinkbox", "wide", False),
        ("--output yaml", "tink", "tinkbox", "yaml", False),
        ("--format tink", "", "tinkbox", "tink", True),
        ("", "tink", "tinkbox", "tink", True),
        ("", "", "tink", "tink", True),
        ("", "json", "tink", "json", False),
        ("--format csv", "tink", "tinkbox", "csv", True),
        ("--format csv", "", "/usr/bin/tink", "csv", True),
        ("--format csv", "", "tinkbox", "csv", False),
        ("--format table", "tink", "tink", "table", False),
    ],
)
def test_the_format_is_that_of_the_flag_the_environment_or_the_programs_name(
    monkeypatch: pytest.MonkeyPatch, flags: str, variable: str, program: str, format_: str, as_2020: bool
) -> None:
    monkeypatch.setenv("TINKBOX_FORMAT", variable)
    monkeypatch.setattr("sys.argv", [program])
    chosen = parse(["workflow", "list", *flags.split()])
    assert (chosen.format, chosen.as_2020) == (format_, as_2020)
    assert parse(["hardware", "push"]).as_2020 == ("tink" in (variable, program.split("/")[-1]) and variable != "json")


def test_a_format_of_the_environment_that_is_none_is_told_where_one_is_needed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TINKBOX_FORMAT", "xml")
    assert parse(["version"]).format
    with pytest.raises(SystemExit, match="2"):
        parse(["workflow", "list"])
    assert "TINKBOX_FORMAT is 'xml', which is no format; there are: table, wide, json" in capsys.readouterr().err


def wrong(capsys: pytest.CaptureFixture[str], line: str) -> str:
    with pytest.raises(SystemExit, match="2"):
        parse(line.split())
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err


def test_a_command_to_run_is_passed_on_as_it_is() -> None:
    assert parse(["breakpoint", "shell", "w", "--", "ps", "--sort", "-rss"]).command == ["ps", "--sort", "-rss"]


@pytest.mark.parametrize(
    ("line", "usage", "told"),
    [
        ("workflwo list", "tinkbox", "unknown command 'workflwo' of `tinkbox`: did you mean workflow?"),
        ("workflow lst", "tinkbox workflow", "unknown verb 'lst' of `tinkbox workflow`: did you mean list?"),
        (
            "workflow list --stat failed",
            "tinkbox workflow list",
            "unknown flag --stat of `tinkbox workflow list`: did you mean --state?",
        ),
        # As other programs call it, or say it.
        ("workflow ls", "tinkbox workflow", "unknown verb 'ls' of `tinkbox workflow`: did you mean list?"),
        ("hardware show x", "tinkbox hardware", "unknown verb 'show' of `tinkbox hardware`: did you mean get?"),
        ("image inspect x", "tinkbox image", "unknown verb 'inspect' of `tinkbox image`: did you mean show?"),
        ("template rm x", "tinkbox template", "unknown verb 'rm' of `tinkbox template`: did you mean delete?"),
        ("workflow restart x", "tinkbox workflow", "unknown verb 'restart' of `tinkbox workflow`: did you mean retry?"),
        ("workflow kill x", "tinkbox workflow", "unknown verb 'kill' of `tinkbox workflow`: did you mean cancel?"),
        (
            "hardware unretire x",
            "tinkbox hardware",
            "unknown verb 'unretire' of `tinkbox hardware`: did you mean return?",
        ),
        ("rollout unpause x", "tinkbox rollout", "unknown verb 'unpause' of `tinkbox rollout`: did you mean resume?"),
        (
            "hardware create x",
            "tinkbox hardware",
            "unknown verb 'create' of `tinkbox hardware`: `tinkbox hardware add MAC` registers a machine\n",
        ),
        (
            "hardware apply",
            "tinkbox hardware",
            "unknown verb 'apply' of `tinkbox hardware`: `tinkbox apply -f FILE` applies files\n",
        ),
        (
            "template apply",
            "tinkbox template",
            "unknown verb 'apply' of `tinkbox template`: `tinkbox apply -f FILE` applies files, and `tinkbox template update` changes one\n",
        ),
        (
            "template edit x",
            "tinkbox template",
            "unknown verb 'edit' of `tinkbox template`: `tinkbox template update` changes one, and `tinkbox apply -f FILE` applies files\n",
        ),
        (
            "diff -f x",
            "tinkbox",
            "unknown command 'diff' of `tinkbox`: `tinkbox apply --diff -f FILE` shows what would change\n",
        ),
        (
            "wait x",
            "tinkbox",
            (
                "unknown command 'wait' of `tinkbox`: `tinkbox workflow create --wait` waits for the end, and "
                "`tinkbox workflow watch WORKFLOW` follows what runs\n"
            ),
        ),
        (
            "rollout run x",
            "tinkbox rollout",
            "unknown verb 'run' of `tinkbox rollout`: `tinkbox workflow create -t TEMPLATE MACHINE MACHINE…` makes a rollout",
        ),
        # What destroys or ends something is proposed for a misspelling of it alone.
        ("workflow delet x", "tinkbox workflow", "unknown verb 'delet' of `tinkbox workflow`: did you mean delete?"),
        ("workflow cancle x", "tinkbox workflow", "unknown verb 'cancle' of `tinkbox workflow`: did you mean cancel?"),
        ("hardware rewire x", "tinkbox hardware", "unknown verb 'rewire' of `tinkbox hardware`: did you mean retire?"),
        ("uninstall x", "tinkbox", "unknown command 'uninstall' of `tinkbox`: known here: apply, "),
        ("machines list", "tinkbox", "unknown command 'machines' of `tinkbox`: did you mean hardware?"),
        (
            "get hardware",
            "tinkbox",
            "unknown command 'get' of `tinkbox`: the noun stands first, such as `tinkbox hardware get`",
        ),
        (
            "logs x",
            "tinkbox",
            "unknown command 'logs' of `tinkbox`: the noun stands first, such as `tinkbox workflow logs`",
        ),
        (
            "exec x",
            "tinkbox",
            "unknown command 'exec' of `tinkbox`: the noun stands first, such as `tinkbox breakpoint shell`",
        ),
        ("-o json hardware list", "tinkbox", "unknown flag -o of `tinkbox`: flags of a verb stand behind it\n"),
        ("--data x -q hardware list", "tinkbox", "unknown flag -q of `tinkbox`: flags of a verb stand behind it\n"),
        (
            "hardware -o json list",
            "tinkbox hardware",
            "unknown flag -o of `tinkbox hardware`: flags of a verb stand behind it\n",
        ),
        (
            "hardware list --data x",
            "tinkbox hardware list",
            "unknown flag --data of `tinkbox hardware list`: it stands before the command, `tinkbox --data DIR hardware list`\n",
        ),
        *(
            (
                f"{command} -f x {flag}",
                f"tinkbox {command}",
                f"unknown flag {flag.partition(' ')[0]} of `tinkbox {command}`: a namespace stands in each document, `metadata: ",
            )
            for command in ("apply", "workflow create", "hardware push")
            for flag in ("-n tink-system", "-ntink-system", "--namespace tink-system")
        ),
        ("export -n x", "tinkbox export", "unknown flag -n of `tinkbox export`\n"),
        ("hardware list --all", "tinkbox hardware list", "unknown flag --all of `tinkbox hardware list`\n"),
        ("rollout cancel two --dry", "tinkbox rollout cancel", "unknown flag --dry of `tinkbox rollout cancel`\n"),
        ("hardware delete x --test", "tinkbox hardware delete", "unknown flag --test of `tinkbox hardware delete`\n"),
        ("workflow cancel x --try", "tinkbox workflow cancel", "unknown flag --try of `tinkbox workflow cancel`\n"),
        ("hardware delete x --forc", "tinkbox hardware delete", "unknown flag --forc of `tinkbox hardware delete`\n"),
        ("workflow list --xyz=1", "tinkbox workflow list", "unknown flag --xyz of `tinkbox workflow list`"),
        (
            "hardware label node1 -l rack=r1 a=b",
            "tinkbox hardware label",
            "node1 is named beside -l: name each MACHINE, or",
        ),
        (
            "workflow retry -l rack=r1 w1 -l gpu=yes w2",
            "tinkbox workflow retry",
            "w1 is named beside -l: name each WORKFLOW",
        ),
        ("hardware list node7", "tinkbox hardware list", "'node7' is one word too many for `tinkbox hardware list`"),
        ("status --x\x1b[2Jy", "tinkbox status", "unknown flag --x [2Jy of `tinkbox status`"),
        ("status --wach", "tinkbox status", "unknown flag --wach of `tinkbox status`"),
        (
            "hardware list -o jsno",
            "tinkbox hardware list",
            "argument -o/--output/--format: unknown value 'jsno': did you mean json?",
        ),
        *(
            (
                f"hardware list -o {each}",
                "tinkbox hardware list",
                (
                    f"argument -o/--output/--format: unknown value '{each}': take fields out with `-o json | jq`; known here: "
                    "table, wide, json, yaml, csv, name, tink\n"
                ),
            )
            for each in ("jsonpath={.name}", "custom-columns=A:.name", "go-template={{.name}}", "jsonpath")
        ),
        (
            "workflow list --state faild",
            "tinkbox workflow list",
            "argument --state: 'faild' is no state; there are: PENDING, RUNNING, HELD, STOPPING, SUCCESS, FAILED, TIMEOUT, CANCELED",
        ),
        (
            "hardware list --state hold",
            "tinkbox hardware list",
            "argument --state: 'hold' is no state; there are: held, parked, failed, stalled, working, booting, waiting, ",
        ),
        ("completion fsh", "tinkbox completion", "unknown verb 'fsh' of `tinkbox completion`: did you mean fish?"),
        (
            "completion foo",
            "tinkbox completion",
            "unknown verb 'foo' of `tinkbox completion`: known here: bash, zsh, fish\n",
        ),
        (
            "rollout create -t x node7",
            "tinkbox rollout",
            "unknown verb 'create' of `tinkbox rollout`: `tinkbox workflow create -t TEMPLATE MACHINE MACHINE…` makes a rollout",
        ),
        (
            "hardware delete --labels rack=r1",
            "tinkbox hardware delete",
            "unknown flag --labels of `tinkbox hardware delete`: did you mean --label?",
        ),
        (
            "workflow create -t x --label rack=r1,gpu!=no",
            "tinkbox workflow create",
            (
                "argument --label: 'rack=r1,gpu!=no': 'r1,gpu!=no' is no value of a label: at most 63 letters, digits, -, _ and ., "
                "with a letter or digit at both ends, such as r1; machines are selected with -l 'rack=r1,gpu!=no'"
            ),
        ),
        ("--data x help workflow foo", "tinkbox workflow", "unknown verb 'foo' of `tinkbox workflow`"),
        ("workflow help foo", "tinkbox workflow", "unknown verb 'foo' of `tinkbox workflow`"),
        ("help workflow state extra", "tinkbox help", "'extra' is one word too many for `tinkbox help`"),
        ("help doctor node7", "tinkbox help", "'node7' is one word too many for `tinkbox help`"),
        ("help workflow foo", "tinkbox workflow", "unknown verb 'foo' of `tinkbox workflow`"),
        (
            "workflow list --limit 1 --limit 2",
            "tinkbox workflow list",
            "argument --limit: it is given twice: leave one",
        ),
        ("workflow list --machine a --machine b", "tinkbox workflow list", "argument --machine: it is given twice"),
        ("workflow create -t a -t b n1", "tinkbox workflow create", "argument -t/--template: it is given twice"),
        (
            "hardware list -l rack=r1,=",
            "tinkbox hardware list",
            "argument -l/--label/--selector: 'rack=r1,=': '=' is no key of a label",
        ),
        (
            "workflow list --since soon",
            "tinkbox workflow list",
            "argument --since: 'soon' is neither an age nor a time",
        ),
        ("workflow list --limit -1", "tinkbox workflow list", "argument --limit: '-1' is no number of entries"),
        (
            "workflow list --sort -nam",
            "tinkbox workflow list",
            "argument --sort: 'nam' is nothing to sort by: did you mean name?",
        ),
        ("workflow watch", "tinkbox workflow watch", "the following arguments are required: WORKFLOW"),
    ],
)
def test_a_wrong_word_is_told_with_the_nearest_and_the_usage_of_its_command(
    capsys: pytest.CaptureFixture[str], line: str, usage: str, told: str
) -> None:
    printed = wrong(capsys, line)
    assert printed.startswith(f"usage: {usage} [-h]")
    assert f"\ntinkbox: {told}" in printed
    assert printed.endswith(f"\nHelp: {usage} --help\n")


def test_a_noun_alone_prints_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    chosen = parse(["workflow"])
    assert chosen.run(chosen) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.splitlines()[0]) == ("", "usage: tinkbox workflow [-h] VERB ...")
    assert "where a workflow stands" in printed.err


@pytest.mark.parametrize("words", ["", "workflow", "workflow state", "doctor"])
def test_help_is_a_command_too(capsys: pytest.CaptureFixture[str], words: str) -> None:
    told = []
    noun, _, verb = words.partition(" ")
    behind = [f"{noun} help {verb}", f"--data x {noun} help {verb}"] if noun == "workflow" else []
    for line in (f"help {words}", f"--data x help {words}", f"--data=x help {words}", f"{words} --help", *behind):
        with pytest.raises(SystemExit, match="0"):
            parse(line.split())
        told.append(capsys.readouterr().out)
    assert len(set(told)) == 1
    assert told[0].startswith(f"usage: {' '.join(['tinkbox', *words.split()])} [-h]")


@pytest.mark.parametrize(
    "words", ["hardware get help", "--data help hardware get", "breakpoint shell help", "--data help", "doctor help"]
)
def test_help_elsewhere_is_a_word_like_others(words: str) -> None:
    assert parse(words.split()).run is not None


@pytest.mark.parametrize("noun", ["hardware", "workflow", "rollout", "service"])
def test_the_help_of_a_list_names_the_states(capsys: pytest.CaptureFixture[str], noun: str) -> None:
    with pytest.raises(SystemExit, match="0"):
        parse([noun, "list", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert {"hardware": "parked, failed", "workflow": "PENDING, RUNNING"}.get(noun, ", FAILED") in told


@pytest.mark.parametrize("verb", ["template create", "template update x", "template validate", "workflow create"])
def test_a_file_has_a_short_flag(verb: str) -> None:
    assert parse([*verb.split(), "-f", "a.yaml"]).file == Path("a.yaml")


def test_lists_are_filtered_by_what_was_parsed() -> None:
    flags = (
        "--state failed,Timeout --machine node7 --template t -l rack=r1,!gpu --since 2h --limit 5 --sort -updated-at -w"
    )
    chosen = parse(["workflow", "list", *flags.split()])
    assert filters_of(chosen) == {
        "state": "FAILED,TIMEOUT",
        "machine": "node7",
        "template": "t",
        "label": "rack=r1,!gpu",
        "since": "2h",
        "limit": "5",
        "sort": "-updated_at",
    }
    assert chosen.watch
    assert filters_of(parse(["workflow", "list"])) == {}


def test_a_time_without_a_zone_is_of_this_host() -> None:
    chosen = parse(["workflow", "list", "--since", "2026-11-27T17:00"])
    assert chosen.since == "2026-11-27T17:00:00+00:00"
