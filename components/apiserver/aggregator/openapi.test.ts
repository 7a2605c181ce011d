import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startHttpServer } from "../serving/http-server.fixtures.ts"
import { GROUP, register, RESOURCES, untilAvailability, type HttpServer } from "./extension-server.fixtures.ts"

const V2 = {
  swagger: "2.0",
  info: { title: "Wardle", version: "1" },
  paths: {
    [`/apis/${GROUP}/v1/flunders`]: {
      get: { responses: { "200": { description: "OK", schema: { $ref: "#/definitions/wardle.Flunder" } } } },
    },
  },
  definitions: { "wardle.Flunder": { description: "A fish.", type: "object" } },
}
const V3 = { openapi: "3.0.0", info: { title: "Wardle" }, paths: {} }

let http: HttpServer
let asked: string[] = []
beforeAll(async () => {
  http = await startHttpServer({
    extensionServers: (service) =>
      service !== "default/extension"
        ? undefined
        : (request) => {
            const { pathname } = new URL(request.url)
            asked.push(pathname)
            switch (pathname) {
              case `/apis/${GROUP}/v1`:
                return Response.json(RESOURCES)
              case "/openapi/v2":
                return Response.json(V2)
              case "/openapi/v3":
                return Response.json({
                  paths: {
                    [`apis/${GROUP}/v1`]: { serverRelativeURL: `/openapi/v3/apis/${GROUP}/v1?hash=AB12` },
                    "apis/apps/v1": { serverRelativeURL: "/openapi/v3/apis/apps/v1?hash=EVIL" },
                  },
                })
              case `/openapi/v3/apis/${GROUP}/v1`:
                return Response.json(V3, { headers: { ETag: '"AB12"' } })
              default:
                return new Response(null, { status: 404 })
            }
          },
  })
  await register(http, 443, {})
  await untilAvailability(http, "Passed")
})
afterAll(() => http.stop())

const get = async (path: string) => JSON.parse((await http.call("GET", path)).text) as Record<string, never>

describe("OpenAPI of an extension server", () => {
  test("is requested when a client requests OpenAPI, and once for many clients", async () => {
    expect(asked.filter((path) => path.startsWith("/openapi"))).toEqual([])
    asked = []
    const [first] = await Promise.all([get("/openapi/v2"), get("/openapi/v2")])
    await get("/openapi/v2")
    expect(asked).toEqual(["/openapi/v2"])
    expect(Object.keys(first!["paths"]!)).toContain(`/apis/${GROUP}/v1/flunders`)
    expect(first!["definitions"]!["wardle.Flunder"]).toMatchObject({ description: "A fish." })
    expect(first!["paths"]!["/api/v1/pods"]).toBeDefined()
  })

  test("is in the index of version 3 with its hash, for its own version only", async () => {
    const { paths } = await get("/openapi/v3")
    expect(paths![`apis/${GROUP}/v1`]).toEqual({ serverRelativeURL: `/openapi/v3/apis/${GROUP}/v1?hash=AB12` } as never)
    expect(JSON.stringify(paths)).not.toContain("EVIL")
    expect(await get(`/openapi/v3/apis/${GROUP}/v1?hash=AB12`)).toEqual(V3 as never)
  })

  test.each([
    ["of its own", "AB12", "public, immutable"],
    ["of an older document", "0000", "no-cache, private"],
  ])("has the right to be kept under a hash %s", async (_, hash, wants) => {
    const { headers } = await http.call("GET", `/openapi/v3/apis/${GROUP}/v1?hash=${hash}`)
    expect(headers["cache-control"]).toBe(wants)
  })
})

test("a server without version 3 gets a document that is converted from its version 2", async () => {
  // given
  const older = await startHttpServer({
    extensionServers: () => (request) => {
      const { pathname } = new URL(request.url)
      if (pathname === `/apis/${GROUP}/v1`) return Response.json(RESOURCES)
      return pathname === "/openapi/v2" ? Response.json(V2) : new Response(null, { status: 404 })
    },
  })
  try {
    await register(older, 443, {})
    await untilAvailability(older, "Passed")
    const read = async (path: string) => JSON.parse((await older.call("GET", path)).text) as Record<string, never>
    // when
    const { paths } = await read("/openapi/v3")
    const { serverRelativeURL } = paths![`apis/${GROUP}/v1`] as { serverRelativeURL: string }
    const document = await read(serverRelativeURL)
    // then
    expect(serverRelativeURL).toMatch(new RegExp(`^/openapi/v3/apis/${GROUP}/v1\\?hash=[0-9A-F]{64}$`))
    expect(document as unknown).toEqual({
      openapi: "3.0.0",
      info: V2.info,
      paths: { [`/apis/${GROUP}/v1/flunders`]: { get: { responses: { "200": { description: "OK" } } } } },
      components: { schemas: V2.definitions },
    })
  } finally {
    await older.stop()
  }
})
