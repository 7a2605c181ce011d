import type { KubeObject, KubeObjectInput, Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { Client, DeleteCallOptions, Patch, PatchOptions } from "../../../../pkg/client/client.ts"
import { refOf, type Reference } from "./selection.ts"

/**
 * The typed client that tests use. Each method takes a name, a reference or an object where a `Client` takes a
 * reference only, and fills in what a manifest may leave out: the namespace `default`, apiVersion and kind.
 */
export interface TestClient extends Client {
  get<T extends KubeObject>(
    resource: Resource<T>,
    ref: Reference,
    options?: { readonly resourceVersion?: string },
  ): Promise<T>
  patch<T extends KubeObject>(
    resource: Resource<T>,
    ref: Reference,
    patch: Patch,
    options?: PatchOptions & { readonly subresource?: string },
  ): Promise<T>
  delete(resource: Resource, ref: Reference, options?: DeleteCallOptions): Promise<unknown>
  createSubresource<A = unknown>(resource: Resource, ref: Reference, subresource: string, object: object): Promise<A>
  updateSubresource<A = unknown>(resource: Resource, ref: Reference, subresource: string, object: object): Promise<A>
}

/** Returns a test's client. It calls `alive` before each request, which throws after the end of the cluster. */
export function testClient(client: Client, alive: () => void): TestClient {
  const running = (): Client => {
    alive()
    return client
  }
  return {
    get: (resource, ref, options) => running().get(resource, refOf(resource, ref), options),
    list: (resource, options) => running().list(resource, options),
    create: (resource, object, options) => running().create(resource, filledIn(resource, object), options),
    update: (resource, object, options) => running().update(resource, filledIn(resource, object), options),
    updateStatus: (resource, object, options) => running().updateStatus(resource, filledIn(resource, object), options),
    patch: (resource, ref, patch, options) =>
      running().patch(resource, refOf(resource, ref), filledInPatch(resource, patch), options),
    delete: (resource, ref, options) => running().delete(resource, refOf(resource, ref), options),
    deleteCollection: (resource, list, options) => running().deleteCollection(resource, list, options),
    getSubresource: (resource, ref, subresource) =>
      running().getSubresource(resource, refOf(resource, ref), subresource),
    createSubresource: (resource, ref, subresource, object) =>
      running().createSubresource(resource, refOf(resource, ref), subresource, object),
    updateSubresource: (resource, ref, subresource, object) =>
      running().updateSubresource(resource, refOf(resource, ref), subresource, object),
    watch: (resource, options, handlers) => running().watch(resource, options, handlers),
  }
}

/** Returns `object` with namespace, apiVersion and kind filled in. */
export function filledIn<I extends KubeObjectInput>(resource: Resource, object: I, namespace = "default"): I {
  const { apiVersion, kind, scope } = resource
  const { metadata } = object
  return {
    apiVersion,
    kind,
    ...object,
    ...(scope === "Namespaced" && isAbsent(metadata?.namespace) ? { metadata: { ...metadata, namespace } } : {}),
  }
}

/** Fills in the object that server-side apply sends; other patches are sent as they are. */
const filledInPatch = ({ apiVersion, kind }: Resource, patch: Patch): Patch =>
  patch.type === "apply" && typeof patch.body === "object" && patch.body !== null
    ? { ...patch, body: { apiVersion, kind, ...patch.body } }
    : patch

const isAbsent = (text: string | undefined): boolean => text === undefined || text === ""
