"""Where a shell calculates, it may run what a variable holds: only numbers may be in there."""

from tests.rows import each_row

from prowess.learning.destructive import danger_of


@each_row(
    "command",
    [
        "x='a[$(ls)]'; echo $((x))",
        "x='a[$(ls)]'; ((x))",
        "x='a[$(ls)]'; for ((i=x; i<3; i++)); do ls; done",
        "x='a[$(ls)]'; [[ $x -eq 0 ]]",
        "x='a[$(ls)]'; [[ x -eq 0 ]]",
        "x='a[$(ls)]'; echo ${HOME:x}",
        "x='a[$(ls)]'; echo ${HOME:1:$x}",
        "x='a[$(ls)]'; echo ${a[x]}",
        "x='a[$(ls)]'; a[x]=1",
        "x='a[$(ls)]'; a=([x]=1)",
        "x='a[$(ls)]'; echo $[x]",
        "x='a[$(ls)]'; echo $(( x\n))",
        "x='a[$(ls)]'; echo ${!x}",
        "x='a[$(ls)]'; test -v \"$x\"",
        "x='a[$(ls)]'; [[ -v \"$x\" ]]",
        "x='-v a[$(ls)]'; [ $x ]",
        'o=-v; x=\'a[$(ls)]\'; [ "$o" "$x" ]',
        "x='a[$(ls)]'; read \"$x\" <<< 1",
        "x='a[$(ls)]'; unset \"$x\"",
        "x='a[$(ls)]'; printf -v \"$x\" y",
        'o=-v; x=\'a[$(ls)]\'; printf "$o" "$x" y',
        "x='a[$(ls)]'; builtin test -v \"$x\"",
        "declare -i x; x='a[$(ls)]'",
        "declare -n y=x",
        "read x; echo $((x))",
        "x=1; x=$(cat f); echo $((x))",
        "for x in 1 'a[$(ls)]'; do echo $((x)); done",
        "echo $((x))",
        "echo $(($1))",
        "echo ${HOME:a[$(ls)]}",
        ": ${x:='a[$(ls)]'}; x=1; echo $((x))",
        "wait -p 'a[$(ls)]' -n",
        "getopts x PATH",
        "jobs -x rm y",
        "let x=1",
        "echo ${ rm x; }",
    ],
)
def test_what_may_hold_more_than_a_number_needs_a_confirmation(command: str) -> None:
    assert danger_of(command) != ""


@each_row(
    "command",
    [
        "echo $((1 + 2 * (3 - 0x1f)))",
        "i=0; while ((i < 3)); do i=$((i + 1)); ls; done",
        "for ((i = 0; i < 3; i++)); do echo $i; done",
        "for i in 1 2 3; do echo $((i * 2)); done",
        "n=3; [[ $n -gt 2 ]] && ls",
        "[ $? -eq 0 ] && ls",
        '[ "$x" = y ] && ls',
        "[[ -v x && $x == a* ]] && ls",
        "[[ $# -gt 1 ]] || ls",
        "echo ${x:0:3} ${x: -1} ${x:-y} ${#x} ${x%.*} ${a[0]} ${a[@]:1}",
        "echo $RANDOM $((RANDOM % 6))",
        "frob() { local i=1; echo $((i + 1)); }; frob",
        'while read -r line; do echo "$line"; done < f',
        "printf '%s\\n' \"$x\"",
        "a=(1 2 3); echo ${a[1]} ${!a[@]}",
    ],
)
def test_numbers_and_plain_names_need_none(command: str) -> None:
    assert danger_of(command) == ""
