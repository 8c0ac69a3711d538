#!/bin/sh
# Patroni calls this on the server that has become the leader: <action> <role> <cluster>.
#
# A lost leader may come back without its Patroni: killed alone, or thawed later than its PostgreSQL. Nothing then stops that
# PostgreSQL, and clients that still reach it would read old data. This ends it: until each other server is a standby, one
# that takes writes on an earlier timeline is shut down at once. Its Patroni, if there is one, starts it again as a standby.
set -eu
case $2 in master | primary) ;; *) exit 0 ;; esac
. /etc/patroni_env.conf
export PGPASSWORD="$PATRONI_SUPERUSER_PASSWORD" PGCONNECT_TIMEOUT=2 PGUSER=postgres PGDATABASE=postgres

ask() { psql --no-psqlrc --quiet --tuples-only --no-align --host="$1" --command="$2"; }
TIMELINE="select ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int"

# The promotion may not have ended yet.
until own=$(ask "$OWN_ADDRESS" "$TIMELINE" 2>/dev/null); do sleep 1; done
waiting=$OTHER_ADDRESSES
while [ -n "$waiting" ] && [ "$(ask "$OWN_ADDRESS" 'select pg_is_in_recovery()' || true)" != t ]; do
  still=
  for address in $waiting; do
    case $(ask "$address" 'select pg_is_in_recovery()' 2>&1) in
      t) ;;
      f)
        echo "fence: $address takes writes"
        ask "$address" "do \$\$ begin
          if ($TIMELINE) < $own then
            raise warning 'shutting down: a server with timeline $own leads';
            copy (select) to program 'kill -QUIT \$(head -n 1 postmaster.pid)';
          end if;
        end \$\$" || true
        still="$still $address"
        ;;
      *) still="$still $address" ;;
    esac
  done
  waiting=$still
  sleep 1
done
