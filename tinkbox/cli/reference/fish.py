"""The completion script for fish: a line for each flag, verb and argument."""

from collections.abc import Iterable, Iterator

from tinkbox.cli.reference.declarations import Argument, Command, Flag, completed
from tinkbox.cli.reference.suggestions import Suggestion, of_value

SCRIPT = r"""# fish completion for tinkbox; printed by `tinkbox completion fish`.

# What the command in $argv has: its verbs, and those of its flags that take a value.
function __tinkbox_has
    set -g __tinkbox_verbs
    set -g __tinkbox_values
    switch "$argv"
%s
    end
end

# Finds which command is typed, how many arguments it has before the cursor, and the data directory that is named.
function __tinkbox_look
    set -l words (commandline -opc)
    set -q __tinkbox_words; and test "$words" = "$__tinkbox_words"; and return
    set -g __tinkbox_words $words
    set -g __tinkbox_path
    set -g __tinkbox_given 0
    set -g __tinkbox_data
    set -l flag
    set -l only
    __tinkbox_has
    for word in $words[2..-1]
        if test -n "$flag"
            test "$flag" = --data; and set __tinkbox_data --data=(string replace -r '^~/' "$HOME/" -- $word)
            set flag
        else if test -z "$only"; and test "$word" = --
            set only 1
        else if test -z "$only"; and string match -q -- '--data=*' $word
            set __tinkbox_data $word
        else if test -z "$only"; and string match -q -- '-*' $word
            contains -- $word $__tinkbox_values; and set flag $word
        else if contains -- $word $__tinkbox_verbs
            set -a __tinkbox_path $word
            set __tinkbox_given 0
            __tinkbox_has $__tinkbox_path
        else
            set __tinkbox_given (math $__tinkbox_given + 1)
        end
    end
end

# Whether the command that is typed is the one in $argv.
function __tinkbox_at
    __tinkbox_look
    test "$__tinkbox_path" = "$argv"
end

# Whether its argument number $argv[1] comes next, or with + behind the number one of those from there on.
function __tinkbox_argument
    __tinkbox_look
    test "$__tinkbox_path" = "$argv[2..-1]"; or return 1
    set -l place (string replace + '' -- $argv[1])
    test $__tinkbox_given -eq $place; and return
    test "$place" != "$argv[1]"; and test $__tinkbox_given -gt $place
end

# Suggests names of the kind $argv[1] that the appliance knows.
function __tinkbox_names
    __tinkbox_look
    set -l program $__tinkbox_words[1]
    type -q "$program"; or set program tinkbox
    set -l typed (commandline -ct | string replace -r -- '^--[^=]*=' '' | string unescape)
    command $program $__tinkbox_data completion names $argv[1] -- "$typed" 2>/dev/null </dev/null
end

# Suggests the words in $argv behind those that are typed with commas between.
function __tinkbox_list
    set -l typed (commandline -ct | string replace -r -- '^--[^=]*=' '' | string match -r -- '^.*,')
    for word in $argv
        echo "$typed$word"
    end
end

complete -c tinkbox -e
complete -c tinkbox -f
%s
complete -c tink -w tinkbox
"""
HELP = Flag(names=("-h", "--help"), about="what it does, and its flags")


def script(program: Command) -> str:
    """The script for the program with all that is below it."""
    commands = list(completed(program).walk())
    cases = "\n".join(line for each in commands for line in _case(each))
    return SCRIPT % (cases, "\n".join(line for each in commands for line in _lines(each)))


def _case(command: Command) -> Iterator[str]:
    verbs = " ".join(_quoted(each.path[-1]) for each in command.below)
    values = " ".join(_quoted(name) for flag in command.flags if flag.takes for name in flag.names)
    yield f"        case {_quoted(' '.join(command.path))}"
    if verbs:
        yield f"            set __tinkbox_verbs {verbs}"
    if values:
        yield f"            set __tinkbox_values {values}"


def _lines(command: Command) -> Iterator[str]:
    words = " ".join(command.path)
    for each in command.below:
        yield _line(f"__tinkbox_argument 0 {words}", ["-a", _quoted(each.path[-1])], each.about)
    for flag in (*command.flags, HELP):
        spelled = [part for name in flag.names for part in _spelled(name)]
        yield _line(f"__tinkbox_at {words}", [*spelled, *(_takes(of_value(flag)) if flag.takes else [])], flag.about)
    for place, argument in enumerate(command.arguments):
        wanted = of_value(argument)
        if wanted:
            yield _line(f"__tinkbox_argument {_place(place, argument)} {words}", _suggested(wanted), argument.about)


def _place(place: int, argument: Argument) -> str:
    return f"{place}+" if argument.many else str(place)


def _spelled(name: str) -> tuple[str, str]:
    if name.startswith("--"):
        return "-l", name.removeprefix("--")
    return "-s", name.removeprefix("-")


def _takes(suggestion: Suggestion) -> list[str]:
    return ["-r", *([] if suggestion.files else ["-f"]), *_suggested(suggestion)]


def _suggested(suggestion: Suggestion) -> list[str]:
    words = [f"(__tinkbox_list {' '.join(suggestion.words)})"] if suggestion.listed else suggestion.words
    parts = [*words, *(f"(__tinkbox_names {each})" for each in suggestion.kinds)]
    parts += ["(__fish_complete_directories (commandline -ct))"] * suggestion.folders
    return [*(["-F"] if suggestion.files else []), *(["-k", "-a", _quoted(" ".join(parts))] if parts else [])]


def _line(condition: str, parts: Iterable[str], about: str) -> str:
    told = ["-d", _quoted(" ".join(about.split()))] if about else []
    return " ".join(("complete -c tinkbox", "-n", _quoted(condition.strip()), *parts, *told))


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
