import { isNotFound } from "../../../../pkg/apimachinery/errors.ts"
import type { ApiRequest, ApiResult } from "../../call/request.ts"
import type { RegistryContext } from "../context.ts"
import { checkOptions, deleteObject } from "./delete.ts"
import { list } from "./list.ts"

/** Objects that are deleted in one turn, some milliseconds of work, and with one commit. */
const TOGETHER = 50

/**
 * DELETE of a collection: deletes every object that the selectors match, as a DELETE of its own would, but that
 * admission is told no name. Other requests are served in between. Returns the list of the matched objects as they were
 * before. Source: registry Store.DeleteCollection.
 */
export async function deleteCollection(context: RegistryContext, request: ApiRequest): Promise<ApiResult> {
  checkOptions(request)
  const found = await list(context, { ...request, verb: "list" })
  if (found.kind !== "list") return found
  for (let from = 0; from < found.items.length; from += TOGETHER)
    await Promise.all(
      found.items.slice(from, from + TOGETHER).map(async ({ object: { metadata } }) => {
        try {
          const { namespace, name } = metadata
          await deleteObject(context, { ...request, verb: "delete", namespace, name }, { admission: "unnamed" })
        } catch (err) {
          // Another request has deleted the object, which is the wanted result.
          if (!isNotFound(err)) throw err
        }
      }),
    )
  return found
}
