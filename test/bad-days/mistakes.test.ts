import { expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { startServer, type TestServer } from "../harness/server.ts"
import { MADE_AT } from "./mistakes.fixtures.ts"

const PATH = "/api/v1/namespaces/default/configmaps"
const PROGRAM = [
  process.execPath,
  "--preload",
  join(import.meta.dirname, "mistakes.fixtures.ts"),
  join(import.meta.dirname, "../../cmd/k3ts/main.ts"),
]
const create = async (server: TestServer, name: string) =>
  (await server.send("POST", PATH, { metadata: { name }, data: { kept: "yes" } })).status

async function contained(server: TestServer): Promise<Record<string, number>> {
  const text = (await server.get("/metrics")).body.toString()
  const lines = text.matchAll(/^k3ts_contained_failures_total\{place="([^"]+)"\} (\d+)/gm)
  return Object.fromEntries([...lines].map(([, place, count]) => [place!, Number(count)]))
}

test("errors that no part has caught are counted, logged and survived; only damage of the store ends the server", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "k3ts-mistakes-"))
  try {
    await using server = await startServer({ dataDir, program: PROGRAM, mayFail: true, agent: "simulated" })
    // given a watch that is open all the time
    const watched = server.get(`${PATH}?watch=true&timeoutSeconds=3&resourceVersion=0`)
    // when one mistake after another is made
    const expected: Record<string, number> = {}
    for (const [i, place] of MADE_AT.entries()) {
      process.kill(server.pid, "SIGUSR2")
      expected[place] = (expected[place] ?? 0) + 1
      while ((await contained(server))[place] !== expected[place]) await Bun.sleep(5)
      // then the server takes writes
      expect(await create(server, `after-${i}`)).toBe(201)
    }
    // and has counted each, and logged its stack
    expect(await contained(server)).toEqual(expected)
    expect(server.output()).toMatch(
      /place="uncaught exception" err="a mistake in a callback" stack="[^\n]*mistakes\.fixtures/,
    )
    expect((await server.get("/readyz")).status).toBe(200)
    // and the watch got everything
    const events = (await watched).body.toString()
    for (const i of MADE_AT.keys()) expect(events).toContain(`"name":"after-${i}"`)
    // but when the store is damaged in the middle of a commit, the server ends with the reason
    process.kill(server.pid, "SIGUSR2")
    expect(await server.ended).toBe(1)
    expect(server.output()).toContain("the store failed in the middle of a commit")
    // and the next start has all that was written
    await using again = await startServer({ dataDir })
    const { items } = JSON.parse((await again.get(PATH)).body.toString()) as { items: { data: object }[] }
    expect(items.filter(({ data }) => "kept" in data)).toHaveLength(MADE_AT.length)
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
})
