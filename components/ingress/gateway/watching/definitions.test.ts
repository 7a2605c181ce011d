import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { parse } from "yaml"
import { CustomResourceDefinition } from "../../../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import { DEFINITIONS } from "../../../../pkg/gateway-api/definitions.ts"
import { startCluster, type Cluster } from "../../../cluster/testing/cluster.ts"

/** Upstream's definitions, which are no part of this project. */
const UPSTREAM = join(import.meta.dirname, "../../../../../shared/crds/gateway-api")
const hasUpstream = existsSync(UPSTREAM)
if (!hasUpstream) console.warn(`SKIPPED: the comparison with upstream's definitions, which are not in ${UPSTREAM}`)

type Json = { readonly [key: string]: Json } | readonly Json[] | string | number | boolean | null | undefined

/** Normalizes a definition for a comparison: without descriptions and defaults, and in one order. */
function meaning(value: Json): Json {
  if (Array.isArray(value)) return value.map(meaning)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, each]) => !(key === "description" && typeof each === "string"))
      .filter(([key, each]) => !(key === "x-kubernetes-list-type" && each === "atomic"))
      .filter(([key, each]) => !(key === "subresources" && Object.keys(each ?? {}).length === 0))
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, each]) => {
        const isSet = (key === "required" || key === "x-kubernetes-validations") && Array.isArray(each)
        return [key, isSet ? each.map((one: Json) => JSON.stringify(meaning(one))).toSorted() : meaning(each)]
      }),
  )
}

describe.skipIf(!hasUpstream)("a definition has the same schema as upstream's", () => {
  test.each(DEFINITIONS.map(({ metadata, spec }) => ({ name: metadata.name, spec })))("$name", ({ name, spec }) => {
    const file = `gateway.networking.k8s.io_${name.slice(0, name.indexOf("."))}.yaml`
    const theirs = parse(readFileSync(join(UPSTREAM, file), "utf8")) as { spec: { versions: Json[]; names: Json } }
    const ours = spec as unknown as { versions: Json[]; names: Json }
    for (const version of ours.versions as { name: string }[]) {
      const their = theirs.spec.versions.find((each) => (each as { name: string }).name === version.name)
      expect(meaning(version as Json)).toEqual(meaning(withoutMetadata(their as Json)))
    }
    expect(meaning(ours.names)).toEqual(meaning(theirs.spec.names))
  })
})

/** Without the fields that every object has, which need no schema. */
function withoutMetadata(version: Json): Json {
  const { schema, ...rest } = version as { schema: { openAPIV3Schema: { properties: Record<string, Json> } } }
  const { apiVersion: _a, kind: _k, metadata: _m, ...properties } = schema.openAPIV3Schema.properties
  return { ...rest, schema: { openAPIV3Schema: { ...schema.openAPIV3Schema, properties } } } as Json
}

const V1 = "gateway.networking.k8s.io/v1"
const backendRefs = [{ name: "one", port: 80 }]
const gateway = (...listeners: readonly object[]) => ({ gatewayClassName: "k3ts", listeners })
const listener = { name: "http", port: 80, protocol: "HTTP" }
const prefix = [{ path: { type: "PathPrefix", value: "/a" } }]
const filter = (type: string, body: object) => ({ type, ...body })
const rewrite = filter("URLRewrite", { urlRewrite: { path: { type: "ReplacePrefixMatch", replacePrefixMatch: "/" } } })

describe("the definitions", () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await startCluster({ nodes: 0 })
    for (const definition of DEFINITIONS)
      await cluster.client.create(CustomResourceDefinition, definition as unknown as CustomResourceDefinition)
  })
  afterAll(() => cluster.stop())

  test.each([
    { title: "a Gateway", kind: "Gateway", spec: gateway(listener), wants: "" },
    {
      title: "two listeners with the same name",
      kind: "Gateway",
      spec: gateway(listener, { ...listener, port: 81 }),
      wants: "Duplicate value",
    },
    {
      title: "two listeners with the same port",
      kind: "Gateway",
      spec: gateway(listener, { ...listener, name: "b" }),
      wants: "Combination of port, protocol and hostname",
    },
    {
      title: "a listener of protocol HTTP with TLS",
      kind: "Gateway",
      spec: gateway({ ...listener, tls: { mode: "Passthrough" } }),
      wants: "tls must not be specified",
    },
    {
      title: "an HTTPS listener without a certificate",
      kind: "Gateway",
      spec: gateway({ ...listener, protocol: "HTTPS", tls: {} }),
      wants: "certificateRefs or options",
    },
    {
      title: "a hostname with an address and a port",
      kind: "Gateway",
      spec: gateway({ ...listener, hostname: "a:80" }),
      wants: "hostname",
    },
    { title: "a route", kind: "HTTPRoute", spec: { rules: [{ backendRefs }] }, wants: "" },
    {
      title: "a path with dots",
      kind: "HTTPRoute",
      spec: { rules: [{ matches: [{ path: { value: "/a/../b" } }] }] },
      wants: "must not contain '/../'",
    },
    {
      title: "a filter whose type does not match its field",
      kind: "HTTPRoute",
      spec: { rules: [{ filters: [filter("CORS", { urlRewrite: {} })] }] },
      wants: "filter.urlRewrite must be nil",
    },
    {
      title: "ReplacePrefixMatch with a prefix match",
      kind: "HTTPRoute",
      spec: { rules: [{ matches: prefix, filters: [rewrite] }] },
      wants: "",
    },
    {
      title: "ReplacePrefixMatch without a prefix match",
      kind: "HTTPRoute",
      spec: { rules: [{ matches: [{ path: { type: "Exact", value: "/a" } }], filters: [rewrite] }] },
      wants: "exactly one PathPrefix match",
    },
    {
      title: "a Service without a port",
      kind: "HTTPRoute",
      spec: { rules: [{ backendRefs: [{ name: "one" }] }] },
      wants: "Must have port for Service reference",
    },
    {
      title: "the same parent twice",
      kind: "HTTPRoute",
      spec: { parentRefs: [{ name: "a" }, { name: "a" }] },
      wants: "sectionName must be unique",
    },
    {
      title: "a gRPC method",
      kind: "GRPCRoute",
      spec: { rules: [{ matches: [{ method: { service: "a.B", method: "C" } }] }] },
      wants: "",
    },
    {
      title: "a gRPC service with a slash",
      kind: "GRPCRoute",
      spec: { rules: [{ matches: [{ method: { service: "a/B" } }] }] },
      wants: "service must only contain valid characters",
    },
    {
      title: "an address as the hostname of a TLSRoute",
      kind: "TLSRoute",
      spec: { hostnames: ["192.0.2.1"], rules: [{ backendRefs }] },
      wants: "Hostnames cannot contain an IP",
    },
    {
      title: "a ReferenceGrant without targets",
      kind: "ReferenceGrant",
      spec: { from: [], to: [] },
      wants: "should have at least 1 items",
    },
  ])("accept or refuse $title", async ({ kind, spec, wants }) => {
    const resource = cluster.kind(V1, kind)
    const object = { apiVersion: V1, kind, metadata: { name: "x", namespace: "default" }, spec }
    const created = cluster.client.create(resource, object as never, { dryRun: true })
    const said = await created.then(
      () => "",
      (err: Error) => err.message,
    )
    if (wants === "") expect(said).toBe("")
    else expect(said).toContain(wants)
  })
})
