/**
 * Asks a real API server of Kubernetes for its verdict on every case of test/conformance/validation, and writes the
 * verdicts to the fixture of that test.
 *
 *     bun hack/compare/record-validation.ts --server https://127.0.0.1:6443 --token TOKEN [--kind 'v1 Pod']...
 *
 * Nearly all requests are dry runs. Objects that are to be changed are made, in a namespace of their own or
 * cluster-wide, and deleted in the end.
 * With --kind only the cases of those kinds are asked for, and the others stay as they are. The server's certificate is
 * not checked.
 */
import { parseArgs } from "node:util"
import { BASES } from "../../test/conformance/validation/bases.ts"
import { casesOf, verdictsOn, type Target } from "../../test/conformance/validation/cases.ts"
import { readFixture, writeFixture, type Recorded } from "../../test/conformance/validation/fixture.ts"
import type { Answer } from "../../test/conformance/validation/verdict.ts"
import { prepare } from "../../test/conformance/validation/in-process.ts"

const { values } = parseArgs({
  options: { server: { type: "string" }, token: { type: "string" }, kind: { type: "string", multiple: true } },
})
const { server, token, kind: kinds } = values
if (server === undefined || token === undefined) {
  console.error("usage: bun hack/compare/record-validation.ts --server URL --token TOKEN [--kind 'v1 Pod']...")
  process.exit(2)
}

const METHODS = { create: "POST", update: "PUT", delete: "DELETE", get: "GET", patch: "PATCH" } as const

/** A request that makes the server panic ends with its connection; the second time that is taken for the answer. */
async function request(verb: keyof typeof METHODS, path: string, body?: unknown, again = true): Promise<Answer> {
  try {
    return await exchange(verb, path, body)
  } catch {
    return again ? request(verb, path, body, false) : { code: 0, reason: "Closed" }
  }
}

async function exchange(verb: keyof typeof METHODS, path: string, body: unknown): Promise<Answer> {
  const response = await fetch(server + path, {
    method: METHODS[verb],
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": verb === "patch" ? "application/merge-patch+json" : "application/json",
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    tls: { rejectUnauthorized: false },
  })
  const answer = withoutForeign(await response.json()) as { reason?: string; details?: { causes?: [] } }
  return { code: response.status, object: answer, reason: answer.reason ?? "", causes: answer.details?.causes ?? [] }
}

/** Builds of the server that OpenShift makes give every pod a ConfigMap that Kubernetes does not know. */
function withoutForeign(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.filter((item) => !isForeign(item)).map(withoutForeign)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutForeign(item)]))
}
const isForeign = (item: { readonly configMap?: { readonly name?: string } } | null): boolean =>
  item?.configMap?.name === "openshift-service-ca.crt"

const target: Target = {
  async send({ verb, resource, namespace, name, subresource, body, dryRun }) {
    const root = resource.group === "" ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`
    const parts = [namespace === undefined ? "" : `/namespaces/${namespace}`, `/${resource.plural}`]
    if (name !== undefined) parts.push(`/${encodeURIComponent(name)}`)
    if (subresource !== undefined) parts.push(`/${subresource}`)
    const path = root + parts.join("")
    if (verb !== "delete") return request(verb, path + (dryRun ? "?dryRun=All" : ""), body)
    await request("patch", path, { metadata: { finalizers: null } })
    const gone = await request("delete", `${path}?gracePeriodSeconds=0&propagationPolicy=Background`)
    if (resource.kind === "Namespace")
      await request("update", `${path}/finalize`, {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name },
        spec: { finalizers: [] },
      })
    return gone
  },
}

await prepare(target)
const before = new Map(readFixture().map((recorded) => [`${recorded.kind}\t${recorded.name}`, recorded]))
const all: Recorded[] = []
for (const [n, { base, cases }] of casesOf(BASES).entries()) {
  const kept = before.get(`${base.kind}\t${base.name}`)
  if (kinds !== undefined && !kinds.includes(base.kind) && kept !== undefined) {
    all.push(kept)
    continue
  }
  const verdicts = await verdictsOn(target, base, cases, n, 24)
  all.push({ kind: base.kind, name: base.name, cases: cases.map((each, i) => ({ ...each, verdict: verdicts[i]! })) })
  console.log(`${base.kind} ${base.name}: ${cases.length} cases`)
}
writeFixture(all)
console.log(`${all.reduce((sum, { cases }) => sum + cases.length, 0)} cases`)
