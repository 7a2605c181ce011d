import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import type { Stored } from "../../../pkg/storage/storage.ts"
import type { ApiRequest, ApiResult } from "../request.ts"
import type { RegistryContext } from "./context.ts"
import { checkOptions, deleteObject } from "./delete.ts"
import { list } from "./list.ts"

/**
 * DELETE of a collection: all that the selectors match, each as a DELETE of its own would. Answers with the list of
 * them.
 */
export async function deleteCollection(context: RegistryContext, request: ApiRequest): Promise<ApiResult> {
  checkOptions(request)
  const found = list(context, { ...request, verb: "list" })
  if (found.kind !== "list") return found
  const deleted = await Promise.all(
    found.items.map(async ({ object: { metadata } }): Promise<Stored | undefined> => {
      try {
        return (
          await deleteObject(context, {
            ...request,
            verb: "delete",
            namespace: metadata.namespace,
            name: metadata.name,
          })
        ).stored
      } catch (err) {
        // Somebody else was faster, which is what was wanted.
        if (isNotFound(err)) return undefined
        throw err
      }
    }),
  )
  return { ...found, items: deleted.filter((stored) => stored !== undefined) }
}
