#!/bin/sh
# Run by the PostgreSQL image of compose.yaml when it makes its data folder: the service must not be a superuser.
set -eu
exec psql -v ON_ERROR_STOP=1 -v owner_password="$OWNER_PASSWORD" -v runtime_password="$RUNTIME_PASSWORD" \
  --username "$POSTGRES_USER" -f "${ROLES_FILE:-/roles.sql}" postgres
