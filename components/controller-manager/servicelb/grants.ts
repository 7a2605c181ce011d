import type { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { keyFrom } from "../../../pkg/client/informer.ts"
import { POOL_LABEL } from "./nodes.ts"

/** Why a Service gets no load balancer: the port, such as `80/TCP`, and its holder. */
export interface Refusal {
  readonly port: string
  readonly holder: string
}

/** A port of the nodes of one pool (or of all nodes, for ""), and its holder. */
interface Taken {
  readonly pool: string
  readonly holder: string
}

/**
 * Decides which Services get their ports, and returns by `<namespace>/<name>` a refusal, or undefined for those that
 * do. A Service gets all of its ports or none. A Service that has a port keeps it; of the others the oldest comes
 * first. `reserved` are ports of the nodes themselves, such as `6443/TCP`, which no Service gets.
 */
export function grants(
  services: readonly Service[],
  reserved: ReadonlyMap<string, string>,
): ReadonlyMap<string, Refusal | undefined> {
  const taken = new Map<string, Taken[]>([...reserved].map(([port, holder]) => [port, [{ pool: "", holder }]]))
  const decided = new Map<string, Refusal | undefined>()
  for (const service of [...services].sort(byTurn)) {
    const key = keyFrom(service.metadata)
    const pool = service.metadata.labels?.[POOL_LABEL] ?? ""
    const ports = portsOf(service)
    const refusal = ports.flatMap((port) => {
      const other = taken.get(port)?.find((each) => each.pool === pool || each.pool === "" || pool === "")
      return other === undefined ? [] : [{ port, holder: other.holder }]
    })[0]
    decided.set(key, refusal)
    if (refusal !== undefined) continue
    for (const port of ports) taken.set(port, [...(taken.get(port) ?? []), { pool, holder: `Service ${key}` }])
  }
  return decided
}

/** Returns ports such as `80/TCP`. */
export const portsOf = ({ spec }: Service): readonly string[] =>
  (spec.ports ?? []).map(({ port, protocol }) => `${port}/${protocol}`)

/** Whether the Service's status shows that it holds all the ports in its spec. */
function holdsPorts(service: Service): boolean {
  const [first] = service.status.loadBalancer.ingress ?? []
  const held = new Set((first?.ports ?? []).map(({ port, protocol }) => `${port}/${protocol}`))
  return first !== undefined && portsOf(service).every((port) => held.has(port))
}

function byTurn(a: Service, b: Service): number {
  const [holds, alsoHolds] = [holdsPorts(a), holdsPorts(b)]
  if (holds !== alsoHolds) return holds ? -1 : 1
  const [turn, otherTurn] = [a, b].map(({ metadata }) => `${metadata.creationTimestamp ?? ""} ${keyFrom(metadata)}`)
  return turn! < otherTurn! ? -1 : 1
}
