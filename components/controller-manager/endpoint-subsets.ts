import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import type { EndpointAddress, Endpoints } from "../../pkg/api/core/v1/service/endpoints.ts"
import type { Service } from "../../pkg/api/core/v1/service/service.ts"
import { pushAll } from "../../pkg/lists/push-all.ts"
import { addressOf, hostnameOf, portResolver, readinessOf, type ResolvedPort } from "./endpointslice/endpoint-ports.ts"

type Subset = NonNullable<Endpoints["subsets"]>[number]

/** The most ports and addresses that Endpoints list: more would not fit into an object of three MiB. */
const MOST_ENTRIES = 50_000

/** Pods that have all ports in common, and who of them is ready. */
interface Group {
  /** Its place among the groups; -1 for groups that are joined. */
  readonly index: number
  readonly ports: readonly ResolvedPort[]
  readonly ready: EndpointAddress[]
  readonly notReady: EndpointAddress[]
}

/**
 * Groups ports that the same pods have into subsets: where the numbers of a named port differ, a port that all pods
 * have is not repeated for each. Addresses and ports are sorted, so that equal subsets are equal text. Source:
 * pkg/api/v1/endpoints/util.go RepackSubsets.
 * @throws Error where named ports differ in so many ways that no object could list them
 */
export function subsetsOf(pods: readonly Pod[], service: Service): readonly Subset[] {
  const groups = groupsOf(pods, service)
  if (groups.length <= 1) return groups.map(subsetOf)
  const sets = new Map<string, { readonly ports: ResolvedPort[]; readonly of: readonly Group[] }>()
  for (const { port, of } of portsOf(groups)) {
    const key = of.map(({ index }) => index).join()
    const set = sets.get(key)
    if (set === undefined) sets.set(key, { ports: [port], of })
    else set.ports.push(port)
  }
  const count = counter(service)
  return [...sets.values()].map(({ ports, of }) => {
    const joined: Group = { index: -1, ports, ready: [], notReady: [] }
    for (const { ready, notReady } of of) {
      count(ready.length + notReady.length)
      pushAll(joined.ready, ready)
      pushAll(joined.notReady, notReady)
    }
    return subsetOf(joined)
  })
}

/** Returns the pods by what they have; those that serve no port of a Service with ports are left out. */
function groupsOf(pods: readonly Pod[], service: Service): readonly Group[] {
  const groups = new Map<readonly ResolvedPort[], Group>()
  const count = counter(service)
  const portsOn = portResolver(service)
  for (const pod of pods) {
    // Clients of Endpoints know one family only: the primary one of the Service.
    const ip = addressOf(pod, service.spec.ipFamilies?.[0] ?? "IPv4")
    const ports = portsOn(pod)
    if (ip === undefined) continue
    if (ports.length === 0 && (service.spec.ports ?? []).length > 0) continue
    const hostname = hostnameOf(pod, service)
    const address: EndpointAddress = {
      ip,
      ...(hostname === undefined ? {} : { hostname }),
      ...(pod.spec.nodeName ? { nodeName: pod.spec.nodeName } : {}),
      targetRef: { kind: "Pod", namespace: pod.metadata.namespace, name: pod.metadata.name, uid: pod.metadata.uid },
    }
    let group = groups.get(ports)
    if (group === undefined) {
      count(ports.length)
      groups.set(ports, (group = { index: groups.size, ports, ready: [], notReady: [] }))
    }
    ;(readinessOf(pod, service).ready ? group.ready : group.notReady).push(address)
  }
  return [...groups.values()]
}

/** Returns each port once, in the order of their texts, with the groups that have it. */
function portsOf(groups: readonly Group[]): readonly { readonly port: ResolvedPort; readonly of: readonly Group[] }[] {
  const ports = new Map<string, { readonly port: ResolvedPort; readonly of: Group[] }>()
  for (const group of groups)
    for (const port of group.ports) {
      const key = JSON.stringify(port)
      const known = ports.get(key)
      if (known === undefined) ports.set(key, { port, of: [group] })
      else known.of.push(group)
    }
  return [...ports].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each)
}

/** Adds up entries. @throws Error beyond the most that there may be */
function counter({ metadata: { namespace, name } }: Service): (entries: number) => void {
  let total = 0
  return (entries) => {
    total += entries
    if (total > MOST_ENTRIES)
      throw new Error(
        `The Endpoints of Service ${namespace}/${name} would list more than ${MOST_ENTRIES} ports and addresses, since ` +
          "its named ports have other numbers from pod to pod. Give them the same numbers in all pods",
      )
  }
}

const byIp = (a: EndpointAddress, b: EndpointAddress): number => (a.ip < b.ip ? -1 : 1)

const subsetOf = ({ ports, ready, notReady }: Group): Subset => ({
  ...(ready.length === 0 ? {} : { addresses: ready.sort(byIp) }),
  ...(notReady.length === 0 ? {} : { notReadyAddresses: notReady.sort(byIp) }),
  ...(ports.length === 0
    ? {}
    : {
        ports: ports.map(({ name, port, protocol, appProtocol }) => ({
          ...(name === "" ? {} : { name }),
          port,
          protocol,
          ...(appProtocol === undefined ? {} : { appProtocol }),
        })),
      }),
})
