/** The largest bodies of subresources, and patches of many parts, which no declaration of a stored kind describes. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { ClusterProcess, TEST_LIMIT_MS } from "./cluster-process.ts"

/** Processor time of a turn, in milliseconds: wide enough for cold code on any machine. */
const MOST_MS = 1500

const CORE = "/api/v1/namespaces/default"
const APPS = "/apis/apps/v1/namespaces/default/deployments"
const range = (n: number): readonly number[] => Array.from({ length: n }, (_, i) => i)
const many = (n: number, value = "v"): Record<string, string> =>
  Object.fromEntries(range(n).map((i) => [`k${i}`, value]))
const spec = { containers: [{ name: "c", image: "registry.example/c:1" }] }
const env = (n: number, more: object): readonly object[] => range(n).map((i) => ({ name: `E${i}`, ...more }))
const template = (container: object): object => ({
  spec: { template: { spec: { containers: [{ name: "c", ...container }] } } },
})
const deployment = (container: object): object => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "d" },
  ...template(container),
})
const patch = (kind: string) => ({ "content-type": `application/${kind}` })
const [JSON_PATCH, STRATEGIC, APPLY] = [
  patch("json-patch+json"),
  patch("strategic-merge-patch+json"),
  patch("apply-patch+yaml"),
]
/** Managers of one field each. */
const managers = (n: number): readonly object[] =>
  range(n).map((i) => ({
    manager: `m${i}`,
    operation: "Apply",
    apiVersion: "v1",
    time: "2026-01-01T00:00:00Z",
    fieldsType: "FieldsV1",
    fieldsV1: { "f:data": { [`f:k${i}`]: {} } },
  }))

type Sent = readonly [method: string, path: string, body: unknown, headers?: Record<string, string>]

const BODIES: readonly (readonly [string, Sent])[] = [
  [
    "an eviction with many labels",
    ["POST", `${CORE}/pods/p/eviction`, { metadata: { name: "p", labels: many(60_000) } }],
  ],
  [
    "a token for many audiences",
    ["POST", `${CORE}/serviceaccounts/default/token`, { spec: { audiences: range(100_000).map((i) => `a${i}`) } }],
  ],
  [
    "a scale with many labels",
    [
      "PUT",
      `${APPS}/d/scale`,
      { metadata: { name: "d", namespace: "default", labels: many(60_000) }, spec: { replicas: 0 } },
    ],
  ],
  [
    "a binding with many annotations",
    [
      "POST",
      `${CORE}/pods/waiting/binding`,
      { metadata: { name: "waiting", annotations: many(60_000) }, target: { kind: "Node", name: "simulated" } },
    ],
  ],
  [
    "an update with thousands of managers",
    [
      "PUT",
      `${CORE}/configmaps/managed`,
      { metadata: { name: "managed", managedFields: managers(8000) }, data: many(8000) },
    ],
  ],
  [
    "the same update again",
    [
      "PUT",
      `${CORE}/configmaps/managed`,
      { metadata: { name: "managed", managedFields: managers(8000) }, data: many(8000) },
    ],
  ],
  [
    "an apply that conflicts with thousands of managers",
    [
      "PATCH",
      `${CORE}/configmaps/managed?fieldManager=me`,
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "managed" }, data: many(8000, "w") },
      APPLY,
    ],
  ],
  [
    "a JSON patch of thousands of tests",
    [
      "PATCH",
      `${CORE}/configmaps/big`,
      range(9999).map((i) => ({ op: "test", path: `/data/k${i}`, value: "v" })),
      JSON_PATCH,
    ],
  ],
  [
    "a strategic merge patch of a long list",
    ["PATCH", `${APPS}/d`, template({ env: env(40_000, { value: "v" }) }), STRATEGIC],
  ],
  [
    "a strategic merge patch that orders a long list",
    ["PATCH", `${APPS}/d`, template({ "$setElementOrder/env": env(40_000, {}).toReversed() }), STRATEGIC],
  ],
  [
    "a strategic merge patch that empties a long list",
    ["PATCH", `${APPS}/d`, template({ env: env(40_000, { $patch: "delete" }) }), STRATEGIC],
  ],
  [
    "an apply of a long list",
    ["PATCH", `${APPS}/d?fieldManager=me&force=true`, deployment({ env: env(25_000, { value: "v" }) }), APPLY],
  ],
  ["an apply that takes a long list away", ["PATCH", `${APPS}/d?fieldManager=me&force=true`, deployment({}), APPLY]],
]

describe("a whole cluster", () => {
  let cluster: ClusterProcess
  beforeAll(async () => {
    cluster = new ClusterProcess()
    await cluster.start()
    const labels = { a: "b" }
    const created = await Promise.all([
      cluster.send("POST", `${CORE}/pods`, { metadata: { name: "p" }, spec }),
      cluster.send("POST", `${CORE}/pods`, { metadata: { name: "waiting" }, spec: { ...spec, schedulerName: "none" } }),
      cluster.send("POST", `${CORE}/configmaps`, { metadata: { name: "big" }, data: many(40_000) }),
      cluster.send("POST", `${CORE}/configmaps`, { metadata: { name: "managed" } }),
      cluster.send("POST", APPS, {
        metadata: { name: "d" },
        spec: { replicas: 0, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
      }),
    ])
    expect(created.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201])
  }, TEST_LIMIT_MS)
  afterAll(() => cluster[Symbol.asyncDispose]())

  test.each(BODIES)(
    "serves others while it has %s",
    async (_title, [method, path, body, headers]) => {
      // when
      await cluster.begin()
      const { status } = await cluster.send(method, path, body, headers)
      const { longestMs } = await cluster.end()
      // then it is carried out, or refused for a conflict, and no turn of the event loop is long
      expect(status).toBeOneOf([200, 201, 409])
      expect(longestMs).toBeLessThan(MOST_MS)
    },
    TEST_LIMIT_MS,
  )
})
