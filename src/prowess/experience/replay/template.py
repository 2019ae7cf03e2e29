"""What a replay script needs on a device and on files: bash, kept as text like `replay_template`.

A text for the device is read twice, by bash here and by the shell there; `device_word` quotes it
for the second. A text to find is always in quotes, since without them it would be a pattern.

The parts of a replay script that are the same for every trace: bash, kept as text.

Nothing of a trace is ever put into these texts; what a trace says reaches them as arguments. They
keep to what bash 3.2 knows, since that is what some systems still ship: no name references, no
associative arrays, and no empty array is expanded. A function that is called as a condition runs
without `errexit`, so those say by themselves what they return. What belongs to a device and to
files stands in `replay_places`.
"""

HEAD = r"""#!/usr/bin/env bash
# A replay of recorded steps. Without --execute it only says what it would do.
# Read it before you run it: it was made from what an agent did, and nobody has checked it.
set -euo pipefail
# Newer versions of bash take "&" in a replacement for what was found; here it is an ampersand.
shopt -u patsub_replacement 2>/dev/null || true
unset CDPATH
"""

COMMON = r"""
EXECUTE=no
FIRST=1
LAST=$STEPS
CONFIRMED=' '
DEVICE=''
FOLDER=''
CURRENT=''
STOPPED=no
SECRET=''

say() { printf '%s\n' "$1"; }
complain() { printf '%s\n' "$1" >&2; }

stop() {
  STOPPED=yes
  complain "$2"
  exit "$1"
}

usage() {
  say "Usage: $0 [--execute] [options]$PLAIN_ARGUMENT"
  say ''
  say "Replays $NAME: $TASK"
  say "It has $STEPS steps. Without --execute it only says what it would do."
  say ''
  say '  --execute        run the steps; stop at the first that fails'
  say '  --dry-run        only say what would be done (the default)'
  say '  --confirm N      confirm step N beforehand; may be given several times'
  say '  --from N         begin with step N'
  say '  --to N           end with step N'
  [[ $USES_DEVICE == no ]] || say '  --device SERIAL  the device; else the first that adb shows'
  [[ $USES_FOLDER == no ]] || say '  --folder DIR     where to work; else the recorded one, or this'
  say '  --help           show this text'
  say ''
  say "Steps that ask for a confirmation: ${RISKY:-none}"
  [[ -z $SECRETS ]] || say "Values that were not recorded are asked for, or taken from: $SECRETS"
  say ''
  say 'Exit status: 0 done, 1 a step failed, 2 wrong usage, 3 a step was not confirmed,'
  say '4 no device, 5 an element was not found, 6 a step has to be done by hand.'
}

is_number() { [[ $1 =~ ^[1-9][0-9]{0,5}$ ]]; }

take_option() {
  case $1 in
    --device)
      [[ $USES_DEVICE == yes ]] || stop 2 'No step uses a device; leave out --device.'
      DEVICE=$2
      return 0
      ;;
    --folder)
      [[ $USES_FOLDER == yes ]] || stop 2 'No step uses a folder; leave out --folder.'
      FOLDER=$2
      return 0
      ;;
  esac
  is_number "$2" || stop 2 "$1 needs the number of a step, 1 to $STEPS."
  ((10#$2 <= STEPS)) || stop 2 "There is no step $2: the last is $STEPS."
  case $1 in
    --confirm) CONFIRMED="$CONFIRMED$2 " ;;
    --from) FIRST=$2 ;;
    --to) LAST=$2 ;;
  esac
}

take_plain() {
  [[ $USES_DEVICE == yes && -z $DEVICE ]] || stop 2 'There is an argument too many; see --help.'
  DEVICE=$1
}

read_arguments() {
  while (($# > 0)); do
    case $1 in
      -h | --help)
        usage
        exit 0
        ;;
      --execute) EXECUTE=yes ;;
      --dry-run) EXECUTE=no ;;
      --confirm | --from | --to | --device | --folder)
        [[ $# -ge 2 && -n $2 ]] || stop 2 "$1 needs a value; see --help."
        take_option "$1" "$2"
        shift
        ;;
      --confirm=?* | --from=?* | --to=?* | --device=?* | --folder=?*)
        take_option "${1%%=*}" "${1#*=}"
        ;;
      -*) stop 2 'There is no such option; see --help.' ;;
      *) take_plain "$1" ;;
    esac
    shift
  done
}

at_the_end() {
  local status=$?
  if [[ $status -ne 0 && $STOPPED == no && -n $CURRENT ]]; then
    complain "Step $CURRENT failed (exit status $status). No step after it was run."
    complain "Once it is mended, go on with --execute --from $CURRENT."
    exit 1
  fi
}

has_terminal() { { : >/dev/tty; } 2>/dev/null; }

show() {
  local newline=$'\n' gap=$'\n    | '
  printf '    | %s\n' "${1//$newline/$gap}"
}

# begins NUMBER WORDS DANGER [SHOWN]: says what a step does, and whether it is to be run.
begins() {
  (($1 >= FIRST && $1 <= LAST)) || return 1
  CURRENT=$1
  say "Step $1: $2"
  [[ -z ${4-} ]] || show "$4"
  if [[ $EXECUTE == no ]]; then
    [[ -z $3 ]] || say "    asks for a confirmation: $3"
    return 1
  fi
  [[ -z $3 ]] || confirm "$3"
  return 0
}

confirm() {
  local answer=''
  [[ $CONFIRMED != *" $CURRENT "* ]] || return 0
  has_terminal || stop 3 "Step $CURRENT was not run: $1. There is no terminal to ask on: look at \
the dry run, then confirm it with --confirm $CURRENT."
  printf '    Step %s: %s. Run it? [y/N] ' "$CURRENT" "$1" >/dev/tty
  IFS= read -r answer </dev/tty || answer=''
  case $answer in
    y | Y | yes | Yes | YES) ;;
    *) stop 3 "Step $CURRENT was not confirmed. Neither it nor a step after it was run." ;;
  esac
}

by_hand() {
  local answer=''
  has_terminal || stop 6 "Step $CURRENT has to be done by hand, and there is no terminal to wait \
on. Do it, then go on with --execute --from $((CURRENT + 1))."
  [[ -z ${1-} ]] || show "$1"
  printf '    Do this by hand, then press Enter. ' >/dev/tty
  IFS= read -r answer </dev/tty || stop 6 "Step $CURRENT was not done by hand."
}

# ask_secret NAME: puts a value that was not recorded into SECRET.
ask_secret() {
  SECRET=${!1-}
  [[ -z $SECRET ]] || return 0
  has_terminal || stop 6 "Step $CURRENT needs a value that was not recorded. Set $1, or run this \
where there is a terminal to ask on."
  printf '    A value that was not recorded (it is not shown): ' >/dev/tty
  IFS= read -rs SECRET </dev/tty || stop 6 "Step $CURRENT did not get its value."
  printf '\n' >/dev/tty
}

# What is put into the middle of a command must not change how the command is read.
require_plain() {
  [[ $1 =~ ^[A-Za-z0-9_.:/+=@%,~-]+$ ]] || stop 6 "Step $CURRENT cannot take this value: in a \
command it may only hold letters, digits and _.:/+=@%,~-"
}

trap at_the_end EXIT
read_arguments "$@"
((FIRST <= LAST)) || stop 2 '--from is behind --to.'
say "$NAME: $TASK"
"""

