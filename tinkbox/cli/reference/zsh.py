"""The completion script for zsh: a function for each command, as `_arguments` takes them."""

from collections.abc import Iterable
from shlex import quote

from tinkbox.cli.reference.declarations import Argument, Command, Flag, completed
from tinkbox.cli.reference.suggestions import Suggestion, of_value

SCRIPT = r"""#compdef tinkbox tink
# zsh completion for tinkbox; printed by `tinkbox completion zsh`.

# Suggests names of the kind $1 that the appliance knows, newest first where it matters.
_tinkbox_names() {
    local line about program=tinkbox
    local -a names
    [[ $PREFIX == -* ]] && return 1
    (( $+commands[${tinkbox_program}] )) || [[ -x $tinkbox_program ]] && program=$tinkbox_program
    for line in ${(f)"$($program $tinkbox_data completion names $1 -- "${(Q)PREFIX}" 2>/dev/null </dev/null)"}; do
        about=${line#*$'\t'}
        line=${line%%%%$'\t'*}
        line=${line//\\/\\\\}
        names+=("${line//:/\\:}${about:+:$about}")
    done
    _describe -V -t names "$1" names
}

%s
if [[ $funcstack[1] == _tinkbox ]]; then
    _tinkbox "$@"
else
    compdef _tinkbox tinkbox tink
fi
"""
ABOVE = r"""{name}() {{
    local state{locals}
    local -a line verbs
    typeset -A opt_args
    {before}_arguments -C -S {specifications}
    case $state in
    verb)
        verbs=({verbs})
        _describe -t commands {kind} verbs ;;
    below)
        {after}case $line[1] in
{cases}
        esac ;;
    esac
}}
"""
LEAF = r"""{name}() {{
    _arguments -S {specifications}
}}
"""
# The word before the verbs and where its data is are for the question that `_tinkbox_names` asks.
BEFORE = r"tinkbox_program=${(Q)words[1]/#\~\//$HOME/}; "
AFTER = r"tinkbox_data=(${opt_args[--data]:+--data=${${(Q)opt_args[--data]}/#\~\//$HOME/}}); "
HELP = Flag(names=("-h", "--help"), about="what it does, and its flags")


def script(program: Command) -> str:
    """The script for the program with all that is below it."""
    return SCRIPT % "\n".join(_function(each) for each in completed(program).walk())


def _function(command: Command) -> str:
    flags = (line for flag in (*command.flags, HELP) for line in _flag(flag, command))
    if not command.below:
        return LEAF.format(name=_name(command), specifications=_joined([*flags, *map(_argument, command.arguments)]))
    cases = "\n".join(f"        {each.path[-1]}) {_name(each)} ;;" for each in command.below)
    top = not command.path
    return ABOVE.format(
        name=_name(command),
        locals=" tinkbox_program; local -a tinkbox_data" if top else "",
        before=BEFORE if top else "",
        after=AFTER if top else "",
        kind="command" if top else "verb",
        specifications=_joined([*flags, "1: :->verb", "*:: :->below"]),
        verbs=" ".join(quote(f"{each.path[-1]}:{each.about}") for each in command.below),
        cases=cases,
    )


def _name(command: Command) -> str:
    return "_".join(("_tinkbox", *(word.replace("-", "_") for word in command.path)))


def _joined(specifications: Iterable[str]) -> str:
    return " \\\n        ".join(map(quote, specifications))


def _flag(flag: Flag, command: Command) -> Iterable[str]:
    """A specification for each spelling, which keeps the others of its own and of its group away."""
    group = next((each for each in command.exclusive if flag in each), (flag,))
    others = [name for each in group for name in each.names]
    begin = "*" if flag.repeated else f"({' '.join(others)})" if len(others) > 1 else ""
    for name in flag.names:
        ending = "" if not flag.takes else "=" if name.startswith("--") else "+"
        value = f":{_plain(flag.takes)}:{_action(of_value(flag), flag.takes)}" if flag.takes else ""
        yield f"{begin}{name}{ending}[{_explained(flag.about)}]{value}"


def _argument(argument: Argument) -> str:
    place = "*" if argument.many else ":" if argument.optional else ""
    action = _action(of_value(argument), argument.name)
    return f"{place}:{_plain(argument.name)}:{action}"


def _action(suggestion: Suggestion, name: str) -> str:
    """What completes it; a space alone shows its name and suggests nothing.

    With a space before it a function is called with these words only.
    """
    words = " ".join(suggestion.words)
    actions = [f"_sequence compadd - {words}" if suggestion.listed else f"({words})"] if words else []
    actions += [f" _tinkbox_names {_plain(each)}" for each in suggestion.kinds]
    actions += ["_files"] * suggestion.files + ["_files -/"] * suggestion.folders
    if len(actions) < 2:
        return "".join(actions) or " "
    return "_alternative " + " ".join(quote(f"names:{_plain(name)}:{each}") for each in actions)


def _plain(text: str) -> str:
    """Text for a person in a specification, where a colon ends it."""
    return text.replace("\\", "\\\\").replace(":", "\\:")


def _explained(about: str) -> str:
    return _plain(" ".join(about.split())).replace("[", "\\[").replace("]", "\\]")
