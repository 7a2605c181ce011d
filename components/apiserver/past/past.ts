/**
 * Serves what is asked of the past (docs/history.md): `GET /k3ts/at/<point>/<path of the API>` is the answer that the
 * path had at that point, and `GET /k3ts/history/<path of the API>` are the writes of an object, or of all objects that
 * a list has. Both have passed authentication and authorization as a get or a list of the path behind the prefix.
 */
import { ApiError, forbidden } from "../../../pkg/apimachinery/errors.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import type { Exchange } from "../call/exchange.ts"
import type { Grant } from "../call/grant.ts"
import { isAuthorized, type ApiRequest, type ApiResult, type Pipeline, type UserInfo } from "../call/request.ts"
import type { PastPath, RequestInfo } from "../call/request-info.ts"
import { noSuchMethod } from "../call/subresource-verbs.ts"
import { storageKey, storagePrefix } from "../cacher/view.ts"
import { resourceOf, serveResource } from "../http/resource-request.ts"
import { decodeToken } from "../registry/continue-token.ts"
import type { RegistryContext } from "../registry/context.ts"
import { apiErrorFrom } from "../registry/errors.ts"
import { perform } from "../registry/registry.ts"
import { isFormer } from "./former-namespace.ts"
import { serveHistory } from "./history.ts"
import type { PastOptions } from "./past-options.ts"
import { momentOf, type Moment } from "./moment.ts"
import { PastStorage } from "./past-storage.ts"
import { stateAt } from "./rewind.ts"

/** What serves requests for the past. */
export interface Past {
  /** Serves a request that is authorized. */
  serve(call: PastCall): Promise<void>
}

export interface PastCall {
  readonly exchange: Exchange
  readonly info: RequestInfo
  readonly user: UserInfo
  readonly grant: Grant
}

export function createPast(options: PastOptions): Past {
  const { registry, scheme } = options
  return {
    async serve({ exchange, info, user, grant }) {
      const { past } = info
      await registry.storage.freshen?.()
      if (past?.wants !== "state") return serveHistory(options, { exchange, info, user })
      const resource = resourceOf(info, scheme)
      checkKept(resource)
      if (info.subresource !== "" && info.subresource !== "status" && info.subresource !== "scale") throw noSuchMethod()
      const moment = momentOfRequest(registry, past, info)
      if (info.namespace !== "" && isFormer(registry.storage, info.namespace, moment.revision))
        await checkFormer(registry, resource, info, user)
      return serveResource({ exchange, info, user, grant, body: new Uint8Array() }, resource, {
        pipeline: pipelineAt(registry, moment),
        scheme,
        clock: clockAt(registry.clock, moment),
        watchSeconds: () => undefined,
        metrics: options.metrics,
      })
    },
  }
}

/** @throws ApiError for kinds of which only the newest state is kept, or none */
function checkKept({ highChurn, plural, verbs }: Resource): void {
  if (highChurn === true)
    throw new ApiError("MethodNotAllowed", `${plural} have no past: only their newest state is kept`)
  if (!verbs.includes("list")) throw noSuchMethod()
}

/** @throws ApiError Forbidden for a user who may not read these objects in all namespaces */
async function checkFormer(
  { authorizer }: RegistryContext,
  { group, version, plural }: Resource,
  { verb, namespace, name }: RequestInfo,
  user: UserInfo,
): Promise<void> {
  const { allowed } = await authorizer.authorize({ user, verb, group, version, resource: plural, namespace: undefined })
  if (allowed) return
  throw forbidden(
    { group, plural },
    name,
    `the namespace ${JSON.stringify(namespace)} did not exist then, or was another of the same name, ` +
      `of which only those may read who may ${verb} ${plural} in all namespaces`,
  )
}

/** Later pages of a list are of the revision of the first one, though "10m ago" means a later one by then. */
function momentOfRequest({ storage, clock }: RegistryContext, { point }: PastPath, { query }: RequestInfo): Moment {
  const token = query.get("continue") ?? ""
  const revision = token === "" ? -1 : decodeToken(token).revision
  return momentOf(storage, clock, revision > 0 ? String(revision) : point)
}

/** Ages in tables are those of that time. */
const clockAt = (clock: Clock, { time }: Moment): Clock =>
  new Proxy(clock, {
    get(target, name) {
      if (name === "now") return () => time
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === "function" ? value.bind(target) : value
    },
  })

/** Runs gets and lists of objects as they were at a revision. */
function pipelineAt(registry: RegistryContext, { revision }: Moment): Pipeline {
  return {
    async handle(request): Promise<ApiResult> {
      if (!isAuthorized(request)) throw noSuchMethod()
      const { storage, clock } = registry
      const { resource, namespace, name } = request
      try {
        const past = new PastStorage(await stateAt(storage, placeOf(request), revision, clock), revision)
        const context = { ...registry, storage: past, history: NOTHING_EXPIRES, isPast: true } as const
        return await perform(context, { ...request, namespace })
      } catch (err) {
        throw apiErrorFrom(err, resource, name ?? "")
      }
    },
    watch() {
      throw noSuchMethod()
    },
    authorize: (request) => registry.authorizer.authorize(request),
  }
}

const NOTHING_EXPIRES = { expired: 0 }

const placeOf = ({ resource, namespace, name }: ApiRequest) =>
  name === undefined
    ? { prefix: storagePrefix(resource, namespace) }
    : { key: storageKey(resource, { namespace, name }) }
