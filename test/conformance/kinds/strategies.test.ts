/** The strategy of each kind for writes and deletions, over HTTP. The table is recorded from Kubernetes 1.36. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import { RESOURCES } from "../../../pkg/api/resources.ts"
import { startConformanceCluster, type ConformanceCluster, type Loose } from "../cluster.ts"
import { NAMED_BY_SPEC, SAMPLES } from "./kinds.ts"

interface Strategy {
  /** The body of the response to a deletion: the object, or a Status. */
  readonly deleted: "object" | "status"
  /** What happens to dependents when the deletion has no propagation policy. */
  readonly dependents: "deleted" | "orphaned"
  /** Whether an update without resourceVersion is accepted. */
  readonly unconditional: boolean
  readonly createdByUpdate: boolean
  /** metadata.generation of a new object, and after a change of its annotations; 0 for kinds without generations. */
  readonly generation: { readonly first: number; readonly annotated: number }
}

const USUAL: Strategy = {
  deleted: "status",
  dependents: "deleted",
  unconditional: true,
  createdByUpdate: false,
  generation: { first: 0, annotated: 0 },
}
const counted = { generation: { first: 1, annotated: 1 } }

/** The kinds that differ from the usual strategy, and how. */
const STRATEGIES: Readonly<Record<string, Partial<Strategy>>> = {
  "v1 endpoints": { createdByUpdate: true },
  "v1 events": { createdByUpdate: true },
  "v1 limitranges": { createdByUpdate: true },
  "v1 namespaces": { deleted: "object" },
  "v1 persistentvolumeclaims": { deleted: "object" },
  "v1 persistentvolumes": { deleted: "object" },
  "v1 pods": { deleted: "object", ...counted },
  "v1 podtemplates": { deleted: "object", ...counted },
  "v1 replicationcontrollers": { dependents: "orphaned", ...counted },
  "v1 resourcequotas": { deleted: "object" },
  "v1 serviceaccounts": { deleted: "object" },
  "v1 services": { deleted: "object", createdByUpdate: true },
  "admissionregistration.k8s.io/v1 mutatingadmissionpolicies": { unconditional: false, ...counted },
  "admissionregistration.k8s.io/v1 mutatingadmissionpolicybindings": { unconditional: false, ...counted },
  "admissionregistration.k8s.io/v1 mutatingwebhookconfigurations": { unconditional: false, ...counted },
  "admissionregistration.k8s.io/v1 validatingadmissionpolicies": { unconditional: false, ...counted },
  "admissionregistration.k8s.io/v1 validatingadmissionpolicybindings": { unconditional: false, ...counted },
  "admissionregistration.k8s.io/v1 validatingwebhookconfigurations": { unconditional: false, ...counted },
  "apps/v1 daemonsets": counted,
  "apps/v1 deployments": { generation: { first: 1, annotated: 2 } },
  "apps/v1 replicasets": counted,
  "apps/v1 statefulsets": counted,
  "batch/v1 cronjobs": counted,
  "batch/v1 jobs": { dependents: "orphaned", ...counted },
  "coordination.k8s.io/v1 leases": { unconditional: false, createdByUpdate: true },
  "discovery.k8s.io/v1 endpointslices": counted,
  "events.k8s.io/v1 events": { createdByUpdate: true },
  "flowcontrol.apiserver.k8s.io/v1 flowschemas": counted,
  "flowcontrol.apiserver.k8s.io/v1 prioritylevelconfigurations": counted,
  "networking.k8s.io/v1 ingressclasses": counted,
  "networking.k8s.io/v1 ingresses": counted,
  "networking.k8s.io/v1 networkpolicies": counted,
  "node.k8s.io/v1 runtimeclasses": { unconditional: false, createdByUpdate: true },
  "policy/v1 poddisruptionbudgets": { unconditional: false, ...counted },
  "rbac.authorization.k8s.io/v1 clusterrolebindings": { createdByUpdate: true },
  "rbac.authorization.k8s.io/v1 clusterroles": { createdByUpdate: true },
  "rbac.authorization.k8s.io/v1 rolebindings": { createdByUpdate: true },
  "rbac.authorization.k8s.io/v1 roles": { createdByUpdate: true },
  "resource.k8s.io/v1 deviceclasses": { deleted: "object", ...counted },
  "resource.k8s.io/v1 resourceclaims": { deleted: "object" },
  "resource.k8s.io/v1 resourceclaimtemplates": { deleted: "object" },
  "resource.k8s.io/v1 resourceslices": { deleted: "object", ...counted },
  "scheduling.k8s.io/v1 priorityclasses": counted,
  "storage.k8s.io/v1 csidrivers": { deleted: "object", unconditional: false },
  "storage.k8s.io/v1 csinodes": { deleted: "object", unconditional: false },
  "storage.k8s.io/v1 csistoragecapacities": { unconditional: false },
  "storage.k8s.io/v1 storageclasses": { deleted: "object" },
  "storage.k8s.io/v1 volumeattachments": { deleted: "object", unconditional: false },
  "storage.k8s.io/v1 volumeattributesclasses": { deleted: "object" },
}

