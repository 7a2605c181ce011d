#!/usr/bin/env bash
# `npm run test:long`: the tests that `npm test` repeats only a few times (seeds, kills, flipped bits, sizes, families of
# addresses), with many. Run before a release.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

export K3TS_HUNT_SEEDS=1000 K3TS_KILLS=500 K3TS_FLIPS=1000 K3TS_FUZZ_ROUNDS=5000 K3TS_MANY_OBJECTS=20000
export K3TS_WHY_SEEDS=200 K3TS_WHY_MENDS=1 K3TS_UNDO_SEEDS=500 K3TS_FUZZ_KIND_ROUNDS=100
export K3TS_PACKETS=all K3TS_STREAMS=all K3TS_MOUNT_STEPS=all
exec bash hack/test.sh --patience=10 test/hunt test/crash test/fuzz test/bad-days pkg/storage/sqlite \
  test/why/hunt.test.ts test/kubectl/undo-at-random.test.ts \
  components/kube-proxy components/network-policy test/e2e/streams test/e2e/node/mount-steps.test.ts
