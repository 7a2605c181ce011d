import { serviceTarget } from "../../components/apiserver/endpoints/proxy-target.ts"
import { requestInfo } from "../../components/apiserver/http/request-info.ts"
import { Endpoints } from "../api/core/v1/endpoints.ts"
import { Service } from "../api/core/v1/service.ts"
import type { Random } from "../clock/random.ts"
import type { MemoryStorage } from "../storage/memory.ts"

/** `web`, `web.team`, `web.team.svc`, `web.team.svc.cluster.local` */
const NAME = /^([a-z][-a-z0-9]*)(?:\.([-a-z0-9]+)(?:\.svc(?:\.cluster\.local)?)?)?$/

/** Where a request of a pod's ends: at one of the ready pods of a Service, named or by its address, and else at the address itself. @throws ApiError when the Service has no such port or no ready pod */
export function addressOf(
  { hostname, port: given }: URL,
  storage: MemoryStorage,
  random: Random,
): { readonly host: string; readonly port: number } {
  const port = Number(given || 80)
  const service = serviceOf(hostname, storage)
  if (service === undefined) return { host: hostname, port }
  const { namespace = "", name = "" } = service.metadata
  const prefixes: Readonly<Record<string, string>> = { services: Service.prefix, endpoints: Endpoints.prefix }
  const live = (plural: string) => storage.get(`${prefixes[plural] ?? ""}${namespace}/${name}`)?.object
  return serviceTarget(
    requestInfo("GET", `/api/v1/namespaces/${namespace}/services/${name}:${port}/proxy/`),
    live,
    random,
  )
}

function serviceOf(host: string, storage: MemoryStorage): Service | undefined {
  const [, name, namespace = "default"] = NAME.exec(host) ?? []
  if (name !== undefined) return storage.get(`${Service.prefix}${namespace}/${name}`)?.object as Service | undefined
  return storage
    .list(Service.prefix)
    .map(({ object }) => object as Service)
    .find(({ spec }) => spec.clusterIP === host)
}
