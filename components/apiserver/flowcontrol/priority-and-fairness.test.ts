import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { request } from "node:https"
import { systemRandom } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { NodeConnectors } from "../../../pkg/component/node-connector.ts"
import { silent } from "../../../pkg/log/log.ts"
import { createApiServer, type ApiServer } from "../apiserver.ts"

interface Answer {
  readonly code: number | undefined
  readonly schema: string | undefined
  readonly level: string | undefined
  readonly retryAfter: string | undefined
  readonly text: string
}

/** Requests whose user agent is `slow` are held by the server until they are let go. */
interface Held {
  readonly user: string
  letGo(): void
}

let server: ApiServer
let held: Held[]
let isHeld: () => void

beforeEach(async () => {
  held = []
  isHeld = () => undefined
  server = createApiServer(
    { clock: realClock, random: systemRandom, log: silent },
    {
      listen: { host: "127.0.0.1", port: 0 },
      serviceCidrs: ["10.43.0.0/16"],
      nodePorts: { first: 30000, last: 32767 },
      clusterDomain: "cluster.local",
      nodes: new NodeConnectors(),
      intercept: (pipeline) => ({
        ...pipeline,
        authorize: () => ({ allowed: true, reason: "" }),
        handle(asked) {
          if (asked.userAgent !== "slow") return pipeline.handle(asked)
          const { promise, resolve } = Promise.withResolvers<void>()
          held.push({ user: asked.user.name, letGo: resolve })
          isHeld()
          return promise.then(() => pipeline.handle(asked))
        },
      }),
    },
  )
  await server.start(new AbortController().signal)
})
afterEach(() => server.stop())

function ask(user: string, more: { readonly agent?: string; readonly body?: unknown; readonly path?: string } = {}) {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const { agent = "quick", body, path = "/api/v1/namespaces/default/configmaps" } = more
  const sent = request(
    {
      host: "127.0.0.1",
      port: server.port!,
      method: body === undefined ? "GET" : "POST",
      path,
      rejectUnauthorized: false,
      agent: false,
      headers: {
        authorization: `Bearer ${server.files!.adminToken}`,
        "user-agent": agent,
        "content-type": "application/json",
        ...(user === "admin" ? {} : { "impersonate-user": user }),
      },
    },
    (res) => {
      const header = (name: string) => res.headers[name] as string | undefined
      let text = ""
      res
        .on("data", (part: Buffer) => (text += part.toString()))
        .on("end", () =>
          resolve({
            code: res.statusCode,
            schema: header("x-kubernetes-pf-flowschema-uid"),
            level: header("x-kubernetes-pf-prioritylevel-uid"),
            retryAfter: header("retry-after"),
            text,
          }),
        )
    },
  ).on("error", reject)
  sent.end(body === undefined ? undefined : JSON.stringify(body))
  return { answer: promise, abort: () => sent.destroy() }
}

const FLOWCONTROL = "/apis/flowcontrol.apiserver.k8s.io/v1"
const slow = { agent: "slow" }

/** Resolves when so many requests are held. */
async function whenHeld(count: number): Promise<void> {
  while (held.length < count) await new Promise<void>((resolve) => (isHeld = resolve))
}

/** Creates a priority level for some users, with one seat and queues of this length. */
async function limit(name: string, users: readonly string[], queuing: object | undefined, shares = 1): Promise<void> {
  const limitResponse = queuing === undefined ? { type: "Reject" } : { type: "Queue", queuing }
  const made = [
    ask("admin", {
      path: `${FLOWCONTROL}/prioritylevelconfigurations`,
      body: {
        metadata: { name },
        spec: {
          type: "Limited",
          limited: { nominalConcurrencyShares: shares, limitResponse, borrowingLimitPercent: 0 },
        },
      },
    }),
    ask("admin", {
      path: `${FLOWCONTROL}/flowschemas`,
      body: {
        metadata: { name },
        spec: {
          priorityLevelConfiguration: { name },
          matchingPrecedence: 50,
          distinguisherMethod: { type: "ByUser" },
          rules: [
            {
              subjects: users.map((user) => ({ kind: "User", user: { name: user } })),
              resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"] }],
            },
          ],
        },
      },
    }),
  ]
  for (const { answer } of made) expect((await answer).code).toBe(201)
}

const metrics = () => server.metrics.text()
/** How many seats the level of the test has. */
const seatsOf = (level: string): number =>
  Number(new RegExp(`current_limit_seats\\{priority_level="${level}"\\} (\\d+)`).exec(metrics())![1])

