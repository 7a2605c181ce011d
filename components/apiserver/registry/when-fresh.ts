/**
 * Where several servers share a store, requests wait until the memory of this one holds what the others have
 * acknowledged. So a read after a write through another server finds it, and a write is decided by what is there.
 */
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { Watch } from "../../../pkg/client/client.ts"
import type { Storage } from "../../../pkg/storage/storage.ts"
import { apiErrorFrom } from "./errors.ts"
import type { RegistryContext } from "./context.ts"
import { perform } from "./registry.ts"
import { watch } from "./verbs/watch.ts"
import type { ApiRequest, ApiResult, AuthorizedRequest, WatchSink } from "../call/request.ts"

type Perform = (request: AuthorizedRequest) => ApiResult | Promise<ApiResult>
type Follow = (request: AuthorizedRequest, sink: WatchSink) => Watch

/** Returns what executes authorized requests. With one server nothing waits. */
export function whenFresh(registry: RegistryContext): { readonly perform: Perform; readonly watch: Follow } {
  const { storage } = registry
  const now: Perform = (request) => perform(registry, request)
  const { freshen } = storage
  if (freshen === undefined) return { perform: now, watch: (request, sink) => watch(registry, request, sink) }

  return {
    perform(request) {
      const need = needOf(registry, request)
      if (need === "none") return now(request)
      return freshen.call(storage).then(
        () => now(request),
        (err: unknown) => {
          if (need === "must") throw apiErrorFrom(err, request.resource, request.name ?? "")
          if (request.inProcess !== true) request.warn(MAY_BE_OLD)
          return now(request)
        },
      )
    },
    watch(request, sink) {
      if (!isAhead(storage, request)) return watch(registry, request, sink)
      // The client knows the revision from another server, so it comes here too.
      let [watching, isClosed] = [undefined as Watch | undefined, false]
      const begin = () => {
        if (isClosed) return
        try {
          watching = watch(registry, request, sink)
        } catch (err) {
          sink.end(ApiError.from(err))
        }
      }
      freshen.call(storage).then(begin, begin)
      return {
        close() {
          isClosed = true
          watching?.close()
        },
      }
    },
  }
}

const MAY_BE_OLD = "the store that the servers share cannot be reached: this answer is from memory and may be old"

/** must: fails where the store cannot be reached. may: is then answered from memory. */
type Need = "none" | "may" | "must"

function needOf(registry: RegistryContext, request: ApiRequest): Need {
  const { verb, resource, subresource, options } = request
  switch (verb) {
    case "get":
    case "list":
      if (options.resourceVersion === undefined || options.resourceVersion === "") return "may"
      return isAhead(registry.storage, request) ? "may" : "none"
    case "create":
      // Reviews and tokens are answered without a write.
      if (subresource === "token" || registry.hooks(resource)?.createVirtual !== undefined) return "may"
      return "must"
    case "update":
    case "patch":
    case "delete":
    case "deletecollection":
      return "must"
    case "watch":
      return "none"
  }
}

/** Whether a request names a revision that this server does not know yet. */
const isAhead = ({ revision }: Storage, { options }: ApiRequest): boolean => Number(options.resourceVersion) > revision
