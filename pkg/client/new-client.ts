import type { KubeObject, KubeObjectInput, Resource } from "../apimachinery/resource.ts"
import type { ApiCall, Client, ObjectList, ObjectRef, Transport, WatchHandlers, WriteOptions } from "./client.ts"

/** Returns the typed client over a transport. It only turns its methods into calls of the transport. */
export function newClient(transport: Transport): Client {
  const write =
    (verb: "create" | "update", subresource?: string) =>
    <T extends KubeObject, I extends KubeObjectInput>(
      resource: Resource<T, I>,
      object: I,
      options?: WriteOptions,
    ): Promise<T> => {
      const { namespace, name } = object.metadata ?? NO_METADATA
      return transport.call({
        verb,
        resource,
        subresource,
        namespace,
        name: verb === "create" ? undefined : name,
        object,
        options,
      }) as Promise<T>
    }
  const subresourceCall =
    (verb: "create" | "update") =>
    <A = unknown>(
      resource: Resource,
      { name, namespace }: ObjectRef,
      subresource: string,
      object: object,
    ): Promise<A> =>
      transport.call({ verb, resource, subresource, namespace, name, object }) as Promise<A>

  return {
    get: <T extends KubeObject>(
      resource: Resource<T>,
      { name, namespace }: ObjectRef,
      options?: { readonly resourceVersion?: string },
    ) => transport.call({ verb: "get", resource, namespace, name, options }) as Promise<T>,
    list: <T extends KubeObject>(resource: Resource<T>, options: NonNullable<ApiCall["options"]> = {}) =>
      transport.call({ verb: "list", resource, namespace: options.namespace, options }) as Promise<ObjectList<T>>,
    create: write("create"),
    update: write("update"),
    updateStatus: write("update", "status"),
    patch: <T extends KubeObject>(
      resource: Resource<T>,
      { name, namespace }: ObjectRef,
      patch: NonNullable<ApiCall["patch"]>,
      { subresource, ...options }: ApiCall["options"] & { readonly subresource?: string } = {},
    ) => transport.call({ verb: "patch", resource, subresource, namespace, name, patch, options }) as Promise<T>,
    delete: (resource, { name, namespace }, options) =>
      transport.call({ verb: "delete", resource, namespace, name, options }),
    deleteCollection: (resource, list, options) =>
      transport.call({
        verb: "deletecollection",
        resource,
        namespace: list.namespace,
        options: { ...list, ...options },
      }),
    getSubresource: <A = unknown>(resource: Resource, { name, namespace }: ObjectRef, subresource: string) =>
      transport.call({ verb: "get", resource, subresource, namespace, name }) as Promise<A>,
    createSubresource: subresourceCall("create"),
    updateSubresource: subresourceCall("update"),
    watch: <T extends KubeObject>(
      resource: Resource<T>,
      options: NonNullable<ApiCall["options"]>,
      handlers: WatchHandlers<T>,
    ) =>
      // A watch of this resource returns objects of its type.
      transport.watch(resource, options, handlers as unknown as WatchHandlers<KubeObject>),
  }
}

const NO_METADATA: ObjectRef = {}
