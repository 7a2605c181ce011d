import { goText } from "../../../apimachinery/go/go-text.ts"
import type { PodSpec } from "../../polymorphic/pod.ts"
import { parseGroupVersion, type Unstructured } from "../../rest/json.ts"

const EXPOSABLE: ReadonlySet<string> = new Set([
  "ReplicationController",
  "Service",
  "Pod",
  "Deployment.apps",
  "ReplicaSet.apps",
  "Deployment.extensions",
  "ReplicaSet.extensions",
])

/** @throws Error for a kind that has no pods to expose. Source: kubectl pkg/polymorphichelpers/canbeexposed.go. */
export function checkExposable({ kind = "", apiVersion = "" }: Unstructured): void {
  const { group } = parseGroupVersion(apiVersion)
  const text = group === "" ? kind : `${kind}.${group}`
  if (!EXPOSABLE.has(text)) throw new Error(`cannot expose a ${text}`)
}

type Labels = Readonly<Record<string, string>>

interface Exposed {
  readonly selector?: Labels & { readonly matchLabels?: Labels; readonly matchExpressions?: readonly unknown[] }
  readonly template?: { readonly spec?: PodSpec }
  readonly ports?: readonly { readonly port: number; readonly protocol?: string }[]
}

/** Labels as flags have them: `a=b,c=d`. */
export const labelsText = (labels: Labels = {}): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(",")

/** Returns the labels by which the pods are found. Source: kubectl pkg/polymorphichelpers/mapbasedselectorforobject.go. */
export function selectorOf(object: Unstructured): string {
  const { kind = "", metadata } = object
  const { selector } = (object["spec"] ?? {}) as Exposed
  if (kind === "Pod") {
    if (Object.keys(metadata?.labels ?? {}).length === 0) throw new Error("the pod has no labels and cannot be exposed")
    return labelsText(metadata!.labels)
  }
  if (kind === "Service" && selector === undefined) throw new Error("the service has no pod selector set")
  if (kind === "Service" || kind === "ReplicationController") return labelsText(selector)
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {}
  if (Object.keys(matchLabels).length === 0)
    throw new Error(`invalid ${kind.toLowerCase()}: no selectors, therefore cannot be exposed`)
  if (matchExpressions.length > 0)
    throw new Error(`couldn't convert expressions - "${goText(matchExpressions)}" to map-based selector format`)
  return labelsText(matchLabels)
}

/** Returns the numbers of the ports, each with its protocols. Source: multiprotocolsforobject.go, portsforobject.go. */
export function portsOf(object: Unstructured): ReadonlyMap<string, readonly string[]> {
  const spec = (object["spec"] ?? {}) as Exposed
  const found = new Map<string, string[]>()
  const add = (port: number, protocol = "TCP") => {
    const protocols = found.get(String(port)) ?? []
    protocols.push(protocol)
    found.set(String(port), protocols)
  }
  if (object.kind === "Service") for (const { port, protocol } of spec.ports ?? []) add(port, protocol)
  else
    for (const { ports = [] } of podSpecOf(object)?.containers ?? [])
      for (const { containerPort, protocol } of ports) add(containerPort, protocol)
  return found
}

const podSpecOf = (object: Unstructured): PodSpec | undefined =>
  object.kind === "Pod"
    ? (object["spec"] as PodSpec | undefined)
    : (object["spec"] as Exposed | undefined)?.template?.spec
