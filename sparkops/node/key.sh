#!/bin/sh
# Prints the API key kept in FILE on this node; exit 3 when there is none.
#
#   key FILE
[ -r "$1" ] || exit 3
cat "$1"
