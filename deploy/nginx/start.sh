#!/bin/sh
# Starts nginx in the foreground on a copy of this folder, into which it writes what nginx cannot find out: the name
# servers of /etc/resolv.conf, in a pod the domain of its namespace, and whether there is IPv6.
set -eu
shipped=${0%/*}
# The defaults are the image's; tests set their own.
prefix=${EDGE_PREFIX:-/tmp} resolv=${EDGE_RESOLV_CONF:-/etc/resolv.conf} modules=${NGINX_MODULES:-/usr/lib/nginx/modules}

rm -rf "$prefix/conf"
cp -RL "$shipped" "$prefix/conf"
# Kubernetes mounts single files of site/ here, those that differ from the image's.
[ ! -d "$shipped/overlay" ] || cp -L "$shipped"/overlay/* "$prefix/conf/site/"
ln -sfn "$modules" "$prefix/modules"
# nginx doesn't know the addresses of one network interface (fe80::1%eth0).
awk '$1 == "nameserver" && $2 !~ /%/ { servers = servers " " ($2 ~ /:.*:/ ? "[" $2 "]" : $2) }
  END { print "resolver" servers " valid=2s; resolver_timeout 2s;" }' "$resolv" >"$prefix/conf/resolver.conf"
for other in ipv4 ipv6; do
  sed "s/valid=2s/& $other=off/" "$prefix/conf/resolver.conf" >"$prefix/conf/without-$other.conf"
done
# A host may search in a domain of such a name, too.
domain=${KUBERNETES_SERVICE_HOST:+$(awk '$1 == "search" { print "." $2; exit }' "$resolv")}
sed -i "s/api:3000/${API:-api$domain:3000}/" "$prefix/conf/site/upstream.conf" "$prefix/conf/nginx.conf"
# Seconds that a document stays fresh, by the second of the minute; an overdue one for as long as the API says.
awk 'BEGIN { for (s = 0; s < 60; s++) printf "%02d %d; old%02d %d;\n", s, 63 - s, s, s < 3 ? 3 - s : s < 13 ? 1 : 5 }' \
  >"$prefix/conf/max-age.conf"
[ -f /proc/net/if_inet6 ] || sed -i '/listen \[/d' "$prefix"/conf/site/*.conf

# A container that was killed leaves its sockets.
rm -f "$prefix"/*.sock
cd "$prefix"
# Arguments are more directives for the top level.
exec nginx -p "$prefix" -c "$prefix/conf/nginx.conf" -g "daemon off; $*"
