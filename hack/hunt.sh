#!/usr/bin/env bash
# `npm run hunt -- --seeds 1000 --from 1 --jobs 2`: random work and random faults in clusters in memory;
# test/hunt/main.ts says more. `npm run hunt -- --server --seeds 20`: the same on real servers; test/hunt/server/main.ts
# says more. `npm run hunt -- --consistency --seeds 1000`: what clients of several servers are told;
# test/hunt/consistency/main.ts says more. `--twins`: a StatefulSet under faults; test/hunt/twins/main.ts. `--machines`:
# three servers and two agents on machines made of namespaces; test/hunt/machines/main.ts.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

hack/setup.sh --npm-only
case " $* " in
  *" --server "*)
    hack/build.sh
    exec "$bun" test/hunt/server/main.ts "$@"
    ;;
  *" --consistency --etcd "*)
    hack/build.sh
    exec "$bun" test/hunt/consistency/main.ts "$@"
    ;;
  *" --machines "*)
    hack/build.sh
    exec "$bun" test/hunt/machines/main.ts
    ;;
  *" --twins "*) exec "$bun" test/hunt/twins/main.ts "$@" ;;
  *" --consistency "*) exec "$bun" test/hunt/consistency/main.ts "$@" ;;
esac
exec "$bun" test/hunt/main.ts "$@"
