import { readyAddresses } from "../../apiserver/endpoints/proxy-target.ts"
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { Endpoints } from "../../../pkg/api/core/v1/service/endpoints.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import type { MemoryStorage } from "../../../pkg/storage/memory.ts"

/** `web`, `web.team`, `web.team.svc`, `web.team.svc.cluster.local` */
const NAME = /^([a-z][-a-z0-9]*)(?:\.([-a-z0-9]+)(?:\.svc(?:\.cluster\.local)?)?)?$/

/**
 * Where a request of a pod's ends: at one of the ready pods of a Service, named or by its address, and else at the
 * address itself. @throws ApiError when the Service has no such port or no ready pod
 */
export function addressOf(
  { hostname, port: given }: URL,
  storage: MemoryStorage,
  random: Random,
): { readonly host: string; readonly port: number } {
  const port = Number(given || 80)
  const service = serviceOf(hostname, storage)
  if (service === undefined) return { host: hostname, port }
  const { namespace = "", name = "" } = service.metadata
  const endpoints = storage.get(`${Endpoints.prefix}${namespace}/${name}`)?.object as Endpoints | undefined
  const targets = readyAddresses(service, endpoints, String(port))
  if (targets.length === 0)
    throw new ApiError("ServiceUnavailable", `no endpoints available for service ${JSON.stringify(`${name}:${port}`)}`)
  const target = targets[Math.floor(random.next() * targets.length)]!
  return { host: target.address.ip, port: target.port }
}

function serviceOf(host: string, storage: MemoryStorage): Service | undefined {
  const [, name, namespace = "default"] = NAME.exec(host) ?? []
  if (name !== undefined) return storage.get(`${Service.prefix}${namespace}/${name}`)?.object as Service | undefined
  return storage
    .list(Service.prefix)
    .map(({ object }) => object as Service)
    .find(({ spec }) => spec.clusterIP === host)
}
