import type { Pod } from "../api/core/v1/pod.ts"
import type { KubeObject, Resource } from "../apimachinery/resource.ts"
import type { ListOptions, ObjectRef } from "../client/client.ts"

/** Which objects of a kind. */
export interface Selection {
  /** All namespaces unless given. */
  readonly namespace?: string
  /** A label selector: `app=web,tier!=db`. */
  readonly labels?: string
  /** A field selector: `spec.nodeName=node-1`. */
  readonly fields?: string
  /** Of pods: status.phase. */
  readonly phase?: NonNullable<Pod["status"]["phase"]>
}

/** A name in `default`, `namespace/name`, or any object or its metadata. */
export type Reference = string | ObjectRef | Pick<KubeObject, "metadata">

export function listOptions({ namespace, labels, fields, phase }: Selection): ListOptions {
  const fieldSelector = [fields, phase === undefined ? undefined : `status.phase=${phase}`]
    .filter((part) => part !== undefined)
    .join(",")
  return {
    ...(namespace === undefined ? {} : { namespace }),
    ...(labels === undefined ? {} : { labelSelector: labels }),
    ...(fieldSelector === "" ? {} : { fieldSelector }),
  }
}

export function refOf<T extends KubeObject>({ scope }: Resource<T>, reference: Reference): ObjectRef {
  if (typeof reference === "string") {
    const [first = "", second] = reference.split("/")
    if (scope === "Cluster") return { name: second ?? first }
    return second === undefined ? { namespace: "default", name: first } : { namespace: first, name: second }
  }
  const { name, namespace } = "metadata" in reference ? reference.metadata : reference
  return scope === "Cluster" ? { name } : { name, namespace: namespace ?? "default" }
}
