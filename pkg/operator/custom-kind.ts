import type { ObjectMeta } from "../apimachinery/meta.ts"
import { defineResource, type KubeObject, type KubeObjectInput, type Resource } from "../apimachinery/resource.ts"

/** An object of a custom resource. */
export interface CustomObject<Spec = unknown, Status = unknown> extends KubeObject {
  readonly metadata: ObjectMeta
  readonly spec: Spec
  readonly status?: Status
}

export interface CustomKind {
  /** An API group such as `example.com`. */
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly scope: "Namespaced" | "Cluster"
}

/**
 * Names a kind that the connected cluster serves, so that client, informers and controllers can use it. The caller
 * declares the types: the client validates nothing.
 *
 *     type Backup = CustomObject<{ schedule: string }, { last?: string }>
 *     const Backup = customKind<Backup>({
 *       group: "example.com",
 *       version: "v1",
 *       kind: "Backup",
 *       plural: "backups",
 *       scope: "Namespaced",
 *     })
 */
export const customKind = <T extends KubeObject>(kind: CustomKind): Resource<T, KubeObjectInput & Partial<T>> =>
  defineResource(
    { ...kind, namedOnly: true, subresources: { status: true }, doc: `${kind.kind} of ${kind.group}.` },
    {},
  ) as unknown as Resource<T, KubeObjectInput & Partial<T>>
