import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { sleep } from "../clock/clock.ts"
import { realClock } from "../clock/real.ts"
import { VirtualClock } from "../clock/virtual.ts"
import { silent } from "../log/log.ts"
import { watchFolder } from "../process/watch-folder.ts"
import { sharedPage } from "../runtime/shared-page.ts"
import { InHand, PAGE_BYTES } from "./in-hand.ts"
import { Quarantine } from "./quarantine.ts"
import { openQuarantine, writeRecord } from "./quarantine-files.ts"
import { NOTHING_RECORDED, recordOfStart, type QuarantineRecord } from "./record.ts"

const NOW = { now: "2026-01-01T00:00:00Z", boot: "b" }
const item = (key: string) => ({ place: "p", key })
const bare = (items: readonly { place: string; key: string }[]) => items.map(({ place, key }) => ({ place, key }))

/** A machine on which one process follows another. */
function machine() {
  const clock = new VirtualClock(0)
  const page = new Uint8Array(PAGE_BYTES)
  let record: QuarantineRecord = NOTHING_RECORDED
  const start = () =>
    new Quarantine({ page, before: record, boot: "b", save: (next) => (record = next), clock, log: silent })
  return { clock, start, record: () => record, edit: (some: Partial<QuarantineRecord>) => ({ ...record, ...some }) }
}
const edition = (text: string | undefined) => () => text
/** Never ends. */
const killed = () => new Promise<void>(() => undefined)

describe("what is in hand", () => {
  test("is read by the next process, and forgotten when the work has ended", () => {
    const folder = mkdtempSync(join(tmpdir(), "k3ts-page-"))
    const path = join(folder, "page")
    const inHand = new InHand(sharedPage(path, PAGE_BYTES))
    inHand.end(inHand.begin("p", "done"))
    inHand.begin("p", "ns/ünder way")
    inHand.begin("p", "x".repeat(600))
    expect(InHand.left(sharedPage(path, PAGE_BYTES)).map(({ key }) => key.slice(0, 20))).toEqual([
      "ns/ünder way",
      "x".repeat(20),
    ])
    rmSync(folder, { recursive: true })
  })

  test("is only the item whose work ran, where one did, and else all whose work waited", () => {
    const page = new Uint8Array(PAGE_BYTES)
    const inHand = new InHand(page)
    const slots = ["a", "b"].map((key) => inHand.begin("p", key))
    for (const slot of slots) inHand.waits(slot)
    const running = inHand.begin("p", "c")
    expect(InHand.left(page)).toEqual([item("c")])
    inHand.end(running)
    expect(InHand.left(page)).toEqual([item("a"), item("b")])
  })

  test("is not noted beyond the page, and slots are used again", () => {
    const page = new Uint8Array(PAGE_BYTES)
    const inHand = new InHand(page)
    const slots = Array.from({ length: 200 }, (_, i) => inHand.begin("p", `${i}`))
    expect(InHand.left(page)).toHaveLength(128)
    for (const slot of slots) inHand.end(slot)
    inHand.begin("p", "again")
    expect(InHand.left(page)).toEqual([item("again")])
  })
})

describe("a start", () => {
  const running = { ...NOTHING_RECORDED, running: true, boot: "b" }
  test.each([
    { title: "after an end in order suspects nothing", before: NOTHING_RECORDED, left: ["a"], suspects: [], aside: [] },
    {
      title: "suspects nothing after a new boot of the machine",
      before: { ...running, boot: "a" },
      left: ["a"],
      suspects: [],
      aside: [],
    },
    { title: "suspects what was in hand", before: running, left: ["a", "b"], suspects: ["a", "b"], aside: [] },
    {
      title: "sets aside what was in hand twice, and tries the others",
      before: { ...running, suspects: [item("a"), item("b")] },
      left: ["a", "c"],
      suspects: ["c", "b"],
      aside: ["a"],
    },
    {
      title: "sets aside what was too slow twice",
      before: { ...NOTHING_RECORDED, slow: [item("s")], tooSlow: [item("s")] },
      left: [],
      suspects: [],
      aside: ["s"],
    },
  ])("$title", ({ before, left, suspects, aside }) => {
    const record = recordOfStart(before, left.map(item), NOW)
    expect(bare(record.suspects)).toEqual(suspects.map(item))
    expect(bare(record.setAside)).toEqual(aside.map(item))
  })

  test.each([
    { title: "that ended soon with something in hand counts as failed", settled: false, left: ["a"], wants: 3 },
    { title: "that ended soon with nothing in hand does not", settled: false, left: [], wants: 0 },
    { title: "that ended after a minute does not", settled: true, left: ["a"], wants: 0 },
  ])("$title", ({ settled, left, wants }) =>
    expect(recordOfStart({ ...running, settled, failedStarts: 2 }, left.map(item), NOW).failedStarts).toBe(wants),
  )
})

