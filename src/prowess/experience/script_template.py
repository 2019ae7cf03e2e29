r"""What a replay script needs on a device and on files: bash, kept as text like `replay_template`.

A text for the device is read twice, by bash here and by the shell there; `device_word` quotes it
for the second. A text to find is always in quotes, since without them it would be a pattern.
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