let cluster: ConformanceCluster
beforeAll(async () => {
  cluster = await startConformanceCluster()
  await cluster.post("/api/v1/namespaces", { metadata: { name: "walk" } })
  await cluster.post("/api/v1/namespaces/walk/serviceaccounts", { metadata: { name: "default" } })
})
afterAll(() => cluster.stop())

// A sample of some kinds cannot make two objects, since their names follow from their content. They have tests of their
// own.
const kinds = RESOURCES.filter(({ verbs, kind }) => verbs.includes("update") && !NAMED_BY_SPEC.includes(kind)).map(
  (resource): [string, Resource] => [`${resource.apiVersion} ${resource.plural}`, resource],
)

test.each(kinds)(
  "%s has the same strategy as in Kubernetes",
  async (id, { group, apiVersion, kind, plural, scope }) => {
    // given an object
    const { body, name = (n: number) => `${id.replace(/\W+/g, "-")}-${n}` } = SAMPLES[id]!
    const path = `/${group === "" ? "api" : "apis"}/${apiVersion}${scope === "Namespaced" ? "/namespaces/walk" : ""}/${plural}`
    const sent = (n: number, more: object = {}) => ({ apiVersion, kind, metadata: { name: name(n), ...more }, ...body })
    const made = await cluster.post(path, sent(1))

    // when it is updated without and with a resourceVersion, updated where it does not exist, and deleted
    const { resourceVersion: _version, ...metadata } = made.metadata
    const changed = { ...made, metadata: { ...metadata, annotations: { a: "b" } } }
    const unconditional = await cluster.send("PUT", `${path}/${name(1)}`, { body: changed })
    const after = await cluster.patch(`${path}/${name(1)}`, "merge", { metadata: { annotations: { a: "b" } } })
    const updated = await cluster.send("PUT", `${path}/${name(2)}`, { body: sent(2) })
    const deleted = await cluster.send("DELETE", `${path}/${name(1)}`, { body: { dryRun: ["All"] } })

    // then every answer is the one in the table
    const orphaned = deleted.body.metadata.finalizers?.includes("orphan") === true
    expect({
      deleted: orphaned || deleted.body.kind !== "Status" ? "object" : "status",
      dependents: orphaned ? "orphaned" : "deleted",
      unconditional: unconditional.code === 200,
      createdByUpdate: updated.code === 201,
      generation: { first: made.metadata.generation ?? 0, annotated: after.metadata.generation ?? 0 },
    }).toEqual({
      ...USUAL,
      ...STRATEGIES[id],
      // An object that waits for its dependents still exists, and the answer has it, whatever the kind.
      ...(STRATEGIES[id]?.dependents === "orphaned" ? { deleted: "object" } : {}),
    })
    if (unconditional.code !== 200)
      expect(unconditional.body).toMatchObject({
        code: 422,
        message:
          `${plural}${group === "" ? "" : `.${group}`} "${name(1)}" is invalid: metadata.resourceVersion: ` +
          "Invalid value: 0: must be specified for an update",
      })
  },
)

