import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test"
import { seededRandom, type Random } from "../../pkg/clock/random.ts"
import { startTarget, type FuzzTarget } from "./target.ts"

const seed = Number(process.env["K3TS_SEED"] ?? 1)
/** `npm run test:long` has ten times as many. */
const ROUNDS = Number(process.env["K3TS_FUZZ_ROUNDS"] ?? 500)

const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "fuzz", labels: { a: "b" } },
  spec: {
    schedulerName: "nobody",
    containers: [{ name: "c", image: "i", ports: [{ containerPort: 80 }], resources: { requests: { cpu: "100m" } } }],
  },
}
const SERVICE = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "fuzz" },
  spec: { ports: [{ port: 80, targetPort: "http" }], selector: { a: "b" } },
}
const DEPLOYMENT = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "fuzz" },
  spec: {
    replicas: 0,
    selector: { matchLabels: { a: "b" } },
    template: { metadata: { labels: { a: "b" } }, spec: POD.spec },
  },
}
const TARGETS = [
  ["/api/v1/namespaces/default/pods", POD],
  ["/api/v1/namespaces/default/services", SERVICE],
  ["/apis/apps/v1/namespaces/default/deployments", DEPLOYMENT],
] as const

const pick = <T>(random: Random, items: readonly T[]): T => items[Math.floor(random.next() * items.length)]!
const ODD: readonly unknown[] = [
  null,
  true,
  -1,
  0,
  1e308,
  2 ** 53,
  "",
  "\u0000",
  "x".repeat(70_000),
  "ä😀",
  [],
  {},
  [[[]]],
  { "": "" },
  { __proto__: null, constructor: 1 },
  "2026-13-45T99:00:00Z",
  "1e9999",
  "-5Gi",
  "${A}",
  "../../etc",
]

/** Returns a copy of a value in which some parts are changed, removed, repeated or added. */
function mutated(value: unknown, random: Random): unknown {
  if (random.next() < 0.15) return pick(random, ODD)
  if (Array.isArray(value)) {
    const items = value.map((item) => (random.next() < 0.5 ? mutated(item, random) : (item as unknown)))
    return random.next() < 0.2 ? [...items, ...items] : items
  }
  if (typeof value !== "object" || value === null) return random.next() < 0.3 ? pick(random, ODD) : value
  const entries = Object.entries(value)
    .filter(() => random.next() > 0.05)
    .map(([key, inner]) => [
      random.next() < 0.05 ? `${key}x` : key,
      random.next() < 0.5 ? mutated(inner, random) : (inner as unknown),
    ])
  if (random.next() < 0.2)
    entries.push([
      pick(random, ["status", "spec", "metadata", "kind", "finalizers", "ownerReferences", "unknown"]),
      pick(random, ODD),
    ])
  return Object.fromEntries(entries) as unknown
}

/** Returns a copy of bytes in which some are changed, cut off or repeated. */
function damaged(bytes: Uint8Array, random: Random): Uint8Array {
  const copy = Buffer.from(bytes)
  for (let i = 0; i < 1 + random.next() * 5; i++)
    copy[Math.floor(random.next() * copy.length)] = Math.floor(random.next() * 256)
  return random.next() < 0.3
    ? copy.subarray(0, Math.floor(random.next() * copy.length))
    : random.next() < 0.1
      ? Buffer.concat([copy, copy])
      : copy
}