describe("priority and fairness", () => {
  test("names FlowSchema and priority level in the headers of each response", async () => {
    const uidOf = async (plural: string, name: string) =>
      (
        JSON.parse((await ask("admin", { path: `${FLOWCONTROL}/${plural}/${name}` }).answer).text) as {
          metadata: { uid: string }
        }
      ).metadata.uid
    // given a level for one user
    await limit("mine", ["jane"], { queues: 4, handSize: 2, queueLengthLimit: 4 })
    // then
    const { schema, level } = await ask("jane").answer
    expect(schema).toBe(await uidOf("flowschemas", "mine"))
    expect(level).toBe(await uidOf("prioritylevelconfigurations", "mine"))
    const other = await ask("joe").answer
    expect(other.schema).toBe(await uidOf("flowschemas", "global-default"))
    const probe = await ask("joe", { path: "/readyz" }).answer
    expect(probe.schema).toBe(await uidOf("flowschemas", "probes"))
  })

  test("lets a request without a seat wait, and rejects it only when the queue is full", async () => {
    // given as many requests as the level has seats, and as many more as may wait
    await limit("mine", ["jane"], { queues: 1, handSize: 1, queueLengthLimit: 2 })
    const seats = seatsOf("mine")
    const first = Array.from({ length: seats }, () => ask("jane", slow).answer)
    await whenHeld(seats)
    const waiting = [ask("jane").answer, ask("jane").answer]
    while (!metrics().includes('current_inqueue_requests{priority_level="mine",flow_schema="mine"} 2'))
      await ask("admin").answer
    // when one more comes
    const beyond = await ask("jane").answer
    // then
    expect(beyond).toMatchObject({ code: 429, retryAfter: "1", text: "Too many requests, please try again later.\n" })
    expect(beyond.schema).toBeDefined()
    // when the seats come free
    for (const { letGo } of held) letGo()
    // then those that waited are served
    expect((await Promise.all([...first, ...waiting])).map(({ code }) => code)).toEqual(
      Array.from({ length: seats + 2 }, () => 200),
    )
    expect(metrics()).toContain(
      'rejected_requests_total{priority_level="mine",flow_schema="mine",reason="queue-full"} 1\n',
    )
    expect((await ask("jane").answer).code).toBe(200)
  })

  test("rejects at once at a level without queues", async () => {
    await limit("mine", ["jane"], undefined)
    const seats = seatsOf("mine")
    const first = Array.from({ length: seats }, () => ask("jane", slow).answer)
    await whenHeld(seats)
    expect((await ask("jane").answer).code).toBe(429)
    expect((await ask("joe").answer).code).toBe(200)
    for (const { letGo } of held) letGo()
    await Promise.all(first)
    expect(metrics()).toContain('reason="concurrency-limit"} 1\n')
  })

  test("serves a user although another one has filled its queues", async () => {
    // given a user that has all seats, and many requests that wait
    await limit("shared", ["flood", "few"], { queues: 64, handSize: 1, queueLengthLimit: 50 })
    const seats = seatsOf("shared")
    const flood = Array.from({ length: seats + 40 }, () => ask("flood", slow).answer)
    await whenHeld(seats)
    while (!metrics().includes('current_inqueue_requests{priority_level="shared",flow_schema="shared"} 40'))
      await ask("admin").answer
    // when another comes, and those of the flood that have seats are over
    const few = ask("few", slow).answer
    while (!metrics().includes('current_inqueue_requests{priority_level="shared",flow_schema="shared"} 41'))
      await ask("admin").answer
    for (let over = 0; over <= seats; over++) {
      held[over]!.letGo()
      await whenHeld(seats + over + 1)
    }
    // then it is among those that are served next, before forty that came earlier
    expect(held.map(({ user }) => user)).toContain("few")
    held.find(({ user }) => user === "few")!.letGo()
    expect((await few).code).toBe(200)
    for (let i = 0; i < held.length || held.length < seats + 41; i++) {
      await whenHeld(i + 1)
      held[i]!.letGo()
    }
    await Promise.all(flood)
  })

  test("drops a waiting request when its client disconnects", async () => {
    await limit("mine", ["jane"], { queues: 1, handSize: 1, queueLengthLimit: 5 })
    const seats = seatsOf("mine")
    const first = Array.from({ length: seats }, () => ask("jane", slow).answer)
    await whenHeld(seats)
    const gone = ask("jane")
    gone.answer.catch(() => undefined)
    while (!metrics().includes('current_inqueue_requests{priority_level="mine",flow_schema="mine"} 1'))
      await ask("admin").answer
    gone.abort()
    while (!metrics().includes('current_inqueue_requests{priority_level="mine",flow_schema="mine"} 0'))
      await ask("admin").answer
    expect(metrics()).toContain('flow_schema="mine",reason="time-out"} 1\n')
    for (const { letGo } of held) letGo()
    await Promise.all(first)
  })

  test("shows its levels, queues and requests to users with the right to see them", async () => {
    await limit("mine", ["jane"], { queues: 2, handSize: 1, queueLengthLimit: 5 })
    const first = ask("jane", slow).answer
    await whenHeld(1)
    const dump = async (what: string) =>
      (await ask("admin", { path: `/debug/api_priority_and_fairness/${what}` }).answer).text.split("\n")
    const levels = await dump("dump_priority_levels")
    expect(levels[0]).toStartWith("PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, WaitingRequests,")
    expect(levels.find((line) => line.startsWith("mine,"))).toMatch(
      /^mine, +0, +false, +false, +0, +1, +1, +0, +0, +0$/,
    )
    expect((await dump("dump_queues")).filter((line) => line.startsWith("mine,"))).toHaveLength(2)
    const requests = await dump("dump_requests?includeRequestDetails=1")
    expect(requests.find((line) => line.startsWith("mine,"))).toMatch(
      /^mine, +mine, +[01], +-1, +jane, +\S+Z, +1, +0, +0s, +\S+Z, +jane, +list, +, +default, +, +v1, +configmaps, +$/,
    )
    held[0]!.letGo()
    await first
  })
})
