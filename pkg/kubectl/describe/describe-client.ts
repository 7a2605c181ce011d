import { goQuoted } from "../../apimachinery/go/go-text.ts"
import type { ObjectMeta } from "../../apimachinery/meta.ts"
import { isBadRequest, isNotFound } from "../errors/status-error.ts"

/** Where the objects of a resource are served. */
export interface ResourcePath {
  readonly group: string
  readonly version: string
  /** The name of the resource in paths: `pods`. */
  readonly resource: string
}

/** An object as a server sends it. */
export interface ApiObject {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: ObjectMeta
}

export interface ListQuery {
  readonly labelSelector?: string
  readonly fieldSelector?: string
  /** Most objects in the response. */
  readonly limit?: number
  readonly continue?: string
}

export interface ObjectList<T> {
  readonly metadata?: { readonly continue?: string }
  readonly items: readonly T[]
}

/**
 * The requests that describers send. Each fails with a StatusError where the server has sent a Status.
 */
export interface DescribeClient {
  get<T extends ApiObject>(path: ResourcePath, namespace: string, name: string): Promise<T>
  /** Lists the objects of a namespace, or of all namespaces where it is empty. */
  list<T>(path: ResourcePath, namespace: string, query: ListQuery): Promise<ObjectList<T>>
}

/**
 * Collects all objects of a list in chunks of `limit`; 0 means in one response. `into` has those that were read when a
 * later chunk fails. Source: FollowContinue and EnhanceListError in cli-runtime pkg/resource/helper.go.
 */
export async function listInChunks<T>(
  client: DescribeClient,
  { path, namespace, query, limit, into = [] }: ListInChunks<T>,
): Promise<T[]> {
  for (let token = ""; ;) {
    const chunk = { ...query, ...(limit > 0 ? { limit } : {}), ...(token === "" ? {} : { continue: token }) }
    const { items, metadata } = await client.list<T>(path, namespace, chunk).catch((err: unknown) => {
      throw moreAbout(err, path.resource, query)
    })
    for (const item of items) into.push(item)
    token = metadata?.continue ?? ""
    if (token === "") return into
  }
}

export interface ListInChunks<T> {
  readonly path: ResourcePath
  readonly namespace: string
  readonly query: ListQuery
  /** Most objects in a response; 0 for no limit. */
  readonly limit: number
  readonly into?: T[]
}

function moreAbout(err: unknown, resource: string, { labelSelector = "", fieldSelector = "" }: ListQuery): unknown {
  if (!isBadRequest(err) && !isNotFound(err)) return err
  const what =
    labelSelector === "" && fieldSelector === ""
      ? `Unable to list ${goQuoted(resource)}`
      : `Unable to find ${goQuoted(resource)} that match label selector ${goQuoted(labelSelector)}, field selector ${goQuoted(fieldSelector)}`
  return err.withMessage(`${what}: ${err.message}`)
}
