import { describe, expect, test } from "bun:test"
import { realClock } from "../../../pkg/clock/real.ts"
import { MemoryStorage } from "../../../pkg/storage/memory.ts"
import { boundMemory } from "./bounded-memory.ts"

describe("a store of bounded memory", () => {
  const MANY = 10_000
  const writes = Array.from({ length: MANY }, (_, i) => ({
    key: `/registry/core/configmaps/default/c-${i}`,
    object: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: `c-${i}`, namespace: "default" } },
    expected: undefined,
    time: 0,
    author: "tester",
  }))

  test("keeps a whole commit, however large, until all who follow it were told", async () => {
    const storage = new MemoryStorage({ clock: realClock })
    boundMemory(storage, () => true)
    const told: { readonly first: number; readonly compacted: number }[] = []
    storage.subscribe(([event]) => told.push({ first: event!.revision, compacted: storage.compactedRevision }))
    await storage.writeAll(writes)
    expect(told).toHaveLength(1)
    expect(told[0]!.compacted).toBeLessThan(told[0]!.first)
  })

  test("drops earlier revisions with the commits that follow", async () => {
    const storage = new MemoryStorage({ clock: realClock })
    boundMemory(storage, () => true)
    for (const write of writes) await storage.write(write)
    expect(storage.revision - storage.compactedRevision).toBeLessThan(MANY)
  })

  test("drops revisions and collects garbage only once the cluster has started", async () => {
    // given a cluster that starts, and makes many objects that stay
    const storage = new MemoryStorage({ clock: realClock })
    let hasStarted = false
    let collections = 0
    boundMemory(
      storage,
      () => hasStarted,
      () => collections++,
    )
    for (const write of writes) await storage.write(write)
    expect(collections).toBe(0)
    expect(storage.compactedRevision).toBe(0)
    // when it has started, and goes on
    hasStarted = true
    for (const write of writes) await storage.write(write)
    // then
    expect(collections).toBeGreaterThanOrEqual(5)
    expect(storage.revision - storage.compactedRevision).toBeLessThan(MANY)
  })
})