describe("generation", () => {
  interface Row {
    readonly title: string
    readonly kind: string
    readonly patch: object
    readonly counted: boolean
  }
  const rows: readonly Row[] = [
    {
      title: "labels of a Deployment",
      kind: "apps/v1 deployments",
      patch: { metadata: { labels: { a: "b" } } },
      counted: false,
    },
    {
      title: "the spec of a Deployment",
      kind: "apps/v1 deployments",
      patch: { spec: { paused: true } },
      counted: true,
    },
    {
      title: "labels of an EndpointSlice",
      kind: "discovery.k8s.io/v1 endpointslices",
      patch: { metadata: { labels: { a: "b" } } },
      counted: true,
    },
    {
      title: "the endpoints of an EndpointSlice",
      kind: "discovery.k8s.io/v1 endpointslices",
      patch: { endpoints: [] },
      counted: true,
    },
    {
      title: "the spec of a CSIDriver",
      kind: "storage.k8s.io/v1 csidrivers",
      patch: { spec: { requiresRepublish: true } },
      counted: true,
    },
    {
      title: "the description of a PriorityClass",
      kind: "scheduling.k8s.io/v1 priorityclasses",
      patch: { description: "other" },
      counted: false,
    },
    {
      title: "the template of a PodTemplate",
      kind: "v1 podtemplates",
      patch: { template: { metadata: { labels: { a: "b" } } } },
      counted: true,
    },
  ]
  test.each(rows)("counts the same changes as in Kubernetes: $title", async ({ kind: id, patch, counted }) => {
    const [, { group, apiVersion, plural, scope }] = kinds.find(([name]) => name === id)!
    const path = `/${group === "" ? "api" : "apis"}/${apiVersion}${scope === "Namespaced" ? "/namespaces/walk" : ""}/${plural}`
    const { metadata } = await cluster.post(path, { metadata: { generateName: "g-" }, ...SAMPLES[id]!.body })
    const after = await cluster.patch(`${path}/${metadata.name}`, "merge", patch)
    expect((after.metadata.generation ?? 0) - (metadata.generation ?? 0)).toBe(counted ? 1 : 0)
  })
})

