import type { KubeObject, KubeObjectInput, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { Client } from "../../../pkg/client/client.ts"
import { createScheme } from "../../../pkg/api/scheme.ts"
import { RESOURCES } from "../../../pkg/api/resources.ts"

/** A part of the day: what users do, and how long the cluster then has for its own work. */
export interface Step {
  /** What users do, as a sentence. */
  readonly title: string
  /** The seconds after it. */
  readonly seconds: number
  run(users: Client): Promise<void>
}

const scheme = createScheme(RESOURCES)

/** An object as a manifest has it. */
export interface Manifest extends KubeObjectInput {
  readonly apiVersion: string
  readonly kind: string
  readonly [field: string]: unknown
}

/** Creates objects in their order. Those of namespaced kinds that name no namespace come into `default`. */
export async function create(users: Client, manifests: readonly Manifest[]): Promise<void> {
  for (const manifest of manifests) {
    const resource = scheme.of(manifest.apiVersion, manifest.kind)!
    const namespace = resource.scope === "Namespaced" ? { namespace: "default" } : {}
    await users.create(resource, { ...manifest, metadata: { ...namespace, ...manifest.metadata } })
  }
}

/** Changes an object of the namespace `default` by a merge patch. */
export const change = (users: Client, resource: Resource, name: string, body: object): Promise<KubeObject> =>
  users.patch(resource, refOf(resource, name), { type: "merge", body })

/** Deletes an object of the namespace `default`. */
export const remove = (
  users: Client,
  resource: Resource,
  name: string,
  options: Parameters<Client["delete"]>[2] = {},
): Promise<unknown> => users.delete(resource, refOf(resource, name), options)

/** An object of the namespace `default`, or of none. */
export const refOf = ({ scope }: Resource, name: string) =>
  scope === "Namespaced" ? { name, namespace: "default" } : { name }
