#!/bin/sh
# `own PATH...`: through sudo too our folders stay the person's own, who writes into them without it.

own() {
    [ -z "${SUDO_UID:-}" ] || chown "$SUDO_UID:${SUDO_GID:-}" "$@" 2>/dev/null
}
