import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { hasEtcd, startEtcd, startEtcdMembers, type TestEtcd } from "../../../../test/harness/etcd.ts"
import { realClock } from "../../../clock/real.ts"
import { codeOf, hasProblem, openStore, put, putFor } from "../shared-store.fixtures.ts"
import { EtcdLog } from "./etcd-log.ts"

let etcd: TestEtcd
const open = (endpoints: readonly string[] = [etcd.endpoint]) => openStore(new EtcdLog({ endpoints, clock: realClock }))

const leases = (): readonly string[] => etcd.ctl("lease", "list").match(/^[0-9a-f]{16}$/gm) ?? []
function keysOf(lease: string): readonly string[] {
  const { keys } = JSON.parse(etcd.ctl("lease", "timetolive", lease, "--keys", "--write-out=json")) as {
    keys: string[]
  }
  return keys.map((key) => atob(key)).toSorted()
}

function isLeader(member: TestEtcd): boolean {
  const text = member.ctl("endpoint", "status", "--write-out=json")
  const [{ Status }] = JSON.parse(text) as [{ Status: { leader: number; header: { member_id: number } } }]
  return Status.leader === Status.header.member_id
}

test("a commit to a closed log fails at once, and nothing is written", async () => {
  const log = new EtcdLog({ endpoints: ["http://127.0.0.1:1"], clock: realClock })
  log.close()
  const outcome = log.commit([{ key: "/registry/things/1", value: new Uint8Array(1), expected: 0 }])
  expect(await outcome.catch((err: unknown) => err)).toMatchObject({ code: "unavailable" })
})

describe.skipIf(!hasEtcd)("servers that share an etcd", () => {
  beforeAll(async () => void (etcd = await startEtcd()))
  afterAll(() => etcd?.[Symbol.asyncDispose]())

  test("see what another server has written, even while another program uses the same etcd", async () => {
    const [one, two] = [await open(), await open()]
    for (let i = 0; i < 20; i++) {
      await put(one, `/registry/things/${i}`)
      if (i % 5 === 0) etcd.ctl("put", "/elsewhere", "value")
      await two.freshen()
      expect(two.get(`/registry/things/${i}`)).toBeDefined()
    }
    one.close()
    two.close()
  })

  test("commit through the next member if the first one cannot be reached", async () => {
    const log = new EtcdLog({ endpoints: ["http://127.0.0.1:1", etcd.endpoint], clock: realClock })
    const value = new TextEncoder().encode("{}")
    expect(await log.commit([{ key: "/registry/things/next", value, expected: 0 }])).toHaveLength(1)
    log.close()
  })

  test("refuse an object that is too large for etcd, and write all others", async () => {
    const store = await open()
    // given an object over etcd's limit, and one over gRPC's limit
    for (const mebibytes of [1.7, 3])
      expect(await codeOf(put(store, "/registry/things/large", "x".repeat(mebibytes * 1024 * 1024)))).toBe("oversized")
    expect(store.problem).toBeUndefined()
    expect(await codeOf(put(store, "/registry/things/small"))).toBe("ok")
    store.close()
  })

  test("write objects that etcdctl shows as JSON below /registry", async () => {
    const store = await open()
    await Promise.all(["a", "b", "c"].map((name) => put(store, `/registry/shown/${name}`, name)))
    expect(etcd.ctl("get", "--prefix", "/registry/shown/", "--keys-only").split("\n").filter(Boolean)).toEqual([
      "/registry/shown/a",
      "/registry/shown/b",
      "/registry/shown/c",
    ])
    const json: unknown = JSON.parse(etcd.ctl("get", "/registry/shown/c", "--print-value-only"))
    expect(json).toMatchObject({ data: "c", metadata: { name: "/registry/shown/c" } })
    expect(json).not.toHaveProperty("metadata.resourceVersion")
    store.close()
  })

  test("read existing objects in pages, with the revisions that their writers got", async () => {
    const store = await open()
    const written = await Promise.all(Array.from({ length: 2300 }, (_, i) => put(store, `/registry/many/${i}`)))
    const later = await open()
    const revisions = new Map(later.list("/registry/many/").map(({ key, revision }) => [key, revision]))
    expect(revisions).toEqual(new Map(written.map(({ key, revision }) => [key, revision])))
    store.close()
    later.close()
  })

  test("give keys of one minute the same lease of etcd, and none to keys without a time to live", async () => {
    const [one, two] = [await open(), await open()]
    const before = leases()
    for (let i = 0; i < 20; i++) await putFor(i % 2 === 0 ? one : two, `/registry/shared/${i}`, 3600)
    await put(one, "/registry/lasting/1")
    const added = leases().filter((lease) => !before.includes(lease))
    const shared = Array.from({ length: 20 }, (_, i) => `/registry/shared/${i}`)
    expect(added).toHaveLength(2)
    expect(added.flatMap(keysOf).toSorted()).toEqual(shared.toSorted())
    one.close()
    two.close()
  })

  test("get an event for each key that etcd deletes because its time has ended", async () => {
    const stores = [await open(), await open()]
    const told = stores.map(
      (store) =>
        new Promise<void>((resolve) =>
          store.subscribe((all) => all.some((e) => e.type === "delete" && e.key === "/registry/short/1") && resolve()),
        ),
    )
    await putFor(stores[0]!, "/registry/short/1", 1)
    await Promise.all(told)
    for (const store of stores) {
      expect(store.get("/registry/short/1")).toBeUndefined()
      store.close()
    }
  }, 60_000)

  test("write a key again with a new lease if etcd has lost the old lease", async () => {
    const store = await open()
    await putFor(store, "/registry/leased/before", 3600)
    for (const lease of leases()) etcd.ctl("lease", "revoke", lease)
    expect(await codeOf(putFor(store, "/registry/leased/after", 3600))).toBe("ok")
    await store.freshen()
    expect(store.list("/registry/leased/").map(({ key }) => key)).toEqual(["/registry/leased/after"])
    store.close()
  })

  test("compact it once, however many of them try", async () => {
    const [one, two] = [1, 2].map(() => new EtcdLog({ endpoints: [etcd.endpoint], clock: realClock }))
    const revision = await one!.latest()
    // The first attempt of each server only reads the count of compactions.
    await one!.compact(revision)
    await two!.compact(revision)
    const before = Number(etcd.ctl("get", "compact_rev_key", "--write-out=fields").match(/"Version" : (\d+)/)![1])
    await Promise.all([one!.compact(revision), two!.compact(revision)])
    const after = Number(etcd.ctl("get", "compact_rev_key", "--write-out=fields").match(/"Version" : (\d+)/)![1])
    expect(after).toBe(before + 1)
    one!.close()
    two!.close()
  })

  test("answer reads from memory and refuse writes while etcd is dead, and continue when it is back", async () => {
    const store = await open()
    const { revision } = await put(store, "/registry/dead/1", "before")
    await etcd.kill()
    await hasProblem(store, "unavailable")
    expect(store.get("/registry/dead/1")?.revision).toBe(revision)
    expect(await codeOf(store.freshen())).toBe("unavailable")
    expect(["unavailable", "unknown"]).toContain(await codeOf(put(store, "/registry/dead/1", "after", revision)))
    await etcd.restart()
    await hasProblem(store, undefined)
    await put(store, "/registry/dead/2")
    expect(store.list("/registry/dead/").map(({ key }) => key)).toEqual(["/registry/dead/1", "/registry/dead/2"])
    store.close()
  }, 60_000)

  test("notice within seconds that etcd does not respond", async () => {
    const store = await open()
    await etcd.hang()
    try {
      expect(await codeOf(store.freshen())).toBe("unavailable")
      // Once the hang is noticed, requests fail without waiting.
      expect(await codeOf(store.freshen())).toBe("unavailable")
    } finally {
      etcd.goOn()
    }
    await hasProblem(store, undefined)
    store.close()
  }, 60_000)
})

