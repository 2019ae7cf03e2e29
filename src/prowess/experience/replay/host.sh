
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
