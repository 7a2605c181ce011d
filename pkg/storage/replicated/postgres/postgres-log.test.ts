import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { hasPostgres, startPostgres, type TestPostgres } from "../../../../test/harness/postgres.ts"
import { realClock } from "../../../clock/real.ts"
import { parsePostgresUrl, splitPostgresUrls } from "../../../postgres/endpoint.ts"
import type { SharedLogError } from "../shared-log.ts"
import { codeOf, hasProblem, openStore, put } from "../shared-store.fixtures.ts"
import { PostgresCell } from "./postgres-cell.ts"
import { PostgresLog } from "./postgres-log.ts"

let postgres: TestPostgres

const openLog = (url = postgres.endpoint) =>
  new PostgresLog({ endpoints: splitPostgresUrls(url).map((one) => parsePostgresUrl(one)!), clock: realClock })
const open = (url?: string) => openStore(openLog(url))

describe.skipIf(!hasPostgres)("servers that share a PostgreSQL", () => {
  beforeAll(async () => void (postgres = await startPostgres()), 30_000)
  afterAll(() => postgres?.[Symbol.asyncDispose]())

  test("create the tables at the same time, and see what another server has written", async () => {
    const stores = await Promise.all([open(), open(), open()])
    for (let i = 0; i < 20; i++) {
      await put(stores[i % 3]!, `/registry/things/${i}`)
      const other = stores[(i + 1) % 3]!
      await other.freshen()
      expect(other.get(`/registry/things/${i}`)).toBeDefined()
    }
    for (const store of stores) store.close()
  })

  test("write objects that psql shows as JSON", async () => {
    const store = await open()
    await put(store, "/registry/shown/a", "a")
    const shown = postgres.sql(
      "SELECT convert_from(value, 'UTF8') FROM k3ts.revisions WHERE live AND key = '/registry/shown/a'",
    )
    expect(JSON.parse(shown)).toMatchObject({ data: "a", metadata: { name: "/registry/shown/a" } })
    store.close()
  })

  test("read existing objects of any size in pages, with the revisions that their writers got", async () => {
    const store = await open()
    const data = (i: number) => "x".repeat(i % 500 === 0 ? 1_500_000 : 1)
    const written = await Promise.all(
      Array.from({ length: 2300 }, (_, i) => put(store, `/registry/many/${i}`, data(i))),
    )
    const later = await open()
    const revisions = new Map(later.list("/registry/many/").map(({ key, revision }) => [key, revision]))
    expect(revisions).toEqual(new Map(written.map(({ key, revision }) => [key, revision])))
    store.close()
    later.close()
  })

  test("compact it once, however many of them try, and the log continues at the same revision", async () => {
    const [one, two] = [openLog(), openLog()]
    const store = await open()
    const { revision: first } = await put(store, "/registry/gone/1")
    await store.write({ key: "/registry/gone/1", object: null, expected: first, time: 1, author: "tester" })
    const revision = await one.latest()
    // The first attempt of each server only reads the count of compactions.
    await one.compact(1)
    await two.compact(1)
    const count = () => Number(postgres.sql("SELECT compactions FROM k3ts.state"))
    const before = count()
    await Promise.all([one.compact(revision), two.compact(revision)])
    expect(count()).toBe(before + 1)
    expect(postgres.sql(`SELECT count(*) FROM k3ts.revisions WHERE NOT live AND revision < ${revision}`).trim()).toBe(
      "0",
    )
    expect(await one.latest()).toBe(revision)
    for (const each of [one, two, store]) each.close()
  })

  test("share a value that a server can replace only if it knows the current one", async () => {
    const [one, two] = [1, 2].map(() => {
      const endpoints = [parsePostgresUrl(postgres.endpoint)!]
      return new PostgresCell({ endpoints, clock: realClock }, "/bootstrap/k3ts")
    })
    const bytes = (text: string) => Buffer.from(text)
    expect(await one!.read()).toBeUndefined()
    expect(await one!.write(bytes("x"), 7)).toBe(false)
    const firsts = await Promise.all([one!, two!].map((cell) => cell.write(bytes("a"), 0)))
    expect(firsts.filter(Boolean).length).toBe(1)
    const { value, revision } = (await two!.read())!
    expect(String(value)).toBe("a")
    expect(await one!.write(bytes("b"), revision)).toBe(true)
    expect(await two!.write(bytes("c"), revision)).toBe(false)
    expect(String((await two!.read())!.value)).toBe("b")
    one!.close()
    two!.close()
  })

  test("can tell whether a failed write did not happen or may have happened", async () => {
    const log = openLog()
    const commit = (key: string) =>
      log.commit([{ key, value: Buffer.from("{}"), expected: 0 }]).then(
        () => "ok",
        (err: unknown) => (err as SharedLogError).code,
      )
    expect(await commit("/registry/told/1")).toBe("ok")
    // PostgreSQL refuses the row; the connection stays usable for the next commit.
    postgres.sql("ALTER TABLE k3ts.revisions ADD CONSTRAINT small CHECK (key <> '/registry/told/2') NOT VALID")
    expect(await commit("/registry/told/2")).toBe("refused")
    expect(await commit("/registry/told/3")).toBe("ok")
    // The server process of the connection is killed during the commit.
    postgres.sql(
      "CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS " +
        "$$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(1); RETURN NEW; END $$;" +
        "CREATE TRIGGER die BEFORE INSERT ON k3ts.revisions " +
        "FOR EACH ROW WHEN (NEW.key = '/registry/told/4') EXECUTE FUNCTION die()",
    )
    expect(await commit("/registry/told/4")).toBe("unknown")
    expect(await commit("/registry/told/5")).toBe("ok")
    postgres.sql("DROP TRIGGER die ON k3ts.revisions; ALTER TABLE k3ts.revisions DROP CONSTRAINT small")
    log.close()
  })

  test("answer reads from memory and refuse writes while it is dead, and continue when it is back", async () => {
    const store = await open()
    const { revision } = await put(store, "/registry/dead/1", "before")
    await postgres.kill()
    await hasProblem(store, "unavailable")
    expect(store.get("/registry/dead/1")?.revision).toBe(revision)
    expect(await codeOf(store.freshen())).toBe("unavailable")
    expect(["unavailable", "unknown"]).toContain(await codeOf(put(store, "/registry/dead/1", "after", revision)))
    await postgres.restart()
    await hasProblem(store, undefined)
    await put(store, "/registry/dead/2")
    expect(store.list("/registry/dead/").map(({ key }) => key)).toEqual(["/registry/dead/1", "/registry/dead/2"])
    store.close()
  }, 60_000)

  test("notice within seconds that it does not respond", async () => {
    const store = await open()
    postgres.hang()
    try {
      expect(await codeOf(store.freshen())).toBe("unavailable")
    } finally {
      postgres.goOn()
    }
    await hasProblem(store, undefined)
    await put(store, "/registry/hung/1")
    store.close()
  }, 60_000)

  test("refuse a database that lacks writes which they have seen, as a promoted standby may", async () => {
    const store = await open()
    const { revision } = await put(store, "/registry/lost/1")
    postgres.sql(
      `DELETE FROM k3ts.revisions WHERE revision = ${revision};` +
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'k3ts'",
    )
    while (!store.problem?.message.includes(`this server has seen ${revision}: it is an older copy`))
      await Bun.sleep(20)
    expect(await codeOf(put(store, "/registry/lost/2"))).toBe("unavailable")
    store.close()
  })

  test("use the first server that responds, and never print a password in an error", async () => {
    const url = `postgres://k3ts:${postgres.password}@127.0.0.1`
    const log = openLog(`${url}:1/postgres,${postgres.endpoint}`)
    expect(await log.latest()).toBeGreaterThan(0)
    log.close()
    for (const wrong of [`${url}:1/postgres`, `postgres://k3ts:wrong-pass@127.0.0.1:${postgres.port}/postgres`]) {
      const other = openLog(wrong)
      const error = await other.latest().catch((err: unknown) => err as SharedLogError)
      expect(error).toMatchObject({ code: "unavailable" })
      expect(Bun.inspect(error, { depth: 10 })).not.toMatch(new RegExp(`${postgres.password}|wrong-pass`))
      other.close()
    }
  })
})

