import { afterAll, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import { seededRandom } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { MemoryStorage } from "../../../pkg/storage/memory.ts"
import { SqliteStorage } from "../../../pkg/storage/sqlite/sqlite.ts"
import type { Storage, Write } from "../../../pkg/storage/storage.ts"
import { stateAt } from "./rewind.ts"

const root = mkdtempSync(join(tmpdir(), "k3ts-rewind-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))

test("one turn of the event loop reads a few writes, however many there are", async () => {
  // given a store with many writes
  const store = new MemoryStorage({ clock: realClock, frozen: false })
  const states = await writeAtRandom(store, 1, 3000)
  const reads: number[] = []
  const counting = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== "function") return value
      return (...args: readonly unknown[]) => {
        const found: unknown = Reflect.apply(value, target, args)
        if (name === "between") reads.push((found as readonly unknown[]).length)
        return found
      }
    },
  })
  // when the state before them is asked for
  const found = await stateAt(counting, { prefix: "/registry/" }, 10, realClock)
  // then it is right, and no turn has read more than 3 MB of it, if each state had 16 KiB
  expect(found).toHaveLength(states[10]!.size)
  expect(Math.max(...reads)).toBeLessThanOrEqual(100)
})

type State = ReadonlyMap<string, string>

/** Writes at random, and returns what a watcher had seen at each revision. */
async function writeAtRandom(store: Storage, seed: number, count: number): Promise<readonly State[]> {
  const random = seededRandom(seed)
  const states: State[] = [new Map()]
  store.subscribe((events) => {
    for (const { type, key, stored } of events) {
      const next = new Map(states.at(-1))
      if (type === "delete") next.delete(key)
      else next.set(key, JSON.stringify(stored.object))
      states.push(next)
    }
  })
  const pick = (most: number) => Math.floor(random.next() * most)
  for (let i = 0; i < count; i++) {
    const key = `/registry/core/${["configmaps", "secrets"][pick(2)]!}/default/${pick(8)}`
    const isDeletion = pick(4) === 0 && store.get(key) !== undefined
    const object = isDeletion ? null : ({ apiVersion: "v1", kind: "Thing", metadata: {}, data: { i } } as KubeObject)
    const write: Write = { key, object, expected: undefined, time: 1000, author: "tester" }
    await store.write(write)
  }
  return states
}

/** What there was at a revision. */
async function seenAt(store: Storage, prefix: string, revision: number): Promise<State> {
  const found = await stateAt(store, { prefix }, revision, realClock)
  return new Map(found.map(({ key, object }) => [key, JSON.stringify(object)]))
}

const below = (state: State, prefix: string): State =>
  new Map([...state].filter(([key]) => key.startsWith(prefix)).sort(([a], [b]) => (a < b ? -1 : 1)))

async function compare(store: Storage, states: readonly State[], from: number): Promise<void> {
  for (const prefix of ["/registry/core/configmaps/", "/registry/"])
    for (let revision = from; revision < states.length; revision += 7)
      expect([...(await seenAt(store, prefix, revision))]).toEqual([...below(states[revision]!, prefix)])
}

test("the state at every revision is what a watcher had seen, in memory", async () => {
  const store = new MemoryStorage({ clock: realClock, frozen: true })
  const states = await writeAtRandom(store, 1, 300)
  await compare(store, states, 0)
})

test("the state at every revision is what a watcher had seen, on disk and after a new start", async () => {
  // given a store whose recent events are on disk alone, since it was opened anew, and a part of which is compacted
  const file = join(root, "store.db")
  const first = new SqliteStorage({ clock: realClock, frozen: true, file })
  const states = await writeAtRandom(first, 2, 120)
  first.close()
  const store = new SqliteStorage({ clock: realClock, frozen: true, file })
  store.compact(50)
  // then the rest is there, and what comes before is refused
  await compare(store, states, 50)
  await expect(stateAt(store, { prefix: "/registry/" }, 49, realClock)).rejects.toThrow("have been compacted")
  store.close()
})

test("writes that come while a state is read do not change it", async () => {
  // given more revisions than one turn reads
  const store = new MemoryStorage({ clock: realClock, frozen: true })
  const states = await writeAtRandom(store, 3, 2500)
  // when objects are written between the turns
  const reading = seenAt(store, "/registry/", 100)
  await Promise.all([1, 2, 3].map((seed) => writeAtRandom(store, seed, 20)))
  // then the state is that of the revision
  expect([...(await reading)]).toEqual([...below(states[100]!, "/registry/")])
})

test("one object is found as it was, also when it was deleted and made again", async () => {
  const store = new MemoryStorage({ clock: realClock, frozen: true })
  const states = await writeAtRandom(store, 4, 200)
  const key = "/registry/core/secrets/default/3"
  for (const [revision, state] of states.entries()) {
    const [found] = await stateAt(store, { key }, revision, realClock)
    expect(found === undefined ? undefined : JSON.stringify(found.object)).toBe(state.get(key))
  }
})