test.skipIf(!hasEtcd)(
  "a read that waits while etcd elects another leader succeeds",
  async () => {
    // given
    const members = await startEtcdMembers("--heartbeat-interval", "50", "--election-timeout", "500")
    const follower = members.find((member) => !isLeader(member))!
    const store = await open([follower.endpoint])
    // when
    await members.find(isLeader)!.kill()
    // then
    expect(await codeOf(store.freshen())).toBe("ok")
    store.close()
    for (const member of members) await member[Symbol.asyncDispose]()
  },
  60_000,
)

test.skipIf(!hasEtcd)(
  "no read or write fails when etcd's leader stops gracefully",
  async () => {
    // given
    const members = await startEtcdMembers()
    const follower = members.find((member) => !isLeader(member))!
    const store = await open([follower.endpoint])
    let isOver = false
    const work = async (key: string) => {
      while (!isOver) {
        await put(store, key)
        await store.freshen()
      }
    }
    const working = ["a", "b", "c", "d"].map((name) => codeOf(work(`/registry/orderly/${name}`)))
    // when
    await members.find(isLeader)!.kill("SIGTERM")
    await put(store, "/registry/orderly/afterwards")
    isOver = true
    // then
    expect(await Promise.all(working)).toEqual(working.map(() => "ok"))
    store.close()
    for (const member of members) await member[Symbol.asyncDispose]()
  },
  60_000,
)

test.skipIf(!hasEtcd)(
  "servers can write again after etcd's leader died, and after a lost majority is back",
  async () => {
    // given three members; the server uses the first one at the beginning
    const members = await startEtcdMembers()
    const store = await open(members.map(({ endpoint }) => endpoint))
    const other = await open(members.map(({ endpoint }) => endpoint).toReversed())
    const acknowledged: string[] = []
    const writeSome = async (round: string) => {
      for (let i = 0; i < 20; i++) {
        const key = `/registry/round/${round}-${i}`
        // The test tries again, as clients do after any 503 or 504.
        for (let code = ""; code !== "ok" && code !== "exists";) code = await codeOf(put(store, key, i, 0))
        acknowledged.push(key)
      }
    }
    // when the leader dies and comes back
    const leader = members.find(isLeader)!
    await leader.kill()
    await writeSome("without the leader")
    await leader.restart()
    // and then two of them
    await Promise.all([members[0].kill(), members[1].kill()])
    const failed = await codeOf(put(store, "/registry/round/minority", 1, 0))
    await Promise.all([members[0].restart(), members[1].restart()])
    await hasProblem(store, undefined)
    await hasProblem(other, undefined)
    // then nothing acknowledged is lost, at either server
    expect(["unavailable", "unknown"]).toContain(failed)
    for (const each of [store, other]) {
      await each.freshen()
      const keys = each.list("/registry/round/").map(({ key }) => key)
      expect(keys.filter((key) => !key.endsWith("minority"))).toEqual(acknowledged.toSorted())
      each.close()
    }
    for (const member of members) await member[Symbol.asyncDispose]()
  },
  60_000,
)
