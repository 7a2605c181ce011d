import type { KubeObject } from "../../../apimachinery/resource.ts"
import { Pages } from "../../../lists/pages.ts"
import { isForbidden, isMethodNotSupported, isNotFound } from "../../errors/status-error.ts"
import type { RestClient } from "../../rest/rest-client.ts"
import type { Unstructured } from "../../rest/json.ts"
import { apiVersionOf, listPath, type RecordedKind } from "./kinds.ts"

/** The most objects of an answer: more of them together could fill the memory. */
const PAGE = 500

/** Takes the objects of a list, in portions. */
export type TakeObjects = (objects: readonly KubeObject[]) => Promise<void>

/** What became of a list: the revision of which it is, or why there is none. */
export type ListOutcome = { readonly revision: string } | { readonly missing: "forbidden" | "absent" }

/**
 * Lists a kind, in one namespace or in all. `prefix` is that of a point in the past, or empty for now.
 * @throws StatusError for what is neither a missing right nor a missing kind, Error for a list without an end
 */
export async function listKind(
  client: RestClient,
  kind: RecordedKind,
  { prefix, namespace }: { readonly prefix: string; readonly namespace: string },
  take: TakeObjects,
): Promise<ListOutcome> {
  const path = `${prefix}${listPath(kind, namespace)}`
  let revision = ""
  try {
    for (const pages = new Pages(); ;) {
      const query = { limit: String(PAGE), ...(pages.token === "" ? {} : { continue: pages.token }) }
      const { metadata = {}, items = [] } = (await client.object({ method: "GET", path, query })) as ListAnswer
      revision = metadata.resourceVersion ?? revision
      await take(items.map((item) => ({ ...item, apiVersion: apiVersionOf(kind), kind: kind.kind }) as KubeObject))
      if (!pages.hasMore(metadata.continue, items.length, kind.resource)) return { revision }
    }
  } catch (err) {
    if (isForbidden(err)) return { missing: "forbidden" }
    if (isNotFound(err) || isMethodNotSupported(err)) return { missing: "absent" }
    throw err
  }
}

interface ListAnswer extends Unstructured {
  readonly items?: readonly Unstructured[]
}
