/** Damage to a store's files, which were changed, truncated or removed, is detected or makes no difference. */
import { afterAll, describe, expect, test } from "bun:test"
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { KubeObject } from "../../apimachinery/resource.ts"
import { seededRandom, type Random } from "../../clock/random.ts"
import { realClock } from "../../clock/real.ts"
import { checkStore } from "./check.ts"
import { SqliteStorage, type SqliteStorageOptions } from "./sqlite.ts"
import { StorageError, type StorageEvent, type Write } from "../storage.ts"

/** More of them are tried by hand, with other seeds. */
const FLIPS = Number(process.env["K3TS_FLIPS"] ?? 100)

const root = mkdtempSync(join(tmpdir(), "k3ts-damage-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))
let number = 0
const newFile = () => join(root, `${number++}.db`)
const open = (file: string, options: Partial<SqliteStorageOptions> = {}) =>
  new SqliteStorage({ clock: realClock, frozen: true, file, ...options })
const object = (name: string, data: unknown): KubeObject & { data: unknown } => ({
  apiVersion: "v1",
  kind: "Thing",
  metadata: { name },
  data,
})
const put = (key: string, value: KubeObject | null, highChurn = false): Write => ({
  key,
  object: value,
  expected: undefined,
  time: 1000,
  author: "tester",
  highChurn,
})

/** Everything that a store tells of itself. */
interface Told {
  readonly objects: unknown
  readonly events: unknown
  readonly revision: number
}
const describeEvent = ({ type, revision, key, stored, previous }: StorageEvent) => [
  type,
  revision,
  key,
  stored.object,
  previous?.object,
]
const told = (store: SqliteStorage): Told => ({
  objects: store.list("/").map(({ key, revision, created, object }) => [key, revision, created, object]),
  events: store.since(store.compactedRevision).map(describeEvent),
  revision: store.revision,
})

/** Some hundred writes of all kinds and sizes, with compacted history, and all parts of the file in use. */
async function filled(file: string, random: Random): Promise<SqliteStorage> {
  const store = open(file)
  for (let i = 0; i < 700; i++) {
    const key = `/a/${Math.floor(random.next() * 60)}`
    const size = random.next() < 0.02 ? 40_000 : 20 + random.next() * 400
    const remove = random.next() < 0.2 && store.get(key) !== undefined
    await store.write(put(key, remove ? null : object(key, "x".repeat(size))))
    if (i % 9 === 0) await store.write(put(`/lease/${i % 4}`, object("lease", i), true))
    if (i === 300) store.compact(200)
  }
  await Bun.sleep(5) // the compaction's steps
  return store
}

describe("a database in which a bit has flipped", () => {
  test(
    "is refused, reports the damage when it is read, or returns exactly what it returned before, and so does " +
      "a check of it",
    async () => {
      // given a database that a server left in order
      const random = seededRandom(Number(process.env["K3TS_SEED"] ?? 20_261_122))
      const file = newFile()
      const store = await filled(file, random)
      store.close()
      const reopened = open(file)
      const before = told(reopened)
      reopened.close()
      const bytes = readFileSync(file)
      expect(checkStore(file).problems).toEqual([])
      const seen = { refused: 0, read: 0, harmless: 0 }
      let found = 0

      for (let i = 0; i < FLIPS; i++) {
        // when a bit of it flips: anywhere, or where every byte counts
        const at = Math.floor(random.next() * (i % 4 === 0 ? 100 : bytes.length))
        const flipped = Buffer.from(bytes)
        flipped[at]! ^= 1 << Math.floor(random.next() * 8)
        const copy = newFile()
        writeFileSync(copy, flipped)

        // then
        const whole = problemsOf(copy).length === 0
        if (!whole) found++
        let damaged: SqliteStorage | undefined
        try {
          damaged = open(copy)
          expect({ at, ...told(damaged) }).toEqual({ at, ...before })
          seen.harmless++
        } catch (err) {
          if (!(err instanceof StorageError)) throw err
          expect({ at, code: err.code, whole }).toEqual({ at, code: "damaged", whole: false })
          seen[damaged === undefined ? "refused" : "read"]++
        } finally {
          damaged?.close()
          rmSync(copy, { force: true })
        }
      }
      expect(seen.refused).toBeGreaterThan(FLIPS / 2)
      expect(found).toBeGreaterThanOrEqual(seen.refused + seen.read)
    },
    60_000,
  )
})

/** Returns the problems that a check finds; a file that cannot be read at all is one problem. */
function problemsOf(file: string): readonly string[] {
  try {
    return checkStore(file).problems
  } catch (err) {
    if (!(err instanceof StorageError)) throw err
    return [err.message]
  }
}

describe("a database that has lost acknowledged writes", () => {
  /** Returns the files of a killed server, with the last commits in the log of changes. */
  async function killed(): Promise<{ file: string; revision: number }> {
    const file = newFile()
    const store = open(file)
    for (let i = 0; i < 20; i++) await store.write(put(`/a/${i}`, object(`${i}`, "x".repeat(300))))
    const copy = newFile()
    for (const end of ["", "-wal", ".acknowledged"]) cpSync(file + end, copy + end)
    const { revision } = store
    store.close()
    return { file: copy, revision }
  }
  const CASES: readonly { what: string; lose(file: string): void; found: RegExp }[] = [
    {
      what: "whose log of changes was truncated at the end of a commit",
      lose(file) {
        const page = 8192 + 24 // with its head; a commit here has one or two
        truncateSync(`${file}-wal`, readFileSync(`${file}-wal`).length - 2 * page)
      },
      found: /it ends at revision 1\d, but \S+\.acknowledged says that revision 20 was acknowledged/,
    },
    {
      what: "whose log of changes was emptied",
      lose: (file) => truncateSync(`${file}-wal`, 0),
      found: /it is missing or empty|it ends at revision 0, but/,
    },
    {
      what: "whose log of changes is missing",
      lose: (file) => rmSync(`${file}-wal`),
      found: /it is missing or empty|it ends at revision 0, but/,
    },
    {
      what: "that is missing itself",
      lose: (file) => [file, `${file}-wal`].forEach((path) => rmSync(path)),
      found: /it is missing or empty, but \S+\.acknowledged shows that a cluster has been here/,
    },
    {
      what: "that is empty",
      lose(file) {
        rmSync(`${file}-wal`)
        writeFileSync(file, "")
      },
      found: /it is missing or empty, but/,
    },
  ]

  test.each(CASES)("$what, is refused and left unchanged, unless the loss is accepted", async ({ lose, found }) => {
    // given
    const { file, revision } = await killed()
    lose(file)
    const bytes = () =>
      ["", "-wal", ".acknowledged"].map((end) =>
        existsSync(file + end) ? readFileSync(file + end).toString("base64") : "",
      )
    const before = bytes()

    // when it is opened, then that is refused with the mend, and nothing has changed
    expect(() => open(file)).toThrow(found)
    expect(() => open(file)).toThrow("--accept-data-loss")
    expect(bytes()).toEqual(before)

    // when the loss is accepted, then it goes on where no client has seen a revision
    const store = open(file, { acceptLoss: true })
    expect(store.revision).toBeGreaterThan(revision)
    expect(() => store.since(revision)).toThrow("compacted")
    const { revision: next } = await store.write(put("/a/new", object("new", 1)))
    expect(next).toBe(store.revision)
    expect(store.since(next - 1)).toHaveLength(1)
    const objects = store.list("/").length
    store.close()
    // and the next start needs no flag
    const again = open(file)
    expect([again.revision, again.list("/").length]).toEqual([next, objects])
    again.close()
  })

  test("is refused if another file shows that a cluster was there, and the error names that file", async () => {
    const file = newFile()
    const evidence = join(root, "service.key")
    expect(() => open(file, { evidence })).toThrow(
      `Cannot open ${file}: it is missing or empty, but ${evidence} shows that a cluster has been here; ` +
        "restore it from a backup",
    )
    open(file, { evidence, acceptLoss: true }).close()
    open(file, { evidence }).close()
  })

  test("is accepted if the number of acknowledged writes cannot be read, as after a power cut", async () => {
    const { file, revision } = await killed()
    writeFileSync(`${file}.acknowledged`, Buffer.alloc(35))
    const store = open(file)
    expect(store.revision).toBe(revision)
    store.close()
    expect(readFileSync(`${file}.acknowledged`, "utf8")).toMatch(/^revision 0+20 [0-9a-f]{8}\n$/)
  })
})
