import { StoredKind } from "../../../apiserver/cacher/stored-kind.ts"
import { readyAddresses } from "../../../apiserver/endpoints/proxy-target.ts"
import { ApiError } from "../../../../pkg/apimachinery/errors.ts"
import { Endpoints } from "../../../../pkg/api/core/v1/service/endpoints.ts"
import { Service } from "../../../../pkg/api/core/v1/service/service.ts"
import type { Random } from "../../../../pkg/clock/random.ts"
import type { MemoryStorage } from "../../../../pkg/storage/memory.ts"

/** `web`, `web.team`, `web.team.svc`, `web.team.svc.cluster.local` */
const NAME = /^([a-z][-a-z0-9]*)(?:\.([-a-z0-9]+)(?:\.svc(?:\.cluster\.local)?)?)?$/

/**
 * Resolves the address that a simulated pod sends a request to: one of the ready pods when the host is a Service, by
 * name or by cluster IP, and otherwise the host itself. @throws ApiError when the Service has no such port or no ready
 * pod
 */
export function addressOf(
  { hostname, port: given }: URL,
  storage: MemoryStorage,
  random: Random,
): { readonly host: string; readonly port: number } {
  const port = Number(given || 80)
  const service = serviceOf(hostname, storage)
  if (service === undefined) return { host: hostname.replace(/^\[|\]$/g, ""), port }
  const { namespace = "", name = "" } = service.metadata
  const endpoints = new StoredKind(storage, Endpoints).get({ namespace, name })?.object
  const targets = readyAddresses(service, endpoints, String(port))
  if (targets.length === 0)
    throw new ApiError("ServiceUnavailable", `no endpoints available for service ${JSON.stringify(`${name}:${port}`)}`)
  const target = targets[Math.floor(random.next() * targets.length)]!
  return { host: target.address.ip, port: target.port }
}

function serviceOf(host: string, storage: MemoryStorage): Service | undefined {
  const [, name, namespace = "default"] = NAME.exec(host) ?? []
  const services = new StoredKind(storage, Service)
  const address = host.replace(/^\[|\]$/g, "") // a URL shows an address of IPv6 in brackets
  if (name !== undefined) return services.get({ namespace, name })?.object
  return services.list().find(({ object }) => object.spec.clusterIPs?.includes(address))?.object
}
