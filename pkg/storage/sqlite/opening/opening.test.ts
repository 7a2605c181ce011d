/** When a store's file is opened: what is refused, and what a killed server has left. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
  closeSync,
} from "node:fs"
import { spawn } from "node:child_process"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { seededRandom } from "../../../clock/random.ts"
import { realClock } from "../../../clock/real.ts"
import { openSqlite } from "../../../runtime/sqlite.ts"
import { SqliteStorage } from "../sqlite.ts"
import { StorageError } from "../../storage.ts"
import { object, put } from "../store.fixtures.ts"

const root = mkdtempSync(join(tmpdir(), "k3ts-sqlite-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))
let number = 0
const newFile = () => join(root, `${number++}.db`)
const open = (file: string) => new SqliteStorage({ clock: realClock, frozen: true, file })

describe("a new store", () => {
  test("has its pages, its log and its tables whether there is no file or an empty one, and leaves no others", async () => {
    for (const isThere of [false, true]) {
      // given
      const folder = mkdtempSync(join(root, "new-"))
      const file = join(folder, "state.db")
      if (isThere) writeFileSync(file, "")
      else writeFileSync(`${file}.new`, "left by a process that was killed")
      // when
      const store = open(file)
      await store.write(put("/a/1", object("1"), 0))
      store.close()
      // then
      expect(readdirSync(folder).filter((name) => name.includes("new"))).toEqual([])
      const db = openSqlite(file)
      const valueOf = (name: string) => db.prepare(`PRAGMA ${name}`).rows()[0]![0]!
      expect(["page_size", "auto_vacuum", "journal_mode"].map(valueOf)).toEqual([8192, 2, "wal"])
      db.close()
    }
  })
})

describe("a store in a file", () => {
  test("is refused to a second server while the first one runs, with the name of that, and is free again after kill -9", async () => {
    // given a process that has the file open
    const file = newFile()
    const script = `import { SqliteStorage } from ${JSON.stringify(join(import.meta.dir, "../sqlite.ts"))}
      import { realClock } from ${JSON.stringify(join(import.meta.dir, "../../../clock/real.ts"))}
      const store = new SqliteStorage({ clock: realClock, file: ${JSON.stringify(file)} })
      await store.write({ key: "/a/1", object: { apiVersion: "v1", kind: "T", metadata: { name: "1" } }, expected: 0, time: 0, author: "x" })
      console.log("ready")
      setInterval(() => undefined, 1000)`
    const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] })
    await new Promise((resolve) => child.stdout.once("data", resolve))
    // when another opens it, then that is refused
    expect(() => open(file)).toThrow(
      new StorageError(
        "locked",
        `Cannot open ${file}: process ${child.pid} uses it; stop that server first, or give this one another ` +
          "data directory",
      ),
    )
    // when the first is killed, then the file opens and has what was acknowledged
    const gone = new Promise((resolve) => child.once("exit", resolve))
    child.kill("SIGKILL")
    await gone
    const store = open(file)
    expect(store.get("/a/1")?.revision).toBe(1)
    store.close()
  })

  test("reports that it is damaged, and is not written to", () => {
    const file = newFile()
    writeFileSync(file, "this is no database, though it is long enough to be looked at".repeat(40))
    const before = readFileSync(file)
    expect(() => open(file)).toThrow("the file is damaged; restore it from a backup (SQLITE_NOTADB)")
    expect(readFileSync(file)).toEqual(before)
  })

  test("detects damage inside, and refuses writes then", async () => {
    const file = newFile()
    const store = open(file)
    for (let i = 0; i < 300; i++) await store.write(put(`/a/${i}`, object(`${i}`, "x".repeat(500)), 0))
    store.close()
    const fd = openSync(file, "r+")
    writeSync(fd, Buffer.alloc(statSync(file).size - 8192, 0xaa), 0, statSync(file).size - 8192, 8192)
    closeSync(fd)
    expect(() => open(file)).toThrow(/damaged/)
  })

  test("is created again if a server was killed before it had created the tables", async () => {
    const file = newFile()
    const db = openSqlite(file)
    db.exec("PRAGMA journal_mode = WAL; CREATE TABLE other (a)")
    const copy = newFile()
    for (const end of ["", "-wal"]) cpSync(file + end, copy + end)
    db.close()
    const store = open(copy)
    expect((await store.write(put("/a/1", object("1"), 0))).revision).toBe(1)
    store.close()
  })

  describe("of a killed server, with its last commits in the WAL", () => {
    const OBJECTS = 40
    const left = newFile()
    let log: Buffer
    beforeAll(async () => {
      const store = open(left)
      for (let i = 0; i < OBJECTS; i++) await store.write(put(`/a/${i}`, object(`${i}`, "x".repeat(300)), 0))
      log = readFileSync(`${left}-wal`)
      cpSync(left, `${left}.copy`)
      store.close()
    })
    /** The files as they were left, with another log. */
    const leftWith = (bytes: Uint8Array): string => {
      const file = newFile()
      cpSync(`${left}.copy`, file)
      writeFileSync(`${file}-wal`, bytes)
      return file
    }
    const flipped = (at: number): Buffer => {
      const copy = Buffer.from(log)
      copy[at]! ^= 0x10
      return copy
    }

    test("is complete, and so is one whose last commit was truncated", () => {
      for (const [bytes, objects] of [
        [log, OBJECTS],
        [log.subarray(0, -100), OBJECTS - 1],
        [flipped(log.length - 100), OBJECTS - 1],
        [Buffer.alloc(0), 0],
      ] as const) {
        const store = open(leftWith(bytes))
        expect(store.list("/a/")).toHaveLength(objects)
        store.close()
      }
    })

    test("is refused and left unchanged, if any earlier byte was changed", () => {
      const random = seededRandom(1)
      // Two frames at most make one commit here; a frame is a page and its head.
      for (let i = 0; i < 40; i++) {
        const bytes = flipped(Math.floor(random.next() * (log.length - 3 * 8216)))
        const file = leftWith(bytes)
        const before = readFileSync(file)
        try {
          open(file).close()
          // Numbers that nobody reads, or changes in frames that later ones replace: all is there.
        } catch (err) {
          expect((err as StorageError).code).toBe("damaged")
          expect(readFileSync(`${file}-wal`).equals(bytes)).toBe(true)
          expect(readFileSync(file).equals(before)).toBe(true)
          continue
        }
        const store = open(file)
        expect(store.list("/a/")).toHaveLength(OBJECTS)
        store.close()
      }
    })
  })

  test("of a later format is refused, and not touched", async () => {
    const file = newFile()
    const store = open(file)
    await store.write(put("/a/1", object("1"), 0))
    store.close()
    const db = openSqlite(file)
    db.exec("PRAGMA user_version = 99")
    db.close()
    const before = readFileSync(file)
    expect(() => open(file)).toThrow(
      "a newer version of k3ts has written it (format 99, and this version reads up to 3), and a downgrade is not possible",
    )
    expect(readFileSync(file)).toEqual(before)
  })

  test.skipIf(process.getuid?.() === 0)("reports that a directory is read-only", () => {
    const directory = join(root, "readonly")
    mkdirSync(directory)
    chmodSync(directory, 0o500)
    expect(() => open(join(directory, "a.db"))).toThrow("Cannot open")
  })
})
