import { afterAll, describe, expect, test } from "bun:test"
import { hasEtcd, startEtcd, type TestEtcd } from "../../../test/harness/etcd.ts"
import { hasPostgres, startPostgres, type TestPostgres } from "../../../test/harness/postgres.ts"
import { realClock } from "../../clock/real.ts"
import { EtcdLog } from "./etcd/etcd-log.ts"
import { MemoryLog } from "./memory-log.fixtures.ts"
import { parsePostgresUrl } from "../../postgres/endpoint.ts"
import { PostgresLog } from "./postgres/postgres-log.ts"
import type { SharedChange, SharedEntry, SharedLog, SharedLogError, SharedWrite } from "./shared-log.ts"

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

const bytes = (text: string) => new TextEncoder().encode(text)
const text = (value: Uint8Array | undefined) => (value === undefined ? undefined : new TextDecoder().decode(value))
const put = (key: string, value: string, expected = 0): SharedWrite => ({ key, value: bytes(value), expected })
const remove = (key: string, expected: number): SharedWrite => ({ key, value: undefined, expected })

/** Collects the changes and the end of a watch. */
function follow(log: SharedLog, after: number) {
  const changes: SharedChange[] = []
  const waiting: { revision: number; resolve: () => void }[] = []
  const end = Promise.withResolvers<SharedLogError>()
  let reached = after
  const watch = log.watch(after, {
    advanced(more, revision) {
      changes.push(...more)
      reached = revision
      for (const each of waiting) if (each.revision <= revision) each.resolve()
    },
    ended: end.resolve,
  })
  return {
    ended: end.promise,
    close: () => watch.close(),
    async upTo(revision: number) {
      if (reached < revision) await new Promise<void>((resolve) => waiting.push({ revision, resolve }))
      return changes
    },
  }
}

async function readAll(log: SharedLog): Promise<{ revision: number; entries: SharedEntry[] }> {
  const entries: SharedEntry[] = []
  const revision = await log.read((page) => entries.push(...page))
  return { revision, entries }
}

describe.each(Object.keys(logs))("a shared log in %s", (kind) => {
  const open = logs[kind]!

  test("sends a watch every change with the revision that its writer and a reader get", async () => {
    // given two connections
    const [one, two] = [await open(), await open()]
    const { revision: start } = await readAll(one)
    const told = follow(two, start)
    // when commits of one and of several writes are made, many at once
    const first = (await one.commit([put("/registry/a/x/1", '{"a":1}')]))!
    const commits = await Promise.all(
      Array.from({ length: 150 }, (_, i) =>
        one.commit(
          i % 10 === 0
            ? [
                put(`/registry/a/x/m${i}`, `{"i":${i}}`),
                put(`/registry/b/y/m${i}`, "sealed \t\n"),
                put("/registry/c", "{}"),
              ]
            : [put(`/registry/a/x/n${i}`, `{"i":${i}}`)],
        ),
      ),
    )
    const deleted = (await one.commit([remove("/registry/a/x/1", first[0]!), put("/registry/a/x/2", '{"a":2}')]))!
    // then exactly one of those that create /registry/c has succeeded, and no revision is used twice
    expect(commits.filter((revisions, i) => i % 10 === 0 && revisions !== undefined).length).toBe(1)
    const written = [first, ...commits.flatMap((revisions) => (revisions === undefined ? [] : [revisions])), deleted]
    const changes = await told.upTo(deleted[1]!)
    expect(changes.map(({ revision }) => revision)).toEqual(written.flat().toSorted((a, b) => a - b))
    expect(changes.map(({ revision }) => revision)).toEqual([...new Set(changes.map(({ revision }) => revision))])
    expect(changes.at(-2)).toEqual({ key: "/registry/a/x/1", revision: deleted[0]!, value: undefined })
    // and a reader finds the same entries
    const { entries, revision } = await readAll(one)
    expect(revision).toBeGreaterThanOrEqual(deleted[1]!)
    const live = new Map(changes.flatMap((change) => (change.value === undefined ? [] : [[change.key, change]])))
    live.delete("/registry/a/x/1")
    expect(entries.map(({ key, value, revision }) => [key, text(value), revision])).toEqual(
      [...live.values()]
        .sort((a, b) => (a.key < b.key ? -1 : 1))
        .map(({ key, value, revision }) => [key, text(value), revision]),
    )
    expect(text(live.get(entries.find(({ key }) => key.startsWith("/registry/b"))!.key)!.value)).toBe("sealed \t\n")
    one.close()
    two.close()
  })

  test("refuses a whole commit if one key has another revision", async () => {
    const log = await open()
    const [revision] = (await log.commit([put("/registry/r/1", "{}")]))!
    expect(await log.commit([put("/registry/r/2", "{}"), put("/registry/r/1", "{}")])).toBeUndefined()
    expect(
      await log.commit([put("/registry/r/2", "{}"), remove("/registry/r/1", revision! + 1_000_000)]),
    ).toBeUndefined()
    const { entries } = await readAll(log)
    expect(entries.filter(({ key }) => key.startsWith("/registry/r/")).map(({ key }) => key)).toEqual(["/registry/r/1"])
    log.close()
  })

  test("resumes a watch after any revision that a watch has reached", async () => {
    const log = await open()
    const { revision: start } = await readAll(log)
    const revisions: number[] = []
    for (let i = 0; i < 5; i++) revisions.push(...(await log.commit([put(`/registry/w/${i}`, "{}")]))!)
    await follow(log, start).upTo(revisions[4]!)
    const late = follow(log, revisions[1]!)
    expect((await late.upTo(revisions[4]!)).map(({ key }) => key)).toEqual([
      "/registry/w/2",
      "/registry/w/3",
      "/registry/w/4",
    ])
    log.close()
  })

  test("returns its newest revision, and a watch reaches that", async () => {
    const [one, two] = [await open(), await open()]
    const { revision: start } = await readAll(two)
    const told = follow(two, start)
    const [revision] = (await one.commit([put("/registry/l/1", "{}")]))!
    const latest = await two.latest()
    expect(latest).toBeGreaterThanOrEqual(revision!)
    expect((await told.upTo(latest)).map(({ key }) => key)).toEqual(["/registry/l/1"])
    one.close()
    two.close()
  })

  test("ends a watch whose changes have been compacted", async () => {
    const log = await open()
    const { revision: start } = await readAll(log)
    const revisions: number[] = []
    for (let i = 0; i < 3; i++) revisions.push(...(await log.commit([put(`/registry/z/${i}`, "{}")]))!)
    // One of several servers compacts. A server that has not noticed the last compaction only reads the count at first.
    await log.compact(revisions[2]!)
    await log.compact(revisions[2]!)
    expect((await follow(log, start).ended).code).toBe("compacted")
    log.close()
  })
})
