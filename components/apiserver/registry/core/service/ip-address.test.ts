import { expect, test } from "bun:test"
import type { KubeObject } from "../../../../../pkg/apimachinery/resource.ts"
import { systemRandom } from "../../../../../pkg/clock/random.ts"
import { VirtualClock } from "../../../../../pkg/clock/virtual.ts"
import { silent } from "../../../../../pkg/log/log.ts"
import { MemoryStorage } from "../../../../../pkg/storage/memory.ts"
import type { Stored, Write } from "../../../../../pkg/storage/storage.ts"
import { keepAddresses } from "./ip-address.ts"

/** The most writes of one transaction, as with etcd's --max-txn-ops. */
const MOST_WRITES = 128

class LimitedStorage extends MemoryStorage {
  override writeAll(writes: readonly Write[]): Promise<readonly Stored[]> {
    if (writes.length > MOST_WRITES) return Promise.reject(new Error("etcdserver: too many operations in txn request"))
    return super.writeAll(writes)
  }
}

test("the IPAddresses of any number of Services are created at the start, in transactions of the size that the store allows", async () => {
  // given
  const clock = new VirtualClock(0)
  const store = new LimitedStorage({ clock })
  for (let i = 0; i < 3 * MOST_WRITES; i++) {
    const ip = `10.43.${i >> 8}.${i & 255}`
    const object = {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: `s${i}`, namespace: "default" },
      spec: { clusterIP: ip, clusterIPs: [ip] },
    } as KubeObject
    const key = `/registry/core/services/default/s${i}`
    const written = store.write({ key, object, expected: 0, time: 0, author: "test" })
    await clock.settle()
    await written
  }
  // when
  const stop = keepAddresses({ storage: store, clock, random: systemRandom, log: silent })
  for (let i = 0; i < 10; i++) await clock.settle()
  // then
  expect(store.list("/registry/networking.k8s.io/ipaddresses/")).toHaveLength(3 * MOST_WRITES)
  stop()
})
