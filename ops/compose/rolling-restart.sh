#!/bin/sh
# Puts the version that is built now in the place of the running one, a replica at a time: taken out of nginx, made anew, and back
# once it is ready. Nothing is refused meanwhile.
set -eu
cd "$(dirname "$0")"
# Whatever ends this, nginx sends requests to both again.
trap 'rm -f drain/bankql-1 drain/bankql-2' EXIT

docker compose build bankql-1
for replica in bankql-1 bankql-2; do
  touch "drain/$replica"
  # nginx looks at each request; one that it is about to send is on its way by then.
  sleep 1
  docker compose up --detach --no-deps --force-recreate --wait "$replica"
  rm "drain/$replica"
done
