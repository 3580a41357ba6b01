#!/bin/sh
# Probes of the network and its RDMA devices.
# shellcheck disable=SC2154  # what facts.sh sets

network() {
    run ip-addr ip -j addr
    run routes ip -j route show default
    run ibdev2netdev ibdev2netdev
    tree net /sys/class/net '*/operstate */carrier */mtu */speed */address */phys_port_name */device/vendor'
    if begin infiniband; then
        if cd "$root/sys/class/infiniband" 2>/dev/null; then
            text=''
            for path in */device/net/*; do
                [ ! -e "$path" ] || text=$text$path:$nl
            done
            body=$(
                ask grep -Hs '' ./*/ports/1/state ./*/ports/1/phys_state ./*/ports/1/rate ./*/ports/1/link_layer ./*/fw_ver \
                    ./*/ports/1/gids/[0-9] ./*/ports/1/gids/1[0-5] ./*/ports/1/gid_attrs/types/[0-9] \
                    ./*/ports/1/gid_attrs/types/1[0-5] ./*/ports/1/gid_attrs/ndevs/[0-9] ./*/ports/1/gid_attrs/ndevs/1[0-5]
            )
            code=$?
            [ $code -gt 2 ] || code=0
            body=$text$body
        else
            body='/sys/class/infiniband: not found' code=1
        fi
        cd / || exit
        end $code "$body"
    fi
    if begin dev-infiniband; then
        text=''
        for path in "$root"/dev/infiniband/*; do
            [ ! -e "$path" ] || text=$text${path##*/}$nl
        done
        end 0 "${text%"$nl"}"
    fi
    tree sysctl /proc/sys 'net/ipv4/conf/all/arp_ignore net/ipv4/conf/all/arp_announce net/ipv4/conf/all/rp_filter
        net/ipv4/conf/en*/arp_ignore net/ipv4/conf/en*/arp_announce net/ipv4/conf/en*/rp_filter
        vm/swappiness vm/min_free_kbytes vm/watermark_boost_factor vm/overcommit_memory'
    if begin listeners; then
        privileged ss -ltnpH
        end "$code" "$body"
    fi
    if begin firewall; then
        slurp "$root/etc/ufw/ufw.conf" || body=''
        text=$body
        code=0
        if [ -n "$sudo$escalated" ]; then
            privileged iptables -S
            text=$text$nl$(printf '%s\n' "$body" | grep -E '^-[PA] (INPUT|ufw-(before|user)-input) ' | head -n 60)
        fi
        end "$code" "$text"
    fi
    run nm nmcli -t -f NAME,TYPE,AUTOCONNECT,DEVICE connection show
}
