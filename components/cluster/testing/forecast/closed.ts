/**
 * A copy of a cluster must reach nothing of the real one: no webhook, no extension API server. What would be asked
 * there is left out, and named.
 */
import type { SnapshotObject } from "../../../../pkg/snapshot/records.ts"

/** The objects of a copy, and in words what it has not. */
export interface Closed {
  readonly objects: readonly SnapshotObject[]
  readonly left: readonly string[]
}

const WEBHOOKS = [
  "/registry/admissionregistration.k8s.io/mutatingwebhookconfigurations/",
  "/registry/admissionregistration.k8s.io/validatingwebhookconfigurations/",
]
const API_SERVICES = "/registry/apiregistration.k8s.io/apiservices/"
const DEFINITIONS = "/registry/apiextensions.k8s.io/customresourcedefinitions/"
/** Kinds of which a copy makes its own. */
const OWN = ["/registry/coordination.k8s.io/leases/", "/registry/core/events/"]

/** Returns the objects without those by which requests would leave the copy. */
export function closed(objects: readonly SnapshotObject[]): Closed {
  const left: string[] = []
  const kept = objects.flatMap((object): SnapshotObject | readonly [] => {
    const { key } = object
    const name = key.slice(key.lastIndexOf("/") + 1)
    if (OWN.some((prefix) => key.startsWith(prefix))) return []
    if (WEBHOOKS.some((prefix) => key.startsWith(prefix))) {
      left.push(`admission webhooks of ${name} are not asked`)
      return []
    }
    if (key.startsWith(API_SERVICES) && serviceOf(object) !== undefined) {
      left.push(`the extension API server of ${name} is not asked`)
      return []
    }
    if (!key.startsWith(DEFINITIONS)) return object
    const definition = valueOf<Definition>(object)
    if (definition.spec?.conversion?.strategy !== "Webhook") return object
    left.push(`objects of ${name} are not converted`)
    const spec = { ...definition.spec, conversion: { strategy: "None" } }
    return { ...object, value: Buffer.from(JSON.stringify({ ...definition, spec })) }
  })
  return { objects: kept, left }
}

interface Definition {
  readonly spec?: { readonly conversion?: { readonly strategy?: string } }
}

const serviceOf = (object: SnapshotObject): unknown =>
  valueOf<{ readonly spec?: { readonly service?: unknown } }>(object).spec?.service ?? undefined

const valueOf = <T>({ value }: SnapshotObject): T => JSON.parse(Buffer.from(value).toString()) as T
