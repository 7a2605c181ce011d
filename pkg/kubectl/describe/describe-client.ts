import type { ObjectMeta } from "../../apimachinery/meta.ts"

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
 * The requests that describers send. Each fails with an error whose message is the one for the user, and whose
 * `reason`, where the server has sent a Status, is that of the Status.
 */
export interface DescribeClient {
  get<T extends ApiObject>(path: ResourcePath, namespace: string, name: string): Promise<T>
  /** Lists the objects of a namespace, or of all namespaces where it is empty. */
  list<T>(path: ResourcePath, namespace: string, query: ListQuery): Promise<ObjectList<T>>
}

/** The reason of the Status with which a request failed; undefined for other errors. */
export function reasonOf(err: unknown): string | undefined {
  if (!(err instanceof Error) || !("reason" in err)) return undefined
  return typeof err.reason === "string" ? err.reason : undefined
}

/** An error with the reason of another one, and a message that says more. */
class ListError extends Error {
  override readonly name = "ListError"
  readonly reason: string | undefined
  constructor(message: string, cause: Error) {
    super(message, { cause })
    this.reason = reasonOf(cause)
  }
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
  const reason = reasonOf(err)
  if (!(err instanceof Error) || (reason !== "BadRequest" && reason !== "NotFound")) return err
  const what =
    labelSelector === "" && fieldSelector === ""
      ? `Unable to list ${JSON.stringify(resource)}`
      : `Unable to find ${JSON.stringify(resource)} that match label selector ${JSON.stringify(labelSelector)}, field selector ${JSON.stringify(fieldSelector)}`
  return new ListError(`${what}: ${err.message}`, err)
}