TAIL = r"""
CURRENT=''
if [[ $EXECUTE == no ]]; then
  say 'This was a dry run: nothing was done. Run it with --execute.'
else
  say 'All steps are done.'
fi
"""


DEVICE = r"""
choose_device() {
  local serial state rest
  command -v adb >/dev/null 2>&1 \
    || stop 4 "adb is not on the PATH: install Android's platform tools."
  [[ -z $DEVICE ]] || return 0
  while read -r serial state rest; do
    if [[ $state == device ]]; then
      DEVICE=$serial
      break
    fi
  done < <(adb devices </dev/null)
  [[ -n $DEVICE ]] || stop 4 'No device is online: connect one, or name it with --device SERIAL.'
}

on_device() { adb -s "$DEVICE" shell "$1" </dev/null; }

# What adb passes on is read once more by the shell of the device.
device_word() {
  local quote="'" escaped="'\\''"
  printf "'%s'" "${1//$quote/$escaped}"
}

tap_at() { on_device "input tap $1 $2"; }
swipe() { on_device "input swipe $1 $2 $3 $4 $5"; }
press_key() { on_device "input keyevent $(device_word "$1")"; }
launch_app() { on_device "monkey -p $(device_word "$1") -c android.intent.category.LAUNCHER 1"; }

type_text() {
  local LC_ALL=C rest=$1 mark='%s' head=''
  if [[ $rest == *[!\ -~$'\t\r\n']* ]]; then
    paste_text "$rest"
    return
  fi
  rest=${rest//$'\r\n'/ }
  # The device reads %s as a space. Where somebody typed those two signs, they go one by one.
  while [[ $rest == *"$mark"* ]]; do
    head=${rest%%"$mark"*}
    type_keys "$head%"
    rest=${rest:$((${#head} + 1))}
  done
  type_keys "$rest"
}

type_keys() {
  local keys=$1
  [[ -n $keys ]] || return 0
  keys=${keys//[[:space:]]/%s}
  on_device "input text $(device_word "$keys")"
}

paste_text() {
  local answer=''
  answer=$(on_device "cmd clipboard set text $(device_word "$1")" 2>&1) || answer='No shell command'
  # Some devices only say so and report success.
  if [[ $answer == *'No shell command'* || $answer == *'Unknown command'* ]]; then
    by_hand 'This device takes no text through its clipboard: type the text of this step.'
    return
  fi
  press_key KEYCODE_PASTE
}

NODES=()
NODE_COUNT=0
PLACE_X=''
PLACE_Y=''
WHY=''
readonly NUMBER='(0|-?[1-9][0-9]{0,5})'
readonly BOUNDS=" bounds=\"\\[$NUMBER,$NUMBER\\]\\[$NUMBER,$NUMBER\\]\""
readonly WINDOW='/data/local/tmp/replay-window.xml'

# Puts the elements that are on the screen into NODES.
read_screen() {
  local screen='' node='' quote="'"
  NODES=()
  NODE_COUNT=0
  screen=$(on_device "uiautomator dump $WINDOW >/dev/null && cat $WINDOW") || return 1
  screen=${screen//&apos;/$quote}
  screen=${screen//&#39;/$quote}
  while IFS= read -r -d '>' node; do
    [[ $node == *'<node '* && $node =~ $BOUNDS ]] || continue
    ((BASH_REMATCH[3] > BASH_REMATCH[1] && BASH_REMATCH[4] > BASH_REMATCH[2])) || continue
    NODES[NODE_COUNT]=$node
    NODE_COUNT=$((NODE_COUNT + 1))
  done < <(printf '%s>' "$screen")
  ((NODE_COUNT > 0))
}

# keep NAME VALUE: leaves in NODES those with that attribute, unless none has it.
keep() {
  local node='' kept count=0
  kept=()
  for node in "${NODES[@]}"; do
    if [[ $node == *" $1=\"$2\""* ]]; then
      kept[count]=$node
      count=$((count + 1))
    fi
  done
  ((count > 0)) || return 1
  NODES=("${kept[@]}")
  NODE_COUNT=$count
}

# keep_at X Y: leaves in NODES the innermost that covers a place, unless none does.
keep_at() {
  local node='' kept=''
  for node in "${NODES[@]}"; do
    [[ $node =~ $BOUNDS ]] || continue
    (($1 >= BASH_REMATCH[1] && $1 < BASH_REMATCH[3])) || continue
    (($2 >= BASH_REMATCH[2] && $2 < BASH_REMATCH[4])) || continue
    kept=$node
  done
  [[ -n $kept ]] || return 1
  NODES=("$kept")
  NODE_COUNT=1
}

# find_element X Y NAME VALUE...: the first attribute that is found decides, the others break ties.
find_element() {
  local x=$1 y=$2 found=no
  shift 2
  WHY='the screen could not be read'
  read_screen || return 1
  WHY='the element is not on the screen'
  while (($# > 0)); do
    if [[ $found == yes ]]; then
      ((NODE_COUNT == 1)) || keep "$1" "$2" || true
    elif [[ $1 != class ]] && keep "$1" "$2"; then
      found=yes
    fi
    shift 2
  done
  [[ $found == yes ]] || return 1
  if ((NODE_COUNT > 1)) && [[ -n $x ]]; then
    keep_at "$x" "$y" || true
  fi
  WHY="$NODE_COUNT elements on the screen look like it"
  ((NODE_COUNT == 1)) || return 1
  [[ ${NODES[0]} =~ $BOUNDS ]] || return 1
  PLACE_X=$(((BASH_REMATCH[1] + BASH_REMATCH[3]) / 2))
  PLACE_Y=$(((BASH_REMATCH[2] + BASH_REMATCH[4]) / 2))
}

tap_element() {
  local tries=${REPLAY_TRIES:-5}
  is_number "$tries" || tries=5
  while ! find_element "$@"; do
    tries=$((tries - 1))
    if ((tries > 0)); then
      sleep 1
    elif [[ -n $1 ]]; then
      say "    $WHY: tapped at $1,$2 as it was recorded."
      tap_at "$1" "$2"
      return
    else
      stop 5 "Step $CURRENT was not run: $WHY, and no place for it was recorded."
    fi
  done
  tap_at "$PLACE_X" "$PLACE_Y"
}

[[ $EXECUTE == no ]] || choose_device
"""

