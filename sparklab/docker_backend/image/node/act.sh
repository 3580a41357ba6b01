#!/bin/sh
# What a fault does on the node itself; run as root inside it: act.sh VERB WORDS…
set -eu
full=/home/.full
sudoers=/etc/sudoers.d/lab
own=/lab/host_keys/ssh_host_ed25519_key
key=/etc/ssh/ssh_host_ed25519_key

firewall() {
  change=$1
  shift
  for interface in "$@"; do
    iptables "$change" INPUT -i "$interface" -j DROP
    iptables "$change" OUTPUT -o "$interface" -j DROP
  done
}

verb=$1
shift
case $verb in
  signal) # SIGNAL NAME: every process whose title starts with NAME, or whose program is NAME
    pkill "-$1" -f "^$2|^[^ ]*/$2( |\$)" || [ "$1" = CONT ] || {
      echo "no process called $2 runs here" >&2
      exit 1
    } ;;
  drop) firewall -I "$@" ;;
  pass) firewall -D "$@" ;;
  fill) # every block, without writing it, then every byte that a smaller write could still take
    touch "$full"
    for size in 64G 4G 256M 16M 1M; do
      while fallocate -o "$(stat -c %s "$full")" -l "$size" "$full" 2>/dev/null; do :; done
    done
    cat /dev/zero >>"$full" 2>/dev/null || true ;;
  empty) rm -f "$full" ;;
  group)
    if [ "$1" = without ]; then gpasswd -d spark docker; else gpasswd -a spark docker; fi >/dev/null ;;
  sudo) # with or without a password, for every user that has a rule
    if [ "$1" = password ]; then tag=; else tag='NOPASSWD: '; fi
    sed -i "s/=(ALL).*/=(ALL) ${tag}ALL/" "$sudoers" ;;
  hostkey)
    if [ "$1" = own ]; then
      cp "$own" "$key"
      cp "$own.pub" "$key.pub"
    else
      rm -f "$key"
      ssh-keygen -q -t ed25519 -N '' -f "$key"
    fi
    chmod 600 "$key"
    kill -HUP "$(cat /run/sshd.pid)" ;;
esac
