/** The field managers of the bootstrap objects. The expected values are those of Kubernetes 1.36.2. */
import { expect, test } from "bun:test"
import { APIService } from "../../pkg/api/apiregistration/v1/apiservice.ts"
import { ClusterRoleBinding } from "../../pkg/api/rbac/v1/clusterrolebinding.ts"
import { VirtualClock } from "../../pkg/clock/virtual.ts"
import { ClusterRole, FlowSchema, Namespace, startCluster } from "../cluster/testing/testing.ts"
import { storageKey } from "./cacher/view.ts"
import { obsoleteObjects } from "./bootstrap/obsolete-objects.ts"
import { PriorityClass } from "../../pkg/api/scheduling/v1/priorityclass.ts"
import type { KubeObject } from "../../pkg/apimachinery/resource.ts"

const managersOf = ({ metadata }: KubeObject) =>
  metadata.managedFields?.map(({ manager, operation, subresource, fieldsV1 }) => ({
    by: [manager, operation, ...(subresource === undefined ? [] : [subresource])].join(" "),
    fields: fieldsV1,
  }))

test("bootstrap objects are managed by the API server, and fields that are applied later by the manager that applied them", async () => {
  await using cluster = await startCluster()
  const { client } = cluster
  const server = "kube-apiserver Update"
  const annotated = (name: string) => ({ "f:annotations": { ".": {}, [`f:${name}`]: {} } })
  expect(managersOf(await client.get(Namespace, { name: "default" }))).toEqual([
    { by: server, fields: { "f:metadata": { "f:labels": { ".": {}, "f:kubernetes.io/metadata.name": {} } } } },
  ])
  expect(managersOf(await client.get(PriorityClass, { name: "system-node-critical" }))).toEqual([
    { by: server, fields: { "f:description": {}, "f:preemptionPolicy": {}, "f:value": {} } },
  ])
  expect(managersOf(await client.get(ClusterRole, { name: "admin" }))).toEqual([
    { by: "clusterrole-aggregation-controller Apply", fields: { "f:rules": {} } },
    {
      by: server,
      fields: {
        "f:aggregationRule": { ".": {}, "f:clusterRoleSelectors": {} },
        "f:metadata": {
          ...annotated("rbac.authorization.kubernetes.io/autoupdate"),
          "f:labels": { ".": {}, "f:kubernetes.io/bootstrapping": {} },
        },
      },
    },
  ])
  const condition = ["lastTransitionTime", "message", "reason", "status", "type"].map((name) => [`f:${name}`, {}])
  expect(managersOf(await client.get(FlowSchema, { name: "probes" }))).toEqual([
    {
      by: "api-priority-and-fairness-config-consumer-v1 Apply status",
      fields: {
        "f:status": { "f:conditions": { 'k:{"type":"Dangling"}': { ".": {}, ...Object.fromEntries(condition) } } },
      },
    },
    {
      by: "api-priority-and-fairness-config-producer-v1 Update",
      fields: {
        "f:metadata": annotated("apf.kubernetes.io/autoupdate-spec"),
        "f:spec": { "f:matchingPrecedence": {}, "f:priorityLevelConfiguration": { "f:name": {} }, "f:rules": {} },
      },
    },
  ])
})

test("what an earlier version has made and this one does not is deleted, unless somebody has applied another", async () => {
  // given what the built-in metrics server had, and a role that a manifest has changed
  const labels = { "kubernetes.io/bootstrapping": "rbac-defaults" }
  const metadata = (name: string, ...managers: string[]) => ({
    metadata: { name, labels, managedFields: managers.map((manager) => ({ manager })) },
  })
  const service = (name: string) => ({
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    spec: { service: { namespace: "kube-system", name } },
  })
  const deleted = (objects: Readonly<Record<string, object>>) => {
    const get = (key: string) => (objects[key] === undefined ? undefined : { object: objects[key], revision: 7 })
    const options = { storage: { get } as never, clock: new VirtualClock(0) }
    return obsoleteObjects(options).flatMap((write) => write()?.key ?? [])
  }
  const keys = {
    api: storageKey(APIService, { name: "v1beta1.metrics.k8s.io" }),
    role: storageKey(ClusterRole, { name: "system:metrics-server" }),
    reader: storageKey(ClusterRole, { name: "system:aggregated-metrics-reader" }),
    binding: storageKey(ClusterRoleBinding, { name: "system:metrics-server" }),
  }
  // when, then
  expect(
    deleted({
      [keys.api]: service("k3ts-metrics"),
      [keys.role]: metadata("system:metrics-server", "kube-apiserver"),
      [keys.reader]: metadata("system:aggregated-metrics-reader", "kube-apiserver", "kubectl-client-side-apply"),
      [keys.binding]: metadata("system:metrics-server", "kube-apiserver"),
    }),
  ).toEqual([keys.api, keys.role, keys.binding])
  expect(deleted({ [keys.api]: service("metrics-server") })).toEqual([])
})
