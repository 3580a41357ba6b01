#!/bin/sh
# One line that permits one command without a password.
#
#   sudoers write FILE LINE     as root: validated, then put in place with mode 0440
#   sudoers remove FILE         as root
#   sudoers check               as the login user: whether dropping the page cache is permitted now
set -u
LC_ALL=C
PATH=$PATH:/usr/sbin:/sbin
export LC_ALL PATH

fail() {
    echo "$*" >&2
    exit 1
}

# sudo skips files with a dot in their name, so neither this one nor a half-made one ever counts.
write() {
    file=$root$1 new=$root$1.new
    command -v visudo >/dev/null || fail 'visudo is not installed, so the sudoers rule cannot be checked; nothing was written'
    [ -d "${file%/*}" ] || fail "${1%/*} does not exist, so sudo on this node reads no files from it"
    visudo -c >/dev/null 2>&1 && sound=yes || sound=''
    umask 337
    rm -f "$new"
    printf '# Written by sparkops; removed by: sparkops cleanup.\n%s\n' "$2" >"$new" || exit
    said=$(visudo -cf "$new" 2>&1) || { rm -f "$new" && fail "visudo: $said"; }
    chmod 440 "$new" && mv -f "$new" "$file" || exit
    [ -z "$sound" ] || said=$(visudo -c 2>&1) || { rm -f "$file" && fail "visudo: $said"; }
}

root=${SPARKOPS_ROOT:-}
verb=$1
shift
case $verb in
    write) write "$1" "$2" ;;
    remove) rm -f -- "$root$1" ;;
    check) sudo -n -l tee /proc/sys/vm/drop_caches >/dev/null ;;
    *)
        echo "unknown verb $verb" >&2
        exit 2
        ;;
esac
