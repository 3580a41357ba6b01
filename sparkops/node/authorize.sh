#!/bin/sh
# Lets the public key on stdin log in to this account; a key that is there already is left as it is.
set -eu
umask 077
ours=$HOME/.local/state/sparkops
keys=$HOME/.ssh/authorized_keys

. ./record.sh

key=$(cat)
! grep -qxF -e "$key" "$keys" 2>/dev/null || exit 0
[ -d "$HOME/.ssh" ] || record "made $HOME/.ssh"
[ -e "$keys" ] || record "empty $keys"
mkdir -p "$HOME/.ssh"
end=''
if [ -s "$keys" ] && [ -n "$(tail -c 1 "$keys")" ]; then
    record "newline $keys"
    end='\n'
fi
record "authorized-key $key"
# shellcheck disable=SC2059
printf "$end%s\n" "$key" >>"$keys"
