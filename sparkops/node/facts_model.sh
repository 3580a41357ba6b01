#!/bin/sh
# The probes of the served model with the vocabulary files, and of further models.
# shellcheck disable=SC2154  # what facts.sh sets

model() {
    [ -n "$model" ] && begin model || return 0
    body=$(weights)
    end $? "$body"
}

further_models() {
    [ -n "$models" ] && begin models || return 0
    text=''
    while IFS= read -r model; do
        [ -n "$model" ] || continue
        case $model in /*) name=$model ;; *) name=${model%%@*} ;; esac
        body=$(weights)
        text=$text$(part "$name" $? "$body")$nl
    done <<MODELS
$models
MODELS
    end 0 "${text%"$nl"}"
}

weights() {
    id=${model%@*} revision=''
    case $model in *@*) revision=${model##*@} ;; esac
    case $id in
    /*) folder=$id ;;
    */*) folder=models--${id%%/*}--${id#*/} ;;
    *) folder=models--$id ;;
    esac
    case $id in /*) answers "$id" ;; *) answers "$cache" ;; esac || return 124
    case $folder in
    /*) ;;
    *) if [ -d "$cache/$folder" ]; then folder=$cache/$folder; else folder=$cache/hub/$folder; fi ;;
    esac
    echo "folder $folder"
    for path in "$HOME"/.cache/tiktoken_rs/*; do
        [ ! -s "$path" ] || echo "word ${path##*/}"
    done
    echo words
    [ -e "$folder" ] || { echo absent && return 0; }
    $hold ls "$folder" >/dev/null 2>&1 || { echo "$folder: permission denied" && return 1; }
    for path in "$folder"/refs/*; do
        [ ! -f "$path" ] || { slurp "$path" && echo "ref ${path##*/} $body"; }
    done
    last='' count=0
    for path in "$folder"/snapshots/*/; do
        [ -d "$path" ] || continue
        path=${path%/} last=${path##*/} count=$((count + 1))
        echo "snapshot $last"
    done
    for path in "$folder"/blobs/*.incomplete; do
        [ ! -e "$path" ] || stat -c 'incomplete %s %n' "$path"
    done
    case $id in /*) snapshot=$folder ;; *) chosen || return 0 ;; esac
    echo "revision ${snapshot##*/}"
    cd "$snapshot" || return 1
    $hold find -L . -type f -exec stat -L -c 'file %s %n' {} +
    $hold find -L . -type l -exec printf 'broken 0 %s\n' {} +
    $hold grep -ohs '"[^"]*\.\(safetensors\|bin\)"' ./*.safetensors.index.json ./*.bin.index.json |
        sort -u | sed 's/^"\(.*\)"$/needs 0 \1/'
    configuration=$($hold head -c 200001 ./config.json 2>/dev/null | tr '\n\r\000' '   ')
    [ ${#configuration} -gt 200000 ] || [ -z "$configuration" ] || printf 'config %s\n' "$configuration"
    return 0
}

# the snapshot that a server would load: the asked revision, else main, else the only one
chosen() {
    snapshot=$folder/snapshots/${revision:-main}
    if [ -f "$folder/refs/${revision:-main}" ]; then
        slurp "$folder/refs/${revision:-main}" && snapshot=$folder/snapshots/$body
    elif [ -z "$revision" ] && [ "$count" = 1 ]; then
        snapshot=$folder/snapshots/$last
    fi
    [ -d "$snapshot" ]
}
