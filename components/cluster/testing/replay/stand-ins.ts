/**
 * Objects that a recording names and does not have, since whoever recorded it may not list them: pods cannot run
 * without them. What stands in for them has the name, and nothing of the real one.
 */
import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import type { RecordedObject, Recording } from "../../../../pkg/replay/format.ts"
import { keyOf } from "./keys.ts"

/** What is recorded, and what stands in for the rest. */
export interface Completed {
  readonly objects: readonly RecordedObject[]
  /** In words. */
  readonly left: readonly string[]
}

/** Adds what pods name, of kinds that were not recorded. `pods` are also those that come after the beginning. */
export function withStandIns({ objects, end }: Recording, pods: readonly Pod[]): Completed {
  // All that is made up is of the core group.
  const known = new Set(end.resources.map((name) => (name.startsWith("/") ? name.slice(1) : "")))
  const made = new Map<string, RecordedObject>()
  const add = (resource: string, object: KubeObject) => {
    if (!known.has(resource)) made.set(keyOf(resource, object), { type: "object", resource, object })
  }
  for (const { object } of objects) if (object.metadata.namespace !== undefined) add("namespaces", namespaceOf(object))
  for (const pod of pods) {
    const { namespace = "" } = pod.metadata
    const { nodeName = "", serviceAccountName = "" } = pod.spec
    add("namespaces", namespaceOf(pod))
    if (nodeName !== "") add("nodes", nodeNamed(nodeName))
    if (serviceAccountName !== "") add("serviceaccounts", named("ServiceAccount", namespace, serviceAccountName))
    for (const { kind, name, keys } of namedBy(pod)) {
      const resource = kind === "Secret" ? "secrets" : "configmaps"
      const before = made.get(keyOf(resource, named(kind, namespace, name)))?.object as { data?: Values } | undefined
      const data = Object.fromEntries(keys.map((key) => [key, kind === "Secret" ? "" : "unknown"]))
      add(resource, { ...named(kind, namespace, name), data: { ...before?.data, ...data } } as KubeObject)
    }
  }
  const counts = Map.groupBy(made.values(), ({ resource }) => resource)
  return {
    objects: [...objects, ...made.values()],
    left: [...counts].map(([resource, some]) => `${resource}: ${some.length} that were named are made up`),
  }
}

type Values = Readonly<Record<string, string>>

const uidOf = (object: string): string => `made-up-${object}`

const named = (kind: string, namespace: string, name: string): KubeObject => ({
  apiVersion: "v1",
  kind,
  metadata: { name, namespace, uid: uidOf(`${kind}-${namespace}-${name}`) },
})

const namespaceOf = ({ metadata: { namespace = "" } }: KubeObject): KubeObject =>
  ({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: {
      name: namespace,
      uid: uidOf(`namespace-${namespace}`),
      labels: { "kubernetes.io/metadata.name": namespace },
    },
    spec: { finalizers: ["kubernetes"] },
    status: { phase: "Active" },
  }) as KubeObject

/** What a node has of which nothing is known: enough for what runs on it. */
const CAPACITY = { cpu: "64", memory: "256Gi", pods: "250", "ephemeral-storage": "500Gi" }

const nodeNamed = (name: string): KubeObject =>
  ({
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      uid: uidOf(`node-${name}`),
      labels: { "kubernetes.io/hostname": name, "kubernetes.io/os": "linux" },
    },
    spec: {},
    status: { capacity: CAPACITY, allocatable: CAPACITY, conditions: [{ type: "Ready", status: "True" }] },
  }) as unknown as KubeObject

interface Named {
  readonly kind: "Secret" | "ConfigMap"
  readonly name: string
  readonly keys: readonly string[]
}

/** Returns the Secrets and ConfigMaps that a pod cannot run without. */
function namedBy({ spec }: Pod): readonly Named[] {
  const found: Named[] = []
  const add = (kind: Named["kind"], name: string | undefined, keys: readonly string[], optional?: boolean) => {
    if (name !== undefined && name !== "" && optional !== true && name !== ROOT_CA) found.push({ kind, name, keys })
  }
  const itemsOf = (items: readonly { readonly key: string }[] | undefined) => (items ?? []).map(({ key }) => key)
  for (const { secret, configMap, projected } of spec.volumes ?? []) {
    add("Secret", secret?.secretName, itemsOf(secret?.items), secret?.optional)
    add("ConfigMap", configMap?.name, itemsOf(configMap?.items), configMap?.optional)
    for (const source of projected?.sources ?? []) {
      add("Secret", source.secret?.name, itemsOf(source.secret?.items), source.secret?.optional)
      add("ConfigMap", source.configMap?.name, itemsOf(source.configMap?.items), source.configMap?.optional)
    }
  }
  for (const { env = [], envFrom = [] } of [...(spec.initContainers ?? []), ...spec.containers]) {
    for (const { valueFrom } of env) {
      const { secretKeyRef: secret, configMapKeyRef: configMap } = valueFrom ?? {}
      add("Secret", secret?.name, secret === undefined ? [] : [secret.key], secret?.optional)
      add("ConfigMap", configMap?.name, configMap === undefined ? [] : [configMap.key], configMap?.optional)
    }
    for (const { secretRef, configMapRef } of envFrom) {
      add("Secret", secretRef?.name, [], secretRef?.optional)
      add("ConfigMap", configMapRef?.name, [], configMapRef?.optional)
    }
  }
  return found
}

/** A controller makes it in every namespace. */
const ROOT_CA = "kube-root-ca.crt"
