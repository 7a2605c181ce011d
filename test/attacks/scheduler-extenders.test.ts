import { afterAll, describe, expect, test } from "bun:test"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { Cache } from "../../components/scheduler/cache.ts"
import { filterResult, preemptResult, prioritizeResult } from "../../components/scheduler/extender/extender-answers.ts"
import { httpExtender } from "../../components/scheduler/extender/extender-client.ts"
import { ExtenderExternal } from "../../components/scheduler/extender/extender-external.ts"
import { Breaker } from "../../components/scheduler/plugin-host/breaker.ts"
import { nodeOf, podOf } from "../../components/scheduler/schedule-one.fixtures.ts"
import { realClock } from "../../pkg/clock/real.ts"
import { silent } from "../../pkg/log/log.ts"

const servers: Server[] = []
afterAll(() => servers.forEach((server) => (server.closeAllConnections(), server.close())))

const cache = new Cache()
for (const name of ["a", "b"]) cache.setNode(nodeOf(name))

/** An extender behind a server that does `answer` with each request. */
async function extender(answer: (response: ServerResponse, request: IncomingMessage) => void, httpTimeout = "500ms") {
  const server = createServer((request, response) => void request.resume().on("end", () => answer(response, request)))
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const config = {
    urlPrefix: `http://127.0.0.1:${(server.address() as AddressInfo).port}/x`,
    filterVerb: "filter",
    preemptVerb: "",
    prioritizeVerb: "",
    bindVerb: "",
    weight: 1,
    enableHTTPS: false,
    httpTimeout,
    nodeCacheCapable: true,
    ignorable: false,
  }
  return new ExtenderExternal(
    config,
    httpExtender(config, realClock),
    new Breaker("extender", realClock, silent),
    cache,
  )
}
const ask = (external: ExtenderExternal) =>
  external.filter({ key: "uid/1", pod: podOf("p") }, cache.list).then(
    ({ refused }) => `refused ${[...refused.keys()].join()}`,
    (err: Error) => err.message,
  )
const written =
  (text: string, code = 200) =>
  (response: ServerResponse) =>
    void response.writeHead(code).end(text)

describe("an extender of the scheduler", () => {
  test.each<[string, (response: ServerResponse) => void, RegExp]>([
    ["never answers", () => undefined, /has not answered within 0\.5s/],
    ["answers a byte at a time", (response) => void setInterval(() => response.write(" "), 20).unref(), /within 0\.5s/],
    ["closes the connection", (response) => void response.destroy(), /filter failed: /],
    ["answers with a failure", written("no", 500), /filter failed with status code 500/],
    [
      "redirects",
      (response) => void response.writeHead(302, { location: "http://127.0.0.1:1/" }).end(),
      /status code 302/,
    ],
    ["answers no JSON", written("<html>"), /answered no JSON/],
    ["answers a number", written("7"), /answered no object/],
    ["answers null", written("null"), /answered no object/],
    ["answers with an error", written('{"error": "no licence"}'), /no licence/],
    ["names other nodes", written('{"NodeNames": ["c"]}'), /claims a filtered node "c"/],
    ["names no texts", written('{"NodeNames": [1]}'), /must be a list of names/],
    ["answers nothing", written("{}"), /refused a,b/],
    ["has its fields in a prototype", written('{"__proto__": {"NodeNames": ["a", "b"]}}'), /refused a,b/],
    ["answers in small letters, as Go reads it", written('{"nodenames": ["a"]}'), /refused b/],
  ])("that %s is bounded and named", async (_what, answer, outcome) => {
    const said = await ask(await extender(answer))
    expect(said).toMatch(outcome)
    if (!said.startsWith("refused")) expect(said).toStartWith("extender http://127.0.0.1:")
  })

  test("that never ends its answer is read up to 64 MiB", async () => {
    const said = await ask(
      await extender((response) => {
        const more = (): void => void (response.destroyed || (response.write("x".repeat(1 << 20)), setImmediate(more)))
        more()
      }, "60s"),
    )
    expect(said).toContain("answered more than 64 MiB")
  }, 70_000)

  test("that failed three times is not asked for a while", async () => {
    let asked = 0
    const external = await extender((response) => {
      asked++
      response.destroy()
    })
    for (let i = 0; i < 5; i++) await ask(external)
    expect(asked).toBe(3)
    expect(await ask(external)).toContain("is not asked for 5s, because it failed 3 times")
  })
})

test.each<[string, () => unknown]>([
  ["scores that are no list", () => prioritizeResult({ a: 1 })],
  ["a score that is no whole number", () => prioritizeResult([{ Host: "a", Score: 1e300 }])],
  ["a score of no host", () => prioritizeResult([{ Score: 1 }])],
  ["victims that are no list", () => preemptResult({ NodeNameToMetaVictims: { a: { Pods: 1 } } })],
  ["victims without UIDs", () => preemptResult({ NodeNameToMetaVictims: { a: { Pods: [{}] } } })],
  ["reasons that are no map", () => filterResult({ NodeNames: ["a"], FailedNodes: "x" }, new Set(["a"]))],
])("%s are refused", (_what, read) => {
  expect(read).toThrow(TypeError)
})