describe("a server that gets random requests", () => {
  let target: FuzzTarget
  beforeAll(async () => void (target = await startTarget()))
  afterAll(() => target[Symbol.asyncDispose]())
  afterEach(() => expect({ seed, faults: target.faults() }).toEqual({ seed, faults: [] }))

  test(`answers ${ROUNDS} random objects without an internal error`, async () => {
    const random = seededRandom(seed)
    for (let i = 0; i < ROUNDS; i++) {
      const [path, object] = pick(random, TARGETS)
      const validation = pick(random, [
        "",
        "?fieldValidation=Strict",
        "?fieldValidation=Warn",
        "?dryRun=All",
        "?fieldManager=fuzz",
      ])
      await target.send(
        `object ${i}`,
        "POST",
        path + validation,
        { "content-type": "application/json" },
        JSON.stringify(mutated(object, random)),
      )
    }
  }, 120_000)

  test("answers random patches of every type", async () => {
    const random = seededRandom(seed + 1)
    for (const [path, object] of TARGETS) {
      await target.server.send("POST", path, object)
      for (let i = 0; i < ROUNDS / 5; i++) {
        const type = pick(random, [
          "application/merge-patch+json",
          "application/strategic-merge-patch+json",
          "application/json-patch+json",
          "application/apply-patch+yaml",
        ])
        const body =
          type.includes("json-patch") && random.next() < 0.7
            ? [
                {
                  op: pick(random, ["add", "remove", "replace", "test", "move", "copy", "nonsense"]),
                  path: pick(random, [
                    "/spec",
                    "/metadata/labels/a",
                    "/spec/containers/0",
                    "/spec/containers/-",
                    "",
                    "nonsense",
                    "/a~1b~2",
                  ]),
                  from: "/metadata",
                  value: pick(random, ODD),
                },
              ]
            : mutated(object, random)
        await target.send(
          `patch ${i}`,
          "PATCH",
          `${path}/fuzz?fieldManager=fuzz${random.next() < 0.3 ? "&force=true" : ""}`,
          { "content-type": type },
          JSON.stringify(body),
        )
      }
    }
  }, 120_000)

  test("answers damaged JSON, YAML and protobuf", async () => {
    const random = seededRandom(seed + 2)
    const protobuf = Buffer.concat([
      Buffer.from("k8s\u0000"),
      Buffer.from([10, 9, 10, 2, 118, 49, 18, 3, 80, 111, 100, 18, 20]),
      Buffer.from(JSON.stringify(POD).slice(0, 60)),
    ])
    const bodies: readonly (readonly [string, Buffer])[] = [
      ["application/json", Buffer.from(JSON.stringify(POD))],
      [
        "application/yaml",
        Buffer.from(
          "apiVersion: v1\nkind: Pod\nmetadata:\n  name: &a fuzz\n  labels: {a: *a}\nspec:\n  containers:\n  " +
            "- name: c\n    image: i\n",
        ),
      ],
      ["application/vnd.kubernetes.protobuf", protobuf],
    ]
    for (let i = 0; i < ROUNDS / 2; i++) {
      const [type, bytes] = pick(random, bodies)
      await target.send(
        `bytes ${i}`,
        "POST",
        "/api/v1/namespaces/default/pods",
        { "content-type": type },
        damaged(bytes, random),
      )
    }
  }, 120_000)

  test("answers random paths, queries and headers", async () => {
    const random = seededRandom(seed + 3)
    const parts = [
      "api",
      "apis",
      "v1",
      "apps",
      "namespaces",
      "default",
      "pods",
      "watch",
      "status",
      "fuzz",
      "%00",
      "%zz",
      "..",
      "%2e%2e",
      "%2F",
      "",
      "x".repeat(3000),
      "proxy",
      "log",
      "exec",
      "finalize",
      "openapi",
      "v2",
      "readyz",
      "metrics",
      "ä",
    ]
    const queries = [
      "watch=true&timeoutSeconds=0",
      "limit=-1",
      "limit=x",
      "continue=%ff",
      "continue=AAAA",
      "labelSelector=a%20in%20(",
      "labelSelector==",
      "fieldSelector=spec.nope=1",
      "resourceVersion=-1",
      "resourceVersion=99999999999999999999",
      "resourceVersionMatch=Exact",
      "timeoutSeconds=x",
      "dryRun=x",
      "fieldValidation=x",
      "propagationPolicy=x",
      "gracePeriodSeconds=x",
      "%",
      "a=b&a=c",
      "pretty=%00",
    ]
    for (let i = 0; i < ROUNDS; i++) {
      const path = `/${Array.from({ length: 1 + Math.floor(random.next() * 7) }, () => pick(random, parts)).join("/")}?${pick(random, queries)}${random.next() < 0.5 ? "" : "&timeoutSeconds=1"}`
      const method = pick(random, ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "BREW"])
      const headers = {
        ...(random.next() < 0.8 ? {} : { authorization: pick(random, ["Bearer", "Bearer x.y.z", "Basic !!!", "x"]) }),
        accept: pick(random, [
          "*/*",
          "text/html",
          "application/json;as=Table;v=v9;g=x",
          ";;;q=x",
          "application/yaml",
          "application/vnd.kubernetes.protobuf",
        ]),
      }
      if (/\/(metrics|watch)/.test(path) && method === "GET") headers.accept = "*/*"
      await target.send(`path ${i}`, method, path, headers)
    }
  }, 120_000)

  test("still serves afterwards", async () => {
    expect(target.server.alive).toBe(true)
    expect((await target.server.get("/readyz")).status).toBe(200)
    expect((await target.server.get("/api/v1/namespaces/default/pods")).status).toBe(200)
  })
})
