/** The history of a server whose store is shared: in a file of its own, beside every kind of log. */
import { afterAll, afterEach, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { hasEtcd, startEtcd, type TestEtcd } from "../../../../test/harness/etcd.ts"
import { hasPostgres, startPostgres, type TestPostgres } from "../../../../test/harness/postgres.ts"
import type { KubeObject } from "../../../apimachinery/resource.ts"
import { realClock } from "../../../clock/real.ts"
import { parsePostgresUrl } from "../../../postgres/endpoint.ts"
import type { Storage } from "../../storage.ts"
import { EtcdLog } from "../etcd/etcd-log.ts"
import { MemoryLog } from "../memory-log.fixtures.ts"
import { PostgresLog } from "../postgres/postgres-log.ts"
import { ReplicatedStorage } from "../replicated.ts"
import type { SharedLog } from "../shared-log.ts"
import { put } from "../shared-store.fixtures.ts"

let etcd: TestEtcd | undefined
let postgres: TestPostgres | undefined
afterAll(async () => {
  await etcd?.[Symbol.asyncDispose]()
  await postgres?.[Symbol.asyncDispose]()
})

const memory = new MemoryLog()
const logs: Record<string, () => Promise<SharedLog>> = {
  memory: () => Promise.resolve(memory.connect()),
  ...(hasEtcd && {
    async etcd() {
      etcd ??= await startEtcd()
      return new EtcdLog({ endpoints: [etcd.endpoint], clock: realClock })
    },
  }),
  ...(hasPostgres && {
    async PostgreSQL() {
      postgres ??= await startPostgres()
      return new PostgresLog({ endpoints: [parsePostgresUrl(postgres.endpoint)!], clock: realClock })
    },
  }),
}

const folder = mkdtempSync(join(tmpdir(), "k3ts-history-"))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0
const newFile = () => join(folder, `${++files}.db`)

const stores: ReplicatedStorage[] = []
afterEach(() => {
  for (const store of stores.splice(0)) store.close()
})

const PREFIX = "/registry/core/things/"

describe.each(Object.keys(logs))("the history of a server over %s", (kind) => {
  async function open(file = newFile(), limits: { maxBytes?: number } = {}) {
    const failures: unknown[] = []
    const store = await ReplicatedStorage.open({
      clock: realClock,
      log: await logs[kind]!(),
      parse: (_, json) => JSON.parse(json) as KubeObject,
      history: {
        file,
        maxBytes: limits.maxBytes ?? 2 ** 30,
        maxAgeMs: 86_400_000,
        isTransient: (key) => key.includes("/leases/"),
        failed: (err) => failures.push(err),
      },
    })
    stores.push(store)
    return { store, file, failures }
  }
  const close = (store: ReplicatedStorage) => {
    stores.splice(stores.indexOf(store), 1)
    store.close()
  }

  /** Drops everything from memory and from the log, as the upkeep does after ten minutes. */
  const forget = (store: Storage) => store.compact(store.revision)

  const dataOf = (object: KubeObject | undefined) => (object as { readonly data?: unknown } | undefined)?.data

  const changes = (store: Storage, after: number, prefix: string) =>
    store
      .between(after, store.revision, { prefix })
      .map(({ type, author, stored, previous }) => [type, author, dataOf(previous?.object), dataOf(stored.object)])

  test("has what was written, by whom, and the state before it, when the log has it no more", async () => {
    // given an object that was there before the history, and one that is made, changed and deleted
    const key = `${PREFIX}${kind}-a/`
    const { store: before } = await open()
    await put(before, `${key}old`, 0)
    close(before)
    const { store } = await open()
    const begin = store.revision
    await put(store, `${key}old`, 1)
    await put(store, `${key}new`, 1)
    await put(store, `${key}new`, 2)
    await store.write({ key: `${key}new`, object: null, expected: undefined, time: 1, author: "cleaner" })
    // when
    forget(store)
    // then
    expect(store.compactedRevision).toBe(store.revision)
    expect(store.historyBegins).toBeLessThanOrEqual(begin)
    expect(changes(store, begin, key)).toEqual([
      ["update", "tester", 0, 1],
      ["create", "tester", undefined, 1],
      ["update", "tester", 1, 2],
      ["delete", "cleaner", 2, 2],
    ])
    expect(store.between(begin, store.revision, { author: "cleaner" })).toHaveLength(1)
  })

  test("goes on over a restart, with what other servers have written meanwhile", async () => {
    // given two servers, of which one ends
    const key = `${PREFIX}${kind}-b/`
    const { store: other } = await open()
    const { store: first, file } = await open()
    await put(other, `${key}old`, 0)
    await first.freshen()
    const begin = first.revision
    await put(first, `${key}a`, 1)
    close(first)
    // when the other one changes what the first has seen, and what it has not, and the first is there again
    await put(other, `${key}a`, 2)
    await put(other, `${key}old`, 1)
    await put(other, `${key}b`, 1)
    const { store } = await open(file)
    await put(store, `${key}a`, 3)
    forget(store)
    // and once more, while nothing was changed
    close(store)
    const { store: again } = await open(file)
    // then its history has no hole
    expect(again.compactedRevision).toBeGreaterThan(begin)
    expect(changes(again, begin, key).map(([type, , from, to]) => [type, from, to])).toEqual([
      ["create", undefined, 1],
      ["update", 1, 2],
      ["update", 0, 1],
      ["create", undefined, 1],
      ["update", 2, 3],
    ])
  })

  test("begins anew where the log has forgotten what was written while the server was away", async () => {
    const key = `${PREFIX}${kind}-c/`
    const { store: other } = await open()
    const { store: first, file } = await open()
    await put(first, `${key}a`, 1)
    const begin = first.revision
    close(first)
    // given that more was written and compacted meanwhile
    await put(other, `${key}a`, 2)
    await put(other, `${key}a`, 3)
    const log = await logs[kind]!()
    // A server that finds that another one has compacted since its last attempt does nothing.
    for (let attempt = 0; attempt < 2; attempt++) await log.compact(other.revision)
    log.close()
    // when
    const { store } = await open(file)
    // then nothing is told of what is not known
    expect(store.historyBegins).toBeGreaterThan(begin)
  })
})

describe("the file of a history", () => {
  const open = (file: string, maxBytes = 2 ** 30, failures: unknown[] = []) =>
    ReplicatedStorage.open({
      clock: realClock,
      log: new MemoryLog().connect(),
      parse: (_, json) => JSON.parse(json) as KubeObject,
      history: {
        file,
        maxBytes,
        maxAgeMs: 86_400_000,
        isTransient: (key) => key.includes("/leases/"),
        failed: (err) => failures.push(err),
      },
    }).then((store) => (stores.push(store), store))

  test("has only the newest state of a Lease, and stays below its size", async () => {
    // given a small history, a Lease that is renewed, and an object that changes often
    const store = await open(newFile(), 100_000)
    for (let i = 0; i < 50; i++) await put(store, "/registry/coordination.k8s.io/leases/a", i)
    store.compact(store.revision)
    expect(store.between(0, store.revision, { prefix: "/registry/coordination.k8s.io/" })).toHaveLength(1)
    // when more is written than it may have
    for (let i = 0; i < 400; i++) await put(store, `${PREFIX}big`, `${i} ${"x".repeat(500)}`)
    store.compact(store.revision)
    expect(store.between(store.historyBegins, store.revision).length).toBeGreaterThan(0)
    while (store.historyBegins < 100) await Bun.sleep(5)
    // then it begins later, and has all since then
    const events = store.between(store.historyBegins, store.revision)
    expect(events.at(-1)?.revision).toBe(store.revision)
    expect(events.length).toBe(store.revision - store.historyBegins)
  })

  test("tells of a Lease that was deleted, and how it was last", async () => {
    // given
    const store = await open(newFile())
    const key = "/registry/coordination.k8s.io/leases/a"
    await put(store, key, 1)
    await put(store, key, 2)
    // when
    await store.write({ key, object: null, expected: undefined, time: 1, author: "cleaner" })
    store.compact(store.revision)
    // then
    const event = store.between(store.historyBegins, store.revision).at(-1)
    expect(event).toMatchObject({ type: "delete", key, author: "cleaner" })
    expect(event?.stored.object).toMatchObject({ data: 2, metadata: { resourceVersion: String(store.revision) } })
  })

  test("that is damaged is replaced, and reported", async () => {
    const file = newFile()
    writeFileSync(file, "x".repeat(10_000))
    const failures: unknown[] = []
    const store = await open(file, 2 ** 30, failures)
    await put(store, `${PREFIX}a`, 1)
    store.compact(store.revision)
    expect(failures).toHaveLength(1)
    expect(store.between(store.historyBegins, store.revision)).toHaveLength(1)
  })
})
