import type { KubeObject, KubeObjectInput, Resource } from "../apimachinery/resource.ts"
import type { ApiCall, Client, ObjectList, ObjectRef, Transport, WatchHandlers, WriteOptions } from "./client.ts"

/** The typed client over a transport: turns methods into calls and knows nothing else. */
export function newClient(transport: Transport): Client {
  const write = (verb: "create" | "update", subresource?: string) => async <T extends KubeObject, I extends KubeObjectInput>(resource: Resource<T, I>, object: I, options?: WriteOptions): Promise<T> =>
    (await transport.call({
      verb, resource: plain(resource), object,
      namespace: object.metadata?.namespace, ...(verb === "create" ? {} : { name: object.metadata?.name }), ...(subresource === undefined ? {} : { subresource }), ...given(options),
    })) as T
  const subresourceCall = (verb: "create" | "update") => async <A = unknown>(resource: Resource, { name, namespace }: ObjectRef, subresource: string, object: object): Promise<A> =>
    (await transport.call({ verb, resource, name, namespace, subresource, object })) as A

  return {
    async get<T extends KubeObject>(resource: Resource<T>, { name, namespace }: ObjectRef, options?: { readonly resourceVersion?: string }) {
      return (await transport.call({ verb: "get", resource: plain(resource), name, namespace, ...given(options) })) as T
    },
    async list<T extends KubeObject>(resource: Resource<T>, options: ApiCall["options"] = {}) {
      return (await transport.call({ verb: "list", resource: plain(resource), namespace: options.namespace, options })) as ObjectList<T>
    },
    create: write("create"),
    update: write("update"),
    updateStatus: write("update", "status"),
    async patch<T extends KubeObject>(resource: Resource<T>, { name, namespace }: ObjectRef, patch: NonNullable<ApiCall["patch"]>, { subresource, ...options }: ApiCall["options"] & { readonly subresource?: string } = {}) {
      return (await transport.call({ verb: "patch", resource: plain(resource), name, namespace, patch, ...(subresource === undefined ? {} : { subresource }), options })) as T
    },
    delete: (resource, { name, namespace }, options) => transport.call({ verb: "delete", resource, name, namespace, ...given(options) }),
    deleteCollection: (resource, list, options) => transport.call({ verb: "deletecollection", resource, namespace: list.namespace, options: { ...list, ...options } }),
    createSubresource: subresourceCall("create"),
    updateSubresource: subresourceCall("update"),
    watch: <T extends KubeObject>(resource: Resource<T>, options: NonNullable<ApiCall["options"]>, handlers: WatchHandlers<T>) =>
      // What a watch of this resource gives are objects of it.
      transport.watch(plain(resource), options, handlers as unknown as WatchHandlers<KubeObject>),
  }
}

/** A resource of some kind as a resource of any: what is typed about it matters to the caller only. */
const plain = <T extends KubeObject, I extends KubeObjectInput>(resource: Resource<T, I>): Resource => resource as unknown as Resource

const given = (options: ApiCall["options"] | undefined): { options?: NonNullable<ApiCall["options"]> } => (options === undefined ? {} : { options })
