import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { seededRandom, type Random } from "../../pkg/clock/random.ts"
import { builtinScheme } from "../../pkg/api/scheme.ts"
import type { FieldSpec, Type, Message } from "../../pkg/apimachinery/field-spec.ts"
import type { Resource } from "../../pkg/apimachinery/resource.ts"
import { startTarget, type FuzzTarget } from "./target.ts"

const seed = Number(process.env["K3TS_SEED"] ?? 1)
const ROUNDS = Number(process.env["K3TS_FUZZ_KIND_ROUNDS"] ?? 6)

const pick = <T>(random: Random, items: readonly T[]): T => items[Math.floor(random.next() * items.length)]!
const chance = (random: Random, share: number): boolean => random.next() < share

const STRINGS = [
  "a",
  "web",
  "default",
  "",
  "kube-system",
  "a.example.com/b",
  "Always",
  "10.43.0.1",
  "10.0.0.0/8",
  "::1",
  "http",
  "*/5 * * * *",
  "x".repeat(300),
  "ä",
  "In",
  "v1",
  "Pod",
  "/tmp/../x",
  "100m",
]
const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  string: STRINGS,
  bool: [true, false],
  int32: [0, 1, -1, 80, 65_536, 2_147_483_647],
  int64: [0, 1, -1, 30, 9_007_199_254_740_991],
  double: [0, 1.5, -1],
  bytes: ["", "AAEC", "!!"],
  quantity: ["1", "100m", "1Gi", "-1", "0", 2, "1e3", "x"],
  intOrString: [80, "http", "25%", -1, "x%"],
  time: ["2026-01-01T00:00:00Z", "x"],
  microTime: ["2026-01-01T00:00:00.000001Z"],
  duration: ["1s"],
  json: [{}, null, [1], "x"],
  rawExtension: [{}, { apiVersion: "v1", kind: "Pod" }],
  fieldsV1: [{}, { "f:metadata": {} }],
}

/**
 * Returns a value of the declared type, seldom of another type. Well-typed values get past decoding, to admission,
 * defaults, validation and controllers.
 */
function valueOf(type: Type, random: Random, depth: number, spec?: FieldSpec): unknown {
  if (chance(random, 0.01)) return pick<unknown>(random, [null, 0, "x", [], {}, [[]], true])
  if (type.kind === "message") return objectOf(type.message(), random, depth + 1)
  if (type.kind === "list")
    return Array.from({ length: pick(random, [0, 1, 1, 2]) }, () => valueOf(type.of, random, depth + 1, spec))
  if (type.kind === "map")
    return Object.fromEntries(
      Array.from({ length: pick(random, [0, 1, 2]) }, () => [
        pick(random, ["a", "app", "cpu", "memory", "a.b/c", "constructor", "__proto__", ""]),
        valueOf(type.of, random, depth + 1),
      ]),
    )
  if (type.kind === "string" && spec?.enum !== undefined && chance(random, 0.9)) return pick(random, spec.enum)
  return pick(random, VALUES[type.kind]!)
}

function objectOf(message: Message, random: Random, depth: number): Record<string, unknown> {
  const optional = depth > 6 ? 0.02 : depth > 3 ? 0.12 : 0.3
  return Object.fromEntries(
    Object.entries(message.fields).flatMap(([name, { spec }]) =>
      chance(random, spec.presence === "required" ? 0.93 : optional) && name !== "managedFields"
        ? [[name, valueOf(spec.type, random, depth, spec)]]
        : [],
    ),
  )
}

const made = (resource: Resource, name: string, random: Random) => ({
  ...objectOf(resource.schema, random, 0),
  apiVersion: resource.group === "" ? resource.version : `${resource.group}/${resource.version}`,
  kind: resource.kind,
  metadata: {
    name,
    labels: { fuzz: "yes" },
    ...(chance(random, 0.1) ? { finalizers: ["example.com/held"] } : {}),
    ...(chance(random, 0.1)
      ? { ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "x", uid: "y", controller: true }] }
      : {}),
  },
})

describe("a server that gets random objects of every kind", () => {
  let target: FuzzTarget
  beforeAll(async () => void (target = await startTarget()))
  afterAll(() => target[Symbol.asyncDispose]())

  test(`answers without an internal error, seed ${seed}`, async () => {
    const json = { "content-type": "application/json" }
    const resources = builtinScheme().resources.filter(({ verbs }) => verbs.includes("create"))
    let created = 0
    for (const resource of resources) {
      const random = seededRandom(seed)
      const prefix = resource.group === "" ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`
      const path = `${prefix}${resource.scope === "Namespaced" ? "/namespaces/default" : ""}/${resource.plural}`
      for (let i = 0; i < ROUNDS; i++) {
        const name = `fuzz-${i}`
        const what = `${resource.kind} ${i}`
        // Sometimes nearly empty, so that required fields are missing.
        const object = chance(random, 0.2)
          ? {
              apiVersion: made(resource, name, random).apiVersion,
              kind: resource.kind,
              metadata: { name },
              ...(chance(random, 0.5) ? { spec: {} } : {}),
            }
          : made(resource, name, random)
        const answer = await target.send(what, "POST", path, json, JSON.stringify(object))
        if (answer?.status === 201) created++
        const own = `${path}/${name}`
        await target.send(what, "PUT", own, json, JSON.stringify(made(resource, name, random)))
        const { metadata: _m, ...change } = made(resource, name, random)
        await target.send(
          what,
          "PATCH",
          own,
          { "content-type": pick(random, ["application/merge-patch+json", "application/strategic-merge-patch+json"]) },
          JSON.stringify(change),
        )
        await target.send(
          what,
          "PATCH",
          `${own}?fieldManager=fuzz&force=true`,
          { "content-type": "application/apply-patch+yaml" },
          JSON.stringify(made(resource, name, random)),
        )
        await target.send(what, "PUT", `${own}/status`, json, JSON.stringify(made(resource, name, random)))
        await target.send(
          what,
          "PATCH",
          `${own}/scale`,
          { "content-type": "application/merge-patch+json" },
          JSON.stringify({ spec: { replicas: pick(random, [0, 1, -1, "x", null]) } }),
        )
        await target.send(what, "GET", own, {
          accept: pick(random, [
            "application/json;as=Table;v=v1;g=meta.k8s.io",
            "application/vnd.kubernetes.protobuf",
            "application/yaml",
          ]),
        })
        await target.send(what, "GET", `${path}?labelSelector=fuzz`, {
          accept: "application/json;as=Table;v=v1;g=meta.k8s.io",
        })
        await target.send(
          what,
          "DELETE",
          own,
          json,
          JSON.stringify({
            propagationPolicy: pick(random, ["Background", "Foreground", "Orphan", "x"]),
            gracePeriodSeconds: pick(random, [0, 1, -1]),
          }),
        )
        await target.send(
          what,
          "PATCH",
          own,
          { "content-type": "application/merge-patch+json" },
          JSON.stringify({ metadata: { finalizers: null } }),
        )
      }
    }
    expect({ seed, faults: target.faults() }).toEqual({ seed, faults: [] })
    // Some of the objects were accepted.
    expect(created).toBeGreaterThan(resources.length)
    expect((await target.server.get("/readyz")).status).toBe(200)
  }, 120_000)
})
