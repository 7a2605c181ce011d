/** PostgreSQL deletes nothing by itself, so the servers that share one delete expired Events. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { hasPostgres, startPostgres, type TestPostgres } from "../../../test/harness/postgres.ts"
import { Event } from "../../../pkg/api/core/v1/event/event.ts"
import { formatTime } from "../../../pkg/apimachinery/scalars/time.ts"
import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { silent } from "../../../pkg/log/log.ts"
import { parsePostgresUrl } from "../../../pkg/postgres/endpoint.ts"
import { PostgresLog } from "../../../pkg/storage/replicated/postgres/postgres-log.ts"
import type { ReplicatedStorage } from "../../../pkg/storage/replicated/replicated.ts"
import { openStore } from "../../../pkg/storage/replicated/shared-store.fixtures.ts"
import { startUpkeep } from "./upkeep.ts"
import { keepingOf, storageKey, storagePrefix } from "./view.ts"

const MINUTE = 60_000
const START = Date.parse("2026-01-01T00:00:00Z")
const PREFIX = storagePrefix(Event, undefined)
let postgres: TestPostgres
let clock: VirtualClock

/** A server's store, and the part of it that deletes what has expired. */
async function server(eventSeconds?: number) {
  const log = new PostgresLog({ endpoints: [parsePostgresUrl(postgres.endpoint)!], clock: realClock })
  const store = await openStore(log)
  const stop = startUpkeep({
    storage: store,
    clock,
    log: silent,
    resources: [Event],
    eventSeconds,
    historyMs: 60 * MINUTE,
  })
  return {
    store,
    put: (name: string, expected?: number) =>
      store.write({
        key: storageKey(Event, { namespace: "default", name }),
        object: {
          apiVersion: "v1",
          kind: "Event",
          metadata: {
            name,
            namespace: "default",
            creationTimestamp: formatTime(START),
            managedFields: [{ manager: "kubelet", operation: "Update", time: formatTime(clock.now()) }],
          },
        } as KubeObject,
        expected,
        time: clock.now(),
        author: "tester",
        ...keepingOf(Event, eventSeconds),
      }),
    [Symbol.dispose]() {
      stop()
      store.close()
    },
  }
}
const names = (store: ReplicatedStorage) => store.list(PREFIX).map(({ key }) => key.split("/").at(-1))
/** Resolves when a server has exactly these Events. */
async function has(store: ReplicatedStorage, ...wanted: readonly string[]): Promise<void> {
  while (names(store).join() !== wanted.join()) {
    await Bun.sleep(5)
    await store.freshen()
  }
}
/** Lets the minutes go by until a server has no Event. A search may begin again a minute after the one before. */
async function becomesEmpty(store: ReplicatedStorage): Promise<void> {
  while (names(store).length > 0) {
    await clock.advance(MINUTE)
    await Bun.sleep(5)
    await store.freshen()
  }
}
const inDatabase = (condition: string) =>
  postgres.sql(`SELECT count(*) FROM k3ts.revisions WHERE key LIKE '${PREFIX}%' AND ${condition}`).trim()

describe.skipIf(!hasPostgres)("Events in a PostgreSQL", () => {
  beforeAll(async () => void (postgres = await startPostgres()), 30_000)
  afterAll(() => postgres?.[Symbol.asyncDispose]())
  beforeEach(() => void (clock = new VirtualClock(START)))

  test("are deleted an hour after they were last seen, also by a server that did not write them", async () => {
    // given two servers, and an Event that is seen again
    const writer = await server()
    const first = await writer.put("again")
    await writer.put("once")
    await clock.advance(5 * MINUTE)
    await writer.put("again", first.revision)
    // when the server that wrote them has gone
    writer[Symbol.dispose]()
    using other = await server()
    expect(names(other.store)).toEqual(["again", "once"])
    await clock.advance(54 * MINUTE)
    expect(names(other.store)).toEqual(["again", "once"])
    // then each goes in its time
    await clock.advance(2 * MINUTE)
    await has(other.store, "again")
    await clock.advance(5 * MINUTE)
    await becomesEmpty(other.store)
    expect(inDatabase("live")).toBe("0")
  })

  test("are deleted once where several servers try at the same time", async () => {
    const servers = [await server(600), await server(600), await server(600)]
    for (let i = 0; i < 300; i++) await servers[i % 3]!.put(`e${i}`)
    await Promise.all(servers.map(({ store }) => store.freshen()))
    // when the time of all has ended at each server
    await clock.advance(11 * MINUTE)
    for (const { store } of servers) await becomesEmpty(store)
    // then each Event has one revision of its writing and one of its deletion
    expect(inDatabase("key LIKE '%/default/e%'")).toBe("600")
    expect(inDatabase("live")).toBe("0")
    for (const each of servers) each[Symbol.dispose]()
  })

  test("are kept for ever where their time is zero", async () => {
    using one = await server(0)
    await one.put("kept")
    await clock.advance(30 * 24 * 60 * MINUTE)
    await one.store.freshen()
    expect(names(one.store)).toEqual(["kept"])
    expect(inDatabase("live")).toBe("1")
  })
})
