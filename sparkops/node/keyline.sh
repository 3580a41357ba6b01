#!/bin/sh
# `key_line ID` puts the line on stdin into authorized_keys in the place of the one that ends with $mark and ID; without
# a line on stdin it takes that away. The file is there whole or not at all. A script carries it by `. ./keyline.sh`.

# shellcheck disable=SC2154  # state, keys and mark: set by who carries this
key_line() {
    file=$(readlink -f "$keys") || return
    (
        flock 7
        [ ! -e "$file" ] || grep -v " $mark$1\$" "$file" >"$file.new.$$"
        cat >>"$file.new.$$" && chmod 600 "$file.new.$$" && own "$file.new.$$" && mv -f "$file.new.$$" "$file"
    ) 7<"$state"
    code=$?
    rm -f "$file.new.$$"
    return "$code"
}
