import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startHttpServer } from "../serving/http-server.fixtures.ts"
import {
  FLUNDERS,
  GROUP,
  register,
  RESOURCES,
  untilAvailability,
  type HttpServer,
} from "./extension-server.fixtures.ts"

/** Invalid responses of an extension server to `/apis/<group>/<version>`, by what is wrong with them. */
const DISCOVERY: Readonly<Record<string, () => Response>> = {
  "text that is no JSON": () => new Response("<html>"),
  "another kind of object": () => Response.json({ kind: "PodList", items: [] }),
  "resources that are no list": () => Response.json({ kind: "APIResourceList", resources: {} }),
  "verbs that are numbers": () => Response.json({ kind: "APIResourceList", resources: [{ name: "a", verbs: [1] }] }),
  "null for a resource": () => Response.json({ kind: "APIResourceList", resources: [null] }),
  "deeply nested lists": () => new Response("[".repeat(100_000)),
}

let http: HttpServer
let discovery = () => Response.json(RESOURCES)
let answer = (_request: Request): Response | Promise<Response> => Response.json({})
beforeAll(async () => {
  http = await startHttpServer({
    requestTimeoutMs: 1000,
    extensionServers: (service) =>
      service !== "default/extension"
        ? undefined
        : (request) => {
            const { pathname } = new URL(request.url)
            if (pathname === "/apis") return new Response(null, { status: 404 })
            return pathname === `/apis/${GROUP}/v1` ? discovery() : answer(request)
          },
  })
})
afterAll(() => http.stop())

const aggregated = async () => {
  const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
  const { text } = await http.call("GET", "/apis", { headers: { accept } })
  return (JSON.parse(text) as { items: { metadata: { name: string }; versions: object[] }[] }).items
}
const remove = () => http.call("DELETE", `/apis/apiregistration.k8s.io/v1/apiservices/v1.${GROUP}`)

describe("an extension server whose discovery document has", () => {
  test.each(Object.keys(DISCOVERY))("%s is shown without resources, and other groups are still shown", async (what) => {
    // given
    const before = await aggregated()
    discovery = DISCOVERY[what]!
    await register(http, 443, {})
    await untilAvailability(http, "Passed")
    // then
    const after = await aggregated()
    expect(after.filter(({ metadata }) => metadata.name !== GROUP)).toEqual(before)
    expect(after.find(({ metadata }) => metadata.name === GROUP)?.versions).toEqual([
      { version: "v1", freshness: "Stale" },
    ])
    await remove()
  })

  test("more than 4 MiB is not available", async () => {
    discovery = () => new Response(" ".repeat(5 * 1024 * 1024))
    await register(http, 443, {})
    expect((await untilAvailability(http, "FailedDiscoveryCheck")).message).toContain("is larger than 4194304 bytes")
    await remove()
  })
})

describe("an extension server that responds to a request with", () => {
  beforeAll(async () => {
    discovery = () => Response.json(RESOURCES)
    await register(http, 443, {})
    await untilAvailability(http, "Passed")
  })
  const ANSWERS: readonly { title: string; given: () => Response | Promise<Response>; wants: number }[] = [
    { title: "a failure", given: () => Promise.reject(new Error("out of order")), wants: 503 },
    { title: "a redirect", given: () => new Response(null, { status: 302, headers: { location: "//x" } }), wants: 502 },
    {
      title: "nothing, and keeps the connection open",
      given: () => new Promise<Response>(() => undefined),
      wants: 504,
    },
    {
      title: "headers that only this server may set",
      given: () => new Response("", { headers: { "audit-id": "forged", "access-control-allow-origin": "*" } }),
      wants: 200,
    },
  ]
  test.each(ANSWERS)("$title makes only that request fail", async ({ given, wants }) => {
    answer = given
    const { code, headers } = await http.call("GET", FLUNDERS)
    expect(code).toBe(wants)
    expect(headers["audit-id"]).not.toBe("forged")
    expect(headers["access-control-allow-origin"]).toBeUndefined()
    expect((await http.call("GET", "/api/v1/namespaces/default")).code).toBe(200)
  })
})
