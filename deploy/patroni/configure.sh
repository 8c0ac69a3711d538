#!/bin/sh
# Writes the settings of etcd and Patroni on one of three database servers, as root, in the folder of this file with passwords.env:
#   sh configure.sh <number of this server: 1, 2 or 3> <address of server 1> <of 2> <of 3>
set -eu
umask 027
number=$1
shift
count=0 own= others= peers= clients=
for address in "$@"; do
  count=$((count + 1))
  if [ "$count" = "$number" ]; then own=$address; else others="$others $address"; fi
  peers="$peers,db$count=http://$address:2380"
  clients="$clients,$address:2379"
done
[ "$count" = 3 ] && [ -n "$own" ] || { echo 'usage: sh configure.sh 1|2|3 address1 address2 address3' >&2; exit 1; }

# Patroni uses version 2 of etcd: with version 3, Patroni 3.0 lets a leader that was frozen take its lock back from the next one.
cat > /etc/default/etcd <<SETTINGS
ETCD_NAME=db$number
ETCD_DATA_DIR=/var/lib/etcd/parley
ETCD_LISTEN_PEER_URLS=http://$own:2380
ETCD_LISTEN_CLIENT_URLS=http://$own:2379
ETCD_INITIAL_ADVERTISE_PEER_URLS=http://$own:2380
ETCD_ADVERTISE_CLIENT_URLS=http://$own:2379
ETCD_INITIAL_CLUSTER=${peers#,}
ETCD_INITIAL_CLUSTER_TOKEN=parley
ETCD_ENABLE_V2=true
SETTINGS

programs=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
version=$(basename "$(dirname "$programs")")
cat > /etc/patroni_env.conf <<SETTINGS
PATRONI_NAME=db$number
PATRONI_ETCD_HOSTS=${clients#,}
PATRONI_RESTAPI_LISTEN=$own:8008
PATRONI_RESTAPI_CONNECT_ADDRESS=$own:8008
PATRONI_POSTGRESQL_LISTEN=$own:5432
PATRONI_POSTGRESQL_CONNECT_ADDRESS=$own:5432
PATRONI_POSTGRESQL_BIN_DIR=$programs
PATRONI_POSTGRESQL_DATA_DIR=/var/lib/postgresql/$version/parley
OWN_ADDRESS=$own
OTHER_ADDRESSES='${others# }'
$(cat passwords.env)
SETTINGS
install -m 640 patroni.yml /etc/patroni/config.yml
install -m 750 fence.sh /etc/patroni/fence.sh
chgrp postgres /etc/patroni_env.conf /etc/patroni/config.yml /etc/patroni/fence.sh
