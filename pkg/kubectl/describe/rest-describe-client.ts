import type { RestClient } from "../rest/rest-client.ts"
import { checkName, pathSegment } from "../rest/rest-client.ts"
import type { ApiObject, DescribeClient, ListQuery, ObjectList, ResourcePath } from "./describe-client.ts"

/** Sends the requests of describers to a server. */
export const restDescribeClient = (client: RestClient): DescribeClient => ({
  async get<T extends ApiObject>(path: ResourcePath, namespace: string, name: string): Promise<T> {
    checkName(name)
    const object = await client.object({ method: "GET", path: `${folderOf(path, namespace)}/${pathSegment(name)}` })
    return object as unknown as T
  },
  async list<T>(path: ResourcePath, namespace: string, { limit, ...query }: ListQuery): Promise<ObjectList<T>> {
    const list = await client.object({
      method: "GET",
      path: folderOf(path, namespace),
      query: { ...query, limit: limit === undefined ? undefined : String(limit) },
    })
    const { metadata, items } = list as unknown as Partial<ObjectList<T>>
    // The kind of the items of a list is that of the list.
    return { ...(metadata === undefined ? {} : { metadata }), items: items ?? [] }
  },
})

/** The path of the objects of a resource. */
export function folderOf({ group, version, resource }: ResourcePath, namespace: string): string {
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`
  return `${root}${namespace === "" ? "" : `/namespaces/${pathSegment(namespace)}`}/${resource}`
}
