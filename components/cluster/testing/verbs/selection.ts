import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { ListOptions, ObjectRef } from "../../../../pkg/client/client.ts"
import { TestClusterError } from "../caller.ts"

/** Selects objects of a kind. */
export interface Selection {
  /** All namespaces by default. */
  readonly namespace?: string
  /** A label selector: `app=web,tier!=db`. */
  readonly labels?: string
  /** A field selector: `spec.nodeName=node-1`. */
  readonly fields?: string
  /** The phase of pods. */
  readonly phase?: NonNullable<Pod["status"]["phase"]>
}

/** An object: its name in `default`, `namespace/name`, `{ name, namespace }`, or the object itself. */
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

/** Returns the reference for requests. @throws TestClusterError when it has no name */
export function refOf<T extends KubeObject>({ scope, kind }: Resource<T>, reference: Reference): ObjectRef {
  const { name, namespace } = partsOf(reference)
  if (name === undefined || name === "")
    throw new TestClusterError(
      `Cannot tell which ${kind} is meant by ${JSON.stringify(reference)}: expected "name", "namespace/name", ` +
        "{ name, namespace } or an object",
    )
  return scope === "Cluster" ? { name } : { name, namespace: namespace ?? "default" }
}

function partsOf(reference: Reference): ObjectRef {
  if (typeof reference !== "string") return "metadata" in reference ? reference.metadata : reference
  const [first = "", second, ...more] = reference.split("/")
  if (more.length > 0) return {}
  return second === undefined ? { name: first } : { namespace: first, name: second }
}
