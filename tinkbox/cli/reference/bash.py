"""The completion script for bash.

It is plain bash 3.2 and needs no package.  Words that bash has cut at `:` and `=` are put together again, so that MACs and
`name:tag` complete.  Names of the appliance are data: they are never expanded by the shell.
"""

from collections.abc import Iterable
from shlex import quote

from tinkbox.cli.reference.declarations import Command, completed
from tinkbox.cli.reference.suggestions import Suggestion, of_value

SCRIPT = r"""# bash completion for tinkbox; printed by `tinkbox completion bash`.

# What the command $1 has: its verbs, its flags, what each flag takes, and what each argument is.
_tinkbox_command() {
    verbs='' flags='' values=() arguments=()
    case $1 in
%s
    esac
}

# Sets $takes to what the flag $1 takes; fails for a switch.
_tinkbox_value() {
    local value
    takes=
    for value in ${values[@]+"${values[@]}"}; do
        if [[ ${value%%%%=*} == "$1" ]]; then takes=${value#*=}; return 0; fi
    done
    return 1
}

# Suggests what begins with $2 and is described by $1, with $3 before each.
_tinkbox_suggest() {
    local part name word=$2 before=$3
    for part in $1; do
        case $part in
        list) [[ $2 == *,* ]] && word=${2##*,} before=$3${2%%,*}, ;;
        file) compopt -o filenames 2>/dev/null
            while IFS= read -r name; do COMPREPLY+=("$3$name"); done < <(compgen -f -- "$2") ;;
        folder) compopt -o filenames 2>/dev/null
            while IFS= read -r name; do COMPREPLY+=("$3$name"); done < <(compgen -d -- "$2") ;;
        word:*) [[ ${part#word:} == "$word"* ]] && COMPREPLY+=("$before${part#word:}") ;;
        kind:*)
            while IFS=$'\t' read -r name _; do
                if [[ $name == "$2"* ]]; then
                    [[ $quoted ]] || printf -v name '%%q' "$name"
                    COMPREPLY+=("$3$name")
                fi
            done < <("$program" ${data[@]+"${data[@]}"} completion names "${part#kind:}" -- "$2" 2>/dev/null </dev/null) ;;
        esac
    done
}

_tinkbox() {
    local verbs flags values arguments takes='' path='' given=0 only='' quoted='' data=() parts=()
    local rest=${COMP_LINE:0:COMP_POINT} word flag last='' current program place
    COMPREPLY=()
    for ((place = 0; place <= COMP_CWORD; place++)); do
        word=${COMP_WORDS[place]}
        (( ${#word} > ${#rest} )) && word=${rest#"${rest%%%%[![:space:]]*}"}
        if ((place == 0)) || [[ $rest == [[:space:]]* || -z $rest ]]; then
            parts+=("$word")
        else
            parts[${#parts[@]} - 1]+=$word
        fi
        rest=${rest#"${rest%%%%[![:space:]]*}"}
        rest=${rest#"$word"}
        last=$word
    done
    program=${parts[0]/#\~\//$HOME/}
    type -P "$program" >/dev/null || program=tinkbox
    current=${parts[${#parts[@]} - 1]}
    _tinkbox_command ''
    for ((place = 1; place < ${#parts[@]} - 1; place++)); do
        word=${parts[place]}
        if [[ $takes ]]; then
            [[ $flag == --data ]] && data=(--data "${word/#\~\//$HOME/}")
            takes=
        elif [[ -z $only && $word == -- ]]; then only=1
        elif [[ -z $only && $word == --data=* ]]; then data=("$word")
        elif [[ -z $only && $word == -?* ]]; then flag=$word; _tinkbox_value "$word"
        elif [[ " $verbs " == *" $word "* ]]; then path="${path:+$path }$word"; given=0; _tinkbox_command "$path"
        else ((given++))
        fi
    done
    # What readline replaces is the last piece alone: the rest of the word stays as it is.
    local kept=''
    case $current in
    [\"\']*) quoted=1 current=${current:1} ;;
    *)
        [[ ${last//[$COMP_WORDBREAKS]/} ]] || last=
        kept=${current%%"$last"}
        current=${current//\\/}
        ;;
    esac
    if [[ $takes ]]; then
        _tinkbox_suggest "$takes" "$current"
    elif [[ -z $only && $current == --*=* ]]; then
        _tinkbox_value "${current%%%%=*}" && _tinkbox_suggest "$takes" "${current#*=}" "${current%%%%=*}="
    elif [[ -z $only && $current == -* ]]; then
        for word in $flags; do [[ $word == "$current"* ]] && COMPREPLY+=("$word"); done
    elif [[ $verbs ]]; then
        for word in $verbs; do [[ $word == "$current"* ]] && COMPREPLY+=("$word"); done
    elif ((${#arguments[@]})); then
        word=${arguments[${#arguments[@]} - 1]}
        if ((given < ${#arguments[@]})); then
            _tinkbox_suggest "${arguments[given]}" "$current"
        elif [[ $word == *' more' ]]; then
            _tinkbox_suggest "$word" "$current"
        fi
    fi
    if [[ $kept ]]; then
        for place in "${!COMPREPLY[@]}"; do COMPREPLY[place]=${COMPREPLY[place]#"$kept"}; done
    fi
}

complete -o nosort -F _tinkbox tinkbox tink 2>/dev/null || complete -F _tinkbox tinkbox tink
"""


def script(program: Command) -> str:
    """The script for the program with all that is below it."""
    cases = "\n".join(line for command in completed(program).walk() for line in _case(command))
    return SCRIPT % cases


def _case(command: Command) -> Iterable[str]:
    """What `_tinkbox_command` sets for one command, each thing that it has."""
    verbs = " ".join(each.path[-1] for each in command.below)
    flags = " ".join(name for flag in command.flags for name in flag.names)
    values = " ".join(
        quote(f"{name}={_described(of_value(flag))}") for flag in command.flags if flag.takes for name in flag.names
    )
    arguments = " ".join(
        quote(_described(of_value(each)) + (" more" if each.many else "")) for each in command.arguments
    )
    yield f"    {quote(' '.join(command.path))})"
    yield f"        verbs={quote(verbs)}"
    yield f"        flags={quote(f'{flags} --help'.strip())}"
    yield f"        values=({values})"
    yield f"        arguments=({arguments}) ;;"


def _described(suggestion: Suggestion) -> str:
    """As `_tinkbox_suggest` reads it; `any` for what it has no suggestion for."""
    parts = (
        ["list"] * suggestion.listed
        + [f"word:{each}" for each in suggestion.words]
        + [f"kind:{each}" for each in suggestion.kinds]
    )
    parts += ["file"] * suggestion.files + ["folder"] * suggestion.folders
    return " ".join(parts) or "any"
