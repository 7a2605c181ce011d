import { afterAll, beforeAll, expect, test } from "bun:test"
import { Agent, request } from "node:https"
import { startServer, type TestServer } from "../harness/server.ts"
import { type Identities, type Identity, makeIdentities, NAMESPACE } from "./identities.ts"

/** A text that all invented names contain. */
const MARK = "zzmadeup"
/** How many requests are sent for their names, and for the metrics: there each sort comes five times. */
const REQUESTS = 2000
const SOME = 500

let server: TestServer
let identities: Identities
beforeAll(async () => {
  server = await startServer()
  identities = await makeIdentities(server)
})
afterAll(async () => {
  identities[Symbol.dispose]()
  await server[Symbol.asyncDispose]()
})

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE"]

/** A request for something that does not exist, the `i`th of many; `long` makes each name of several kilobytes. */
function madeUp(i: number, long: boolean): { readonly method: string; readonly path: string } {
  const name = `${MARK}${i}${long ? "x".repeat(4000) : ""}`
  const paths = [
    `/${name}`,
    `/api/v1/${name}`,
    `/api/v1/${name}/a/${name}`,
    `/api/v1/namespaces/${name}/pods`,
    `/api/v1/namespaces/${NAMESPACE}/${name}`,
    `/api/v1/namespaces/${NAMESPACE}/pods/inside/${name}`,
    `/api/v1/namespaces/${NAMESPACE}/pods/${name}/exec?command=${name}`,
    `/api/v1/pods?watch=1&labelSelector=${MARK}${i}&timeoutSeconds=1`,
    `/apis/${name}/v1/pods`,
    `/apis/apps/${name}/deployments`,
    `/openapi/v3/apis/${name}`,
    `/readyz/${name}`,
    `/api/v1/nodes/${name}/proxy/${name}`,
  ]
  return { method: METHODS[i % METHODS.length]!, path: paths[i % paths.length]! }
}

function ask(agent: Agent, who: Identity, i: number, long: boolean): Promise<void> {
  const { method, path } = madeUp(i, long)
  const headers = { ...who.headers, "user-agent": `${MARK}${i}`, accept: `application/json;q=0.${i}, */*` }
  return new Promise((resolve, reject) => {
    request(
      { agent, host: "127.0.0.1", port: server.port, method, path, headers, rejectUnauthorized: false },
      (res) => void res.resume().on("end", resolve),
    )
      .on("error", reject)
      .end()
  })
}

async function flood(who: Identity, long: boolean, requests: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 16, rejectUnauthorized: false, ...who.tls })
  let next = 0
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      while (next < requests) await ask(agent, who, next++, long)
    }),
  )
  agent.destroy()
}

const metrics = async (): Promise<string> => (await server.get("/metrics")).body.toString()
/** Series of controllers, whose rounds come at their own times. */
const OF_CONTROLLERS = /^(?:controller_runtime|node_collector|workqueue)_/
/** Returns the names of series with their labels, without the values. */
const seriesOf = (text: string): readonly string[] =>
  text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#") && !OF_CONTROLLERS.test(line))
    .map((line) => line.slice(0, line.lastIndexOf(" ")))

test.each(["anonymous", "outsider", "namespaceAdmin", "administrator"] as const)(
  "requests of %s for paths that do not exist leave no new series in the metrics",
  async (name) => {
    // given the series that one round of them makes: verbs, codes
    await flood(identities[name], false, SOME)
    const before = new Set(seriesOf(await metrics()))

    // when others come, with long names
    await flood(identities[name], true, SOME)

    // then no series is new, and none has a part of a path
    const text = await metrics()
    expect(seriesOf(text).filter((one) => !before.has(one))).toEqual([])
    expect(text).not.toContain(MARK)
    expect(text.length).toBeLessThan(1_000_000)
  },
  60_000,
)

test("the names in such requests are not kept in memory", async () => {
  // given a server that has seen all sorts of requests
  const before = server.residentMb()

  // when 8 MB of names in namespaces and resources come, twice
  await flood(identities.outsider, true, REQUESTS)
  await flood(identities.namespaceAdmin, true, REQUESTS)

  // then
  expect(server.residentMb() - before).toBeLessThan(60)
}, 60_000)
