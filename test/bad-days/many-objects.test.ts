/**
 * Many objects and definitions: all are served, also after a restart, and others are served meanwhile. The full size by
 * name: K3TS_OBJECTS=100000 K3TS_DEFINITIONS=5000 bun test --timeout 900000 ./test/bad-days/many-objects.test.ts
 */
import { expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { startServer, type TestServer } from "../harness/server.ts"

const OBJECTS = Number(process.env["K3TS_OBJECTS"] ?? 1000)
const DEFINITIONS = Number(process.env["K3TS_DEFINITIONS"] ?? 100)
const GROUPS = 20
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

const definition = (i: number) => {
  const group = `g${i % GROUPS}.example.com`
  const openAPIV3Schema = {
    type: "object",
    properties: { spec: { type: "object", properties: { replicas: { type: "integer", minimum: 0 } } } },
  }
  return {
    metadata: { name: `things${i}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: `things${i}`, kind: `Thing${i}` },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  }
}

async function createAll(server: TestServer, path: string, count: number, object: (i: number) => object) {
  let next = 0
  const one = async (): Promise<void> => {
    while (next < count) expect((await server.send("POST", path, object(next++))).status).toBe(201)
  }
  await Promise.all(Array.from({ length: 16 }, one))
}

test(`${OBJECTS} ConfigMaps and ${DEFINITIONS} definitions are all served, before and after a restart`, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "k3ts-many-"))
  const told: string[] = []
  const timed = async (what: string, server: TestServer, path: string, accept = "application/json") => {
    const from = performance.now()
    const { status, body } = await server.raw("GET", path, { authorization: `Bearer ${server.token}`, accept })
    told.push(`${what}: ${Math.round(performance.now() - from)} ms, ${body.length} bytes`)
    expect(status).toBe(200)
    return JSON.parse(body.toString()) as { items: object[]; rows: object[]; paths: Record<string, object> }
  }
  const check = async (server: TestServer) => {
    expect((await timed("list", server, CONFIG_MAPS)).items).toHaveLength(OBJECTS + 1)
    const table = "application/json;as=Table;v=v1;g=meta.k8s.io"
    expect((await timed("table", server, CONFIG_MAPS, table)).rows).toHaveLength(OBJECTS + 1)
    const { paths } = await timed("OpenAPI v3", server, "/openapi/v3")
    expect(Object.keys(paths).filter((path) => path.endsWith(".example.com/v1"))).toHaveLength(GROUPS)
    const v2 = Object.keys((await timed("OpenAPI v2", server, "/openapi/v2")).paths)
    expect(v2.filter((path) => /^\/apis\/[^/]+\/v1\/namespaces\/\{namespace\}\/things\d+$/.test(path))).toHaveLength(
      DEFINITIONS,
    )
    told.push(`memory: ${Math.round(server.residentMb())} MB`)
  }
  try {
    {
      await using server = await startServer({ dataDir, agent: "simulated" })
      // given a client that reads something small all the time
      let isOver = false
      let worstMs = 0
      const other = (async () => {
        for (let from = performance.now(); !isOver; from = performance.now()) {
          expect((await server.get("/api/v1/namespaces/default")).status).toBe(200)
          worstMs = Math.max(worstMs, performance.now() - from)
          await Bun.sleep(5)
        }
      })()
      // when
      try {
        await createAll(server, CONFIG_MAPS, OBJECTS, (i) => ({ metadata: { name: `c${i}` }, data: { i: String(i) } }))
        await createAll(server, CRDS, DEFINITIONS, definition)
        await check(server)
      } finally {
        isOver = true
        await other
      }
      told.push(`longest wait of another client: ${Math.round(worstMs)} ms`)
    }
    await using again = await startServer({ dataDir, agent: "simulated" })
    told.push(`start: ${again.readyAfter.toFixed(1)} s`)
    await check(again)
    if (process.env["K3TS_OBJECTS"] !== undefined) console.log(told.join("\n"))
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
})
