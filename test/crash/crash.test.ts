import { describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { seededRandom } from "../../pkg/clock/random.ts"
import { databaseFile } from "../../components/apiserver/store/database-file.ts"
import { checkStore } from "../../pkg/storage/sqlite/check.ts"
import { startServer, type TestServer } from "../harness/server.ts"

/** `npm run test:long` kills 500 times. */
const KILLS = Number(process.env["K3TS_KILLS"] ?? 20)
const WRITERS = 16
const PATH = "/api/v1/namespaces/default/configmaps"

/**
 * What one writer knows of its object: the last number it wrote that was acknowledged, and the one that was on its way
 * when the server died.
 */
interface Known {
  acknowledged: number | "absent"
  sent: number | "absent"
}

/**
 * One write. By fetch: Bun's node:https client lets the death of a server under load escape as an error that nobody can
 * catch.
 */
async function send(
  server: TestServer,
  method: "POST" | "PUT" | "DELETE",
  path: string,
  body?: object,
): Promise<number> {
  const { status } = await fetch(`https://127.0.0.1:${server.port}${path}`, {
    method,
    headers: { authorization: `Bearer ${server.token}`, "content-type": "application/json" },
    tls: { rejectUnauthorized: false },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return status
}

/** Writes rising numbers into an object of its own, deleting it now and then, until the server is gone. */
async function write(server: TestServer, name: string, known: Known, random: () => number): Promise<void> {
  for (;;) {
    const next =
      known.acknowledged !== "absent" && random() < 0.1
        ? "absent"
        : (typeof known.sent === "number" ? known.sent : 0) + 1
    const before = known.acknowledged
    known.sent = next
    try {
      const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { n: String(next) } }
      const status =
        next === "absent"
          ? await send(server, "DELETE", `${PATH}/${name}`)
          : before === "absent"
            ? await send(server, "POST", PATH, object)
            : await send(server, "PUT", `${PATH}/${name}`, object)
      if (status >= 300) throw new Error(`unexpected answer ${status}`)
      known.acknowledged = next
    } catch (err) {
      // A connection that breaks off is how a writer learns of the kill.
      if (!/socket|ECONN|EPIPE|Connection/.test(`${String(err)} ${String((err as { code?: unknown }).code)}`)) throw err
      return
    }
  }
}

describe("a server that is killed under write load", () => {
  test(
    `has every acknowledged write after each of ${KILLS} kills, in an intact store`,
    async () => {
      const seed = Number(process.env["K3TS_SEED"] ?? 20_261_120)
      const random = seededRandom(seed)
      const dataDir = mkdtempSync(join(tmpdir(), "k3ts-crash-"))
      const known = new Map<string, Known>(
        Array.from({ length: WRITERS }, (_, i) => [`w${i}`, { acknowledged: "absent", sent: "absent" }]),
      )
      let writes = 0
      try {
        for (let kill = 0; kill <= KILLS; kill++) {
          // then what the last kill left is whole
          const database = databaseFile(dataDir)
          if (kill > 0) expect({ seed, kill, ...checkStore(database) }).toMatchObject({ seed, kill, problems: [] })
          // when it starts again on it
          const server = await startServer({ dataDir })
          // then each object is as it was acknowledged, or as it was about to become
          const { items } = JSON.parse((await server.get(PATH)).body.toString()) as {
            items: { metadata: { name: string }; data: { n: string } }[]
          }
          for (const [name, { acknowledged, sent }] of known) {
            const found = items.find(({ metadata }) => metadata.name === name)
            const state = found === undefined ? "absent" : Number(found.data.n)
            expect({ seed, kill, name, state, oneOf: [acknowledged, sent].includes(state) }).toEqual({
              seed,
              kill,
              name,
              state,
              oneOf: true,
            })
            known.set(name, { acknowledged: state, sent: state })
          }
          if (kill === KILLS) {
            await server.kill("SIGTERM")
            break
          }
          // given load, then a kill at a moment that differs each time
          const before = [...known.values()].map(({ sent }) => sent)
          const writers = [...known].map(([name, state]) => write(server, name, state, () => random.next()))
          await Bun.sleep(20 + random.next() * 150)
          await server.kill("SIGKILL")
          await Promise.all(writers)
          expect(server.output()).not.toMatch(/Contained a failure/)
          writes += [...known.values()].filter(({ sent }, i) => sent !== before[i]).length
        }
        expect(writes).toBeGreaterThan(KILLS)
      } finally {
        rmSync(dataDir, { recursive: true, force: true })
      }
    },
    Math.max(240_000, KILLS * 5000),
  )
})
