#!/bin/sh
# the question of the facts by awk, as the kernel's table has thousands of rows where hundreds of nodes are
[ "$*" = -ltnpH ] || exec PROGRAM "$@"
read -r mine <"$SPARKLAB_NODE/sockets"
exec awk -v mine="$mine" '
    BEGIN { for (i = 0; i < 16; i++) digit[substr("0123456789ABCDEF", i + 1, 1)] = i }
    function number(text, i, n) { for (i = 1; i <= length(text); i++) n = n * 16 + digit[substr(text, i, 1)]; return n }
    $4 == "0A" && index(mine, substr($2, 1, 8)) {
        a = $2
        printf "LISTEN 0      128    %d.%d.%d.%d:%d      0.0.0.0:*\n", number(substr(a, 7, 2)), number(substr(a, 5, 2)),
            number(substr(a, 3, 2)), number(substr(a, 1, 2)), number(substr(a, 10, 4))
    }' /proc/net/tcp
