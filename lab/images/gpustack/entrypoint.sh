#!/bin/sh
# Gives `gpustack start` what the vendor's image has around it: trust in mounted certificate authorities,
# an embedded PostgreSQL for a server, and the official port argument on the API itself, because this
# image holds no gateway. Only for TLS stands a simulated one before it.
set -eu

data=/var/lib/gpustack/postgresql/data
bin=/usr/lib/postgresql/15/bin

config=
role=server
port=80
previous=
for argument in "$@"; do
  case "$previous" in
    --config-file) config=$argument ;;
    --port) port=$argument ;;
  esac
  case "$argument" in
    --config-file=*) config=${argument#*=} ;;
    --port=*) port=${argument#*=} ;;
    --server-url | --server-url=*) role=worker ;;
  esac
  previous=$argument
done
if [ -n "$config" ] && grep -Eq '^[[:space:]"]*server_url"?:' "$config"; then role=worker; fi

# As the vendor's gpustack-prerun.sh does.
if ls /usr/local/share/ca-certificates/*.crt > /dev/null 2>&1; then update-ca-certificates; fi

if [ "$role" = worker ]; then
  exec gpustack start "$@"
fi

install -d -o postgres -g postgres -m 0700 "$data"
install -d -o postgres -g postgres /run/postgresql
if [ ! -s "$data/PG_VERSION" ]; then
  su postgres -c "$bin/initdb --no-locale --encoding UTF8 --auth-local trust -D $data" > /dev/null
fi
# Only this container uses the directory: a process file left by a killed one is stale.
rm -f "$data/postmaster.pid"
su postgres -c "$bin/pg_ctl -w -D $data -l $data/server.log -o '-p 5432 -k /run/postgresql -c listen_addresses=127.0.0.1' start" > /dev/null
if [ "$(psql -h /run/postgresql -U postgres -Atc "SELECT count(*) FROM pg_database WHERE datname = 'gpustack'")" = 0 ]; then
  createdb -h /run/postgresql -U postgres gpustack
fi

if [ -n "$config" ]; then simulated-tls-gateway "$config" "$port" & fi
gpustack start --gateway-mode disabled --api-port "$port" \
  --database-url "postgresql://postgres@127.0.0.1:5432/gpustack" "$@" &
child=$!
trap 'kill -TERM $child 2> /dev/null' TERM INT
wait "$child" && code=0 || code=$?
# The first wait ends at the signal; the second one when the server has really stopped.
wait "$child" 2> /dev/null || true
su postgres -c "$bin/pg_ctl -w -m fast -D $data stop" > /dev/null 2>&1 || code=$?
exit "$code"
