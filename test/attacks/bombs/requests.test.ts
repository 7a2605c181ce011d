/** The largest values that the server takes of every query parameter and every header that it reads. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { ClusterProcess, TEST_LIMIT_MS } from "./cluster-process.ts"

/** Processor time of a turn, in milliseconds, and growth of the heap in bytes, for requests of 60 KB. */
const MOST_MS = 250
const MOST_KEPT = 24_000_000
/** A head may have 64 KiB. */
const LONGEST = 60_000
/** How often each request is sent, each time with another text: what caches keep of them is counted, too. */
const TIMES = 20
const OBJECTS = 2000

const PATH = "/api/v1/namespaces/default/configmaps"
/** Returns as many of the parts as a head may have, joined. */
function filled(part: (i: number) => string, separator = ",", longest = LONGEST): string {
  let text = ""
  for (let i = 0; text.length + 20 < longest; i++) text += (i === 0 ? "" : separator) + part(i)
  return text
}
const long = (n: number) => `${n}${"x".repeat(LONGEST - 100)}`
const query = (name: string, value: string) => ({ path: `${PATH}?${name}=${value}` })
const header = (name: string, value: string) => ({ path: `${PATH}?limit=1`, headers: { [name]: value } })

const REQUESTS: readonly (readonly [string, (n: number) => { path: string; headers?: Record<string, string> }])[] = [
  [
    "labelSelector of absent labels",
    (n) =>
      query(
        "labelSelector",
        filled((i) => `!k${n}-${i}`),
      ),
  ],
  ["labelSelector of values", (n) => query("labelSelector", `app+in+(${filled((i) => `v${n}-${i}`)})`)],
  [
    "labelSelector of other values",
    (n) =>
      query(
        "labelSelector",
        filled((i) => `app!=v${n}-${i}`),
      ),
  ],
  [
    "fieldSelector",
    (n) =>
      query(
        "fieldSelector",
        filled((i) => `metadata.name!=c${n}-${i}`),
      ),
  ],
  ["fieldSelector with escapes", (n) => query("fieldSelector", `metadata.name=${n}${"%5C%5C".repeat(9000)}`)],
  ["continue", (n) => query("continue", long(n))],
  ["resourceVersion", (n) => query("resourceVersion", "9".repeat(LONGEST - n))],
  ["resourceVersionMatch", (n) => query("resourceVersionMatch", long(n))],
  ["limit", (n) => query("limit", "9".repeat(LONGEST - n))],
  ["timeoutSeconds", (n) => query("timeoutSeconds", "9".repeat(LONGEST - n))],
  ["timeout", (n) => query("timeout", "1h".repeat(LONGEST / 2 - n))],
  ["fieldManager", (n) => query("fieldManager", long(n))],
  ["pretty", (n) => query("pretty", long(n))],
  ["parameters without a meaning", (n) => ({ path: `${PATH}?limit=1&${filled((i) => `p${n}${i}`, "&")}` })],
  [
    "Accept",
    (n) =>
      header(
        "accept",
        filled((i) => `a/b${n}${i};q=0.1`),
      ),
  ],
  ["Accept with parameters", (n) => header("accept", `application/json;${filled((i) => `p${n}${i}=1`, ";")}`)],
  [
    "Accept as a table",
    (n) =>
      header(
        "accept",
        filled((i) => `application/json;as=T${n}${i};g=meta.k8s.io;v=v1`),
      ),
  ],
  [
    "Accept-Encoding",
    (n) =>
      header(
        "accept-encoding",
        filled((i) => `e${n}${i};q=0.1`),
      ),
  ],
  ["Authorization", (n) => header("authorization", `Bearer ${long(n)}`)],
  ["Authorization like a token", (n) => header("authorization", `Bearer ${long(n)}.${n}.x`.slice(0, LONGEST))],
  ["Impersonate-User", (n) => header("impersonate-user", long(n))],
  [
    "Impersonate-Group",
    (n) => ({ ...header("impersonate-user", "u"), headers: { "impersonate-user": "u", "impersonate-group": long(n) } }),
  ],
  [
    "Impersonate-Extra",
    (n) => ({
      ...header("impersonate-user", "u"),
      headers: { "impersonate-user": "u", [`impersonate-extra-a${n}`]: long(n) },
    }),
  ],
  [
    "Impersonate-Uid",
    (n) => ({ ...header("impersonate-user", "u"), headers: { "impersonate-user": "u", "impersonate-uid": long(n) } }),
  ],
  ["traceparent", (n) => header("traceparent", `00-${long(n)}`)],
  [
    "tracestate",
    (n) =>
      header(
        "tracestate",
        filled((i) => `k${n}${i}=v`),
      ),
  ],
  ["Audit-Id", (n) => header("audit-id", long(n))],
  ["User-Agent", (n) => header("user-agent", long(n))],
  [
    "If-None-Match",
    (n) =>
      header(
        "if-none-match",
        filled((i) => `"${n}${i}"`),
      ),
  ],
  ["X-Remote-User", (n) => header("x-remote-user", long(n))],
  [
    "Sec-WebSocket-Protocol",
    (n) =>
      header(
        "sec-websocket-protocol",
        filled((i) => `p${n}${i}`),
      ),
  ],
  [
    "many headers",
    (n) => ({
      path: PATH,
      headers: Object.fromEntries(Array.from({ length: 1500 }, (_, i) => [`x-${n}-${i}`, "v".repeat(20)])),
    }),
  ],
  ["a path", (n) => ({ path: `${PATH}/${long(n)}` })],
  ["a path of many parts", (n) => ({ path: `/${filled((i) => `${n}${i}`, "/")}` })],
]

describe("a server with thousands of objects", () => {
  let cluster: ClusterProcess
  beforeAll(async () => {
    cluster = new ClusterProcess()
    await cluster.start()
    const create = (i: number) =>
      cluster.send("POST", PATH, { metadata: { name: `c${i}`, labels: { app: `v${i}`, tier: "front" } } })
    for (let i = 0; i < OBJECTS; i += 50) await Promise.all(Array.from({ length: 50 }, (_, k) => create(i + k)))
  }, TEST_LIMIT_MS)
  afterAll(() => cluster[Symbol.asyncDispose]())

  test.each(REQUESTS)(
    "serves others while it has the largest %s, and keeps nothing of it",
    async (_title, request) => {
      // given a request of the same form, so that what is measured is not the first run of cold code
      const ask = (n: number) => {
        const { path, headers } = request(n)
        return cluster.send("GET", path, undefined, headers).then(({ status }) => status)
      }
      await ask(1)

      // when
      await cluster.begin()
      const statuses = new Set<number>()
      for (let n = 2; n < 2 + TIMES; n++) statuses.add(await ask(n))
      const { longestMs, kept } = await cluster.end()

      // then
      expect({ statuses: [...statuses].filter((status) => status >= 500) }).toEqual({ statuses: [] })
      expect(longestMs).toBeLessThan(MOST_MS)
      expect(kept).toBeLessThan(MOST_KEPT)
    },
    TEST_LIMIT_MS,
  )
})