describe("a deletion", () => {
  const maps = "/api/v1/namespaces/walk/configmaps"
  const make = (metadata: object) => cluster.post(maps, { metadata: { generateName: "d-", ...metadata } })

  const policies = [
    { finalizers: [], options: {}, left: undefined },
    { finalizers: [], options: { propagationPolicy: "Orphan" }, left: ["orphan"] },
    { finalizers: [], options: { propagationPolicy: "Foreground" }, left: ["foregroundDeletion"] },
    { finalizers: [], options: { orphanDependents: true }, left: ["orphan"] },
    { finalizers: ["orphan"], options: {}, left: ["orphan"] },
    { finalizers: ["orphan"], options: { propagationPolicy: "Background" }, left: undefined },
    { finalizers: ["orphan"], options: { propagationPolicy: "Foreground" }, left: ["foregroundDeletion"] },
    { finalizers: ["orphan", "a.b/c"], options: {}, left: ["orphan", "a.b/c"] },
    { finalizers: ["foregroundDeletion", "a.b/c"], options: { orphanDependents: false }, left: ["a.b/c"] },
  ] as const
  test.each(policies)(
    "with $options of an object with $finalizers leaves $left",
    async ({ finalizers, options, left }) => {
      const { metadata } = await make({ finalizers })
      const answer = await cluster.delete(`${maps}/${metadata.name}`, options)
      expect(answer.metadata.finalizers).toEqual(left as readonly string[] | undefined)
    },
  )

  test("that happens because an update removes the last finalizer answers with the updated object", async () => {
    const { metadata } = await make({ finalizers: ["a.b/c"], labels: { a: "b" } })
    await cluster.delete(`${maps}/${metadata.name}`)
    const last = await cluster.patch(`${maps}/${metadata.name}`, "merge", { metadata: { finalizers: null } })
    expect([last.metadata.finalizers, last.metadata.labels]).toEqual([undefined, { a: "b" }])
    expect((await cluster.send("GET", `${maps}/${metadata.name}`)).code).toBe(404)
  })

  test("with a body ignores the options in the query", async () => {
    const { metadata } = await make({})
    const answer = await cluster.send("DELETE", `${maps}/${metadata.name}?dryRun=All&propagationPolicy=Orphan`, {
      body: {},
    })
    expect(answer.body).toMatchObject({ kind: "Status", status: "Success" })
    expect((await cluster.send("GET", `${maps}/${metadata.name}`)).code).toBe(404)
  })

  test("of a collection keeps objects that do not meet the preconditions", async () => {
    const { metadata } = await make({ labels: { collected: "yes" } })
    const answer = await cluster.send("DELETE", `${maps}?labelSelector=collected%3Dyes`, {
      body: { preconditions: { uid: "another" } },
    })
    expect(answer.body).toMatchObject({
      code: 409,
      message:
        `Operation cannot be fulfilled on ConfigMap "${metadata.name}": the UID in the precondition (another) ` +
        `does not match the UID in record (${metadata.uid}). The object might have been deleted and then ` +
        "recreated",
    })
  })

  test("cannot be started by an update", async () => {
    const { metadata } = await make({})
    const answer = await cluster.send("PATCH", `${maps}/${metadata.name}`, {
      body: { metadata: { deletionTimestamp: "2030-01-01T00:00:00Z" } },
      type: "application/merge-patch+json",
    })
    expect(answer.body).toMatchObject({
      code: 422,
      message:
        `ConfigMap "${metadata.name}" is invalid: metadata.deletionTimestamp: Invalid value: ` +
        `"2030-01-01T00:00:00Z": field is immutable`,
    })
  })

  const JOB_WARNING =
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove " +
    "them or set propagationPolicy=Orphan to suppress this warning"
  test.each([
    { options: undefined, warned: true },
    { options: { gracePeriodSeconds: 0 }, warned: true },
    { options: { propagationPolicy: "Background" }, warned: false },
    { options: { propagationPolicy: "Orphan" }, warned: false },
    { options: { orphanDependents: true }, warned: false },
  ])("of a Job with $options causes a warning: $warned", async ({ options, warned }) => {
    const jobs = "/apis/batch/v1/namespaces/walk/jobs"
    const { metadata } = await cluster.post(jobs, {
      metadata: { generateName: "w-" },
      ...SAMPLES["batch/v1 jobs"]!.body,
    })
    for (const path of [`${jobs}/${metadata.name}`, jobs]) {
      const { headers } = await cluster.send("DELETE", path, options === undefined ? {} : { body: options })
      expect(headers["warning"]).toBe(warned ? `299 - ${JSON.stringify(JOB_WARNING)}` : undefined)
    }
  })

  test("of a pod without a grace period shows the pod as terminating first, also to watchers", async () => {
    const pods = "/api/v1/namespaces/walk/pods"
    const spec = { nodeName: "n", automountServiceAccountToken: false, containers: [{ name: "c", image: "i" }] }
    const { metadata } = await cluster.post(pods, { metadata: { name: "ending" }, spec })
    const watch = await cluster.watch(
      `${pods}?fieldSelector=metadata.name%3Dending&resourceVersion=${metadata.resourceVersion}`,
    )
    const ending = { deletionGracePeriodSeconds: 0, generation: 2 }
    const answer = await cluster.delete(`${pods}/ending`, { gracePeriodSeconds: 0 })
    expect(answer.metadata).toMatchObject(ending)
    const events = await watch.until((seen) => seen.length === 2)
    watch.close()
    const shown = events.map(({ type, object }): [string, Loose["metadata"]] => [type, object.metadata])
    expect(shown).toMatchObject([
      ["MODIFIED", ending],
      ["DELETED", ending],
    ])
  })
})
