#!/bin/sh
# until WORDS...: `ready` when the command ends with 0, else `wait` and the last of what it said.
said=$("$@" 2>&1)
code=$?
if [ "$code" -eq 0 ]; then echo ready; else echo "wait exit code $code"; fi
printf '%s\n' "$said" | tail -n 5
