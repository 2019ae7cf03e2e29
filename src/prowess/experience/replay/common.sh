
EXECUTE=no
FIRST=1
LAST=$STEPS
CONFIRMED=' '
YES_TO_ALL=no
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
  [[ $YES_TO_ALL == no && $CONFIRMED != *" $CURRENT "* ]] || return 0
  has_terminal || stop 3 "Step $CURRENT was not run: $1. There is no terminal to ask on: look at \
the dry run, then confirm it with --confirm $CURRENT."
  printf '    Step %s: %s. Run it? [y/N, a for all that follow] ' "$CURRENT" "$1" >/dev/tty
  IFS= read -r answer </dev/tty || answer=''
  case $answer in
    y | Y | yes | Yes | YES) ;;
    a | A | all | All | ALL) YES_TO_ALL=yes ;;
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