describe("the record of a folder", () => {
  let folder: string
  beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "k3ts-quarantine-"))))
  afterEach(() => rmSync(folder, { recursive: true, force: true }))
  const path = () => join(folder, "record.json")
  const open = () => openQuarantine(folder, { clock: realClock, log: silent })!

  test("that becomes unreadable while the process runs frees nothing; one that is removed frees everything", async () => {
    // given
    writeRecord(folder, { ...NOTHING_RECORDED, setAside: [{ ...item("a"), since: NOW.now, why: "w" }] })
    const { quarantine, close } = open()
    const place = quarantine.place("p")
    expect(place.fate("a", edition("1"))).toBe("skip")
    // when a change is told, which every watch of the folder hears twice
    let times = 0
    const heard = Promise.withResolvers<void>()
    const end = watchFolder(folder, () => ++times === 2 && heard.resolve(), { clock: realClock, mode: 0o700 })
    writeFileSync(path(), "{")
    await heard.promise
    end()
    // then
    expect(place.fate("a", edition("1"))).toBe("skip")
    // when
    rmSync(path())
    // then
    while (place.fate("a", edition("1")) !== "go") await sleep(realClock, 5)
    close()
    expect(existsSync(folder)).toBe(false)
  })

  test("is no reason not to start where it is damaged", () => {
    writeFileSync(path(), "{")
    const { quarantine, close } = open()
    expect(quarantine.setAside).toEqual([])
    close()
  })
})

describe("quarantine", () => {
  test("tries suspects one after the other, behind everything else, and acquits those that do no harm", async () => {
    // given two that were in hand when a process ended
    const { clock, start } = machine()
    const before = start().place("p")
    for (const key of ["a", "b"]) void before.during(key, killed)
    // when
    const place = start().place("p")
    const fate = (key: string) => place.fate(key, edition("1"))
    // then
    expect(["a", "b", "c"].map(fate)).toEqual(["wait", "wait", "go"])
    await clock.advance(2000)
    expect(["a", "b"].map(fate)).toEqual(["go", "wait"])
    await place.during("a", () => Promise.resolve())
    expect(["a", "b"].map(fate)).toEqual(["go", "go"])
  })

  test("a suspect that works for long is none, so that others have their turn", async () => {
    const { clock, start } = machine()
    const before = start().place("p")
    for (const key of ["a", "b"]) void before.during(key, killed)
    const place = start().place("p")
    await clock.advance(2000)
    expect(place.fate("a", edition("1"))).toBe("go")
    void place.during("a", killed)
    expect(place.fate("b", edition("1"))).toBe("wait")
    await clock.advance(5000)
    expect(place.fate("b", edition("1"))).toBe("go")
  })

  test("skips what has ended two processes, until its object is edited or gone, or somebody frees it", async () => {
    // given
    const { clock, start, record, edit } = machine()
    const endTwice = async (key: string) => {
      void start().place("p").during(key, killed)
      const place = start().place("p")
      await clock.advance(2000)
      if (place.fate(key, edition("1")) === "go") void place.during(key, killed)
      return start()
    }
    for (const free of [
      (one: Quarantine) => one.place("p").fate("a", edition("2")),
      (one: Quarantine) => one.place("p").fate("a", edition(undefined)),
      (one: Quarantine) => one.reread(edit({ setAside: [] })),
    ]) {
      const quarantine = await endTwice("a")
      expect(quarantine.place("p").fate("a", edition("1"))).toBe("skip")
      expect(quarantine.setAside).toMatchObject([{ ...item("a"), seen: "1" }])
      // when
      free(quarantine)
      // then
      expect(quarantine.place("p").fate("a", edition("1"))).toBe("go")
      expect(record().setAside).toEqual([])
      quarantine.end()
    }
  })

  test("remembers the last 256 items that were slow, or in hand, as objects with ever new names come and go", () => {
    const { start, record } = machine()
    const quarantine = start()
    for (let i = 0; i < 300; i++) quarantine.slow(item(`s${i}`), 2500)
    expect(record().slow.map(({ key }) => key)).toEqual(Array.from({ length: 256 }, (_, i) => `s${i + 44}`))
    // and when the process has ended three times with others in hand
    for (let run = 0; run < 3; run++) {
      const place = start().place("p")
      for (let i = 0; i < 128; i++) void place.during(`${run}-${i}`, killed)
    }
    start()
    const ofRuns = record().suspects.map(({ key }) => key.split("-")[0])
    expect([ofRuns.length, ...new Set(ofRuns)]).toEqual([256, "2", "1"])
  })

  test("sets aside at the next start what keeps everything waiting for seconds, twice", () => {
    const { start } = machine()
    const quarantine = start()
    for (let i = 0; i < 2; i++) quarantine.slow(item("s"), 2500)
    expect(quarantine.place("p").fate("s", edition("1"))).toBe("go")
    quarantine.end()
    expect(start().place("p").fate("s", edition("1"))).toBe("skip")
  })

  test("forgets after a day what was slow once, in the same process and at a start", async () => {
    // given
    const { start, clock, record } = machine()
    const quarantine = start()
    const hours = (count: number) => clock.advance(count * 3_600_000)
    quarantine.slow(item("s"), 2500)
    await hours(23)
    quarantine.slow(item("t"), 2500)
    await hours(2)
    // when it is slow again
    quarantine.slow(item("s"), 2500)
    // then that counts as the first time
    expect([record().tooSlow, record().slow.map(({ key }) => key)]).toEqual([[], ["t", "s"]])
    quarantine.end()
    await hours(23)
    start()
    expect(record().slow.map(({ key }) => key)).toEqual(["s"])
  })
})
