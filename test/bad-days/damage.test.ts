import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { seededRandom } from "../../pkg/clock/random.ts"
import { startServer } from "../harness/server.ts"

const PATH = "/api/v1/namespaces/default/configmaps"
const OBJECTS = 200

/** What a server that was killed under load leaves behind: a database and a log of changes that are not in it yet. */
describe("a store whose file was damaged", () => {
  const root = mkdtempSync(join(tmpdir(), "k3ts-damage-"))
  const original = join(root, "original")
  afterAll(() => rmSync(root, { recursive: true, force: true }))
  beforeAll(async () => {
    for (let part = 0; part < 2; part++) {
      await using server = await startServer({ dataDir: original })
      for (let i = 0; i < OBJECTS / 2; i++) {
        const name = `c${part}-${i}`
        expect(
          (
            await server.send("POST", PATH, {
              apiVersion: "v1",
              kind: "ConfigMap",
              metadata: { name },
              data: { check: `${name}:${"y".repeat(1500)}` },
            })
          ).status,
        ).toBe(201)
      }
      // The first part goes into the database, the second stays in its log.
      await server.kill(part === 0 ? "SIGTERM" : "SIGKILL")
    }
  }, 60_000)

  test.each([
    ["the database's first bytes", "state.db", () => 0],
    ["the database's schema", "state.db", () => 200],
    ["the end of the database", "state.db", (size: number) => size - 3000],
    ["the middle of the database", "state.db", (size: number) => Math.floor(size / 2)],
    ["the head of the log", "state.db-wal", () => 10],
    ["the middle of the log", "state.db-wal", (size: number) => Math.floor(size / 2)],
    ["the end of the log", "state.db-wal", (size: number) => size - 100],
    ...Array.from({ length: 8 }, (_, i): [string, string, (size: number) => number] => [
      `a place in the database (${i})`,
      "state.db",
      (size) => Math.floor(seededRandom(i).next() * size),
    ]),
  ] as const)(
    "%s: the damage is reported, or every object is served correctly",
    async (title, file, place) => {
      const dataDir = join(root, title.replaceAll(/\W/g, "-"))
      cpSync(original, dataDir, { recursive: true, filter: (path) => !path.endsWith(".sock") })
      const path = join(dataDir, "server/db", file)
      const bytes = readFileSync(path)
      const from = place(bytes.length)
      for (let i = from; i < Math.min(bytes.length, from + 32); i++) bytes[i]! ^= 0xff
      writeFileSync(path, bytes)

      try {
        await using server = await startServer({ dataDir })
        // Every served object is one that was stored: damaged data are never served.
        const answer = await server.get(PATH)
        expect(answer.status).toBe(200)
        const { items } = JSON.parse(answer.body.toString()) as {
          items: { metadata: { name: string }; data: { check?: string } }[]
        }
        for (const { metadata, data } of items)
          if (data.check !== undefined) expect(data.check).toBe(`${metadata.name}:${"y".repeat(1500)}`)
        // The last commit alone may be missing: its damage looks like that of a power cut.
        expect(items.filter(({ data }) => data.check !== undefined).length).toBeGreaterThanOrEqual(
          file === "state.db" ? OBJECTS : OBJECTS - 1,
        )
        await server.kill("SIGTERM")
        expect(server.output()).not.toContain("Contained a failure")
      } catch (err) {
        if (!String(err).includes("The server ended with code")) throw err
        const output = String(err)
        expect(output).toContain("ended with code 1")
        expect(output).toMatch(/damaged|was acknowledged/)
        expect(output).toContain("state.db")
        // Nothing is made worse: the files are as they were found.
        expect(readFileSync(path).equals(bytes)).toBe(true)
      }
      expect(readdirSync(join(dataDir, "server/db"))).toContain("state.db")
    },
    30_000,
  )
})