test.skipIf(!hasPostgres)(
  "servers lose no acknowledged write, and send the same events, when a standby takes over from a dead primary",
  async () => {
    // given two servers that write, and watch
    await using primary = await startPostgres()
    await using standby = await primary.addStandby()
    const hosts = `127.0.0.1:${primary.port},127.0.0.1:${standby.port}`
    const url = `postgres://k3ts:${primary.password}@${hosts}/postgres?target_session_attrs=read-write`
    const stores = [await open(url), await open(url)]
    const told: string[][] = [[], []]
    stores.forEach((store, i) =>
      store.subscribe((events) =>
        told[i]!.push(...events.map(({ type, key, revision }) => `${type} ${key} ${revision}`)),
      ),
    )
    const acknowledged: string[] = []
    const failures = new Set<string>()
    let isOver = false
    const writing = stores.map(async (store, i) => {
      for (let n = 0; !isOver; n++) {
        const code = await codeOf(put(store, `/registry/over/${i}-${n}`, n))
        if (code === "ok") acknowledged.push(`/registry/over/${i}-${n}`)
        else await Bun.sleep(failures.add(code).size)
      }
    })
    const untilWritten = async (more: number) => {
      for (const from = acknowledged.length; acknowledged.length < from + more;) await Bun.sleep(5)
    }
    const before = performance.now()
    await untilWritten(50)
    const usual = performance.now() - before
    // when the primary dies, reads are answered from memory and writes fail in words
    await primary.kill()
    await hasProblem(stores[0]!, "unavailable")
    expect(stores[0]!.get(acknowledged[0]!)).toBeDefined()
    standby.promote()
    const since = performance.now()
    await untilWritten(50)
    for (const store of stores) await hasProblem(store, undefined)
    // then
    expect(performance.now() - since).toBeLessThan(10_000 + 10 * usual)
    isOver = true
    await Promise.all(writing)
    expect([...failures].filter((code) => code !== "unavailable" && code !== "unknown")).toEqual([])
    for (const store of stores) {
      await store.freshen()
      const keys = new Set(store.list("/registry/over/").map(({ key }) => key))
      expect(acknowledged.filter((key) => !keys.has(key))).toEqual([])
    }
    expect(told[1]).toEqual(told[0]!)
    for (const store of stores) store.close()
  },
  60_000,
)
