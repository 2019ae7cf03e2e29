
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
