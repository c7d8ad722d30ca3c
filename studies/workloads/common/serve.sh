#!/bin/sh
# serve.sh SITE CLIENT...: Apache httpd with SITE/httpd.conf, or the nginx that SERVER names with SITE/nginx.conf, in this
# very process, while `CLIENT... ADDRESS` asks it something and prints what it was told; then the server ends. A client
# that fails, or takes more than five minutes, has it ended by SIGKILL.
set -eu
# Of its own, so that no two servers meet: no other process has this number. Port 8070 is nobody's there.
address=127.$((64 + $$ / 65536 % 64)).$(($$ / 256 % 256)).$(($$ % 256))
# As root the server serves as an unprivileged user, who may enter no home.
site=$(mktemp -d "${TMPDIR:-/tmp}/reap-httpd.XXXXXX")
trap 'rm -rf "$site"' EXIT
cp -R "$1/." "$site"
chmod -R a+rX "$site"
shift
(
    set +e
    if env -i PATH="$PATH" LC_ALL=C timeout 300 "$@" "$address:8070" </dev/null; then
        rm -rf "$site" # first: who waits for the server may end us when it has ended
        kill -TERM $$
    else
        kill -KILL $$ 2>/dev/null # it may have ended by itself, or be starting: then it still writes there
        rm -rf "$site" || { sleep 1; rm -rf "$site"; }
    fi
) &
trap - EXIT
if [ -f "$site/nginx.conf" ]; then
    sed -i "s/ADDRESS/$address:8070/" "$site/nginx.conf"
    exec "$SERVER" -e error.log -p "$site" -c nginx.conf
fi
exec apache2 -X -f "$site/httpd.conf" -C "ServerRoot $site" -C "Listen $address:8070"