HOST = r"""
PLACE=''
CONTENT=''

choose_folder() {
  if [[ -z $FOLDER ]]; then
    FOLDER=$PWD
    [[ -z $RECORDED_FOLDER || ! -d $RECORDED_FOLDER ]] || FOLDER=$RECORDED_FOLDER
  fi
  FOLDER=$(cd -- "$FOLDER" 2>/dev/null && pwd -P) || stop 2 'There is no such folder; see --folder.'
  say "Folder: $FOLDER"
}

place() {
  local home='~/'
  case $1 in
    /*) PLACE=$1 ;;
    "$home"*) PLACE=$HOME/${1#"$home"} ;;
    *) PLACE=$FOLDER/$1 ;;
  esac
}

# run_command COMMAND FOLDER
run_command() {
  place "$2"
  (cd -- "$PLACE" && exec bash -c -- "$1") </dev/null
}

# spare FOLDER FILE...: asks before a file that is there is overwritten.
spare() {
  local folder=$1 file=''
  shift
  for file in "$@"; do
    place "$folder"
    [[ $file == /* ]] || file=$PLACE/$file
    [[ ! -e $file && ! -L $file ]] || confirm "it overwrites $file"
  done
}

show_file() {
  place "$1"
  head -c 65536 "$PLACE"
  say ''
}

# Reads a file into CONTENT byte by byte; a zero byte would get lost.
read_content() {
  local LC_ALL=C size=0
  [[ -f $PLACE && -r $PLACE ]] || return 1
  size=$(wc -c <"$PLACE")
  ((size <= 1048576)) || return 1
  CONTENT=$(cat "$PLACE" 2>/dev/null && printf x) || return 1
  CONTENT=${CONTENT%x}
  ((${#CONTENT} == size))
} 2>/dev/null

write_file() {
  place "$1"
  if [[ -e $PLACE || -L $PLACE ]]; then
    if read_content && [[ $CONTENT == "$2" ]]; then
      say '    The file already holds this.'
      return 0
    fi
    confirm "it overwrites $1"
  fi
  mkdir -p -- "${PLACE%/*}/"
  printf '%s' "$2" >"$PLACE"
}

# edit_file PATH, then for each edit ALL OLD NEW: all edits are made, or none.
edit_file() {
  local name=$1
  place "$1"
  shift
  if ! read_content; then
    complain '    The file is not here, is too large, or is no text.'
    return 1
  fi
  while (($# > 0)); do
    replace_in_content "$1" "$2" "$3"
    shift 3
  done
  [[ $CONTENT == *[![:space:]]* ]] || confirm "it leaves nothing in $name"
  printf '%s' "$CONTENT" >"$PLACE"
}

replace_in_content() {
  local LC_ALL=C count=0 bare=''
  bare=${CONTENT//"$2"/}
  count=$(((${#CONTENT} - ${#bare}) / ${#2}))
  if ((count == 0)); then
    complain '    The text to replace is not in the file.'
    return 1
  fi
  if ((count > 1)) && [[ $1 == once ]]; then
    complain "    The text to replace is in the file $count times, not once."
    return 1
  fi
  CONTENT=${CONTENT//"$2"/$3}
}

choose_folder
"""
