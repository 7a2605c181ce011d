import type { ContainerPort } from "../container/container.ts"

interface Ports {
  readonly ports?: readonly ContainerPort[] | undefined
}

interface Place {
  readonly field: string
  readonly port: ContainerPort
}

/** Returns whether there is only one port, about which no warning is possible. */
const isLoneUsual = ([first, ...others]: readonly (readonly [Ports, string])[]): boolean =>
  others.length === 0 && first?.[0].ports?.length === 1 && (first[0].ports[0]!.hostIP ?? "") === ""

/**
 * Returns warnings about ports of a pod that conflict with each other. `ports` are those of all containers, with their
 * paths. Source: pkg/api/pod/warnings.go.
 */
export function portWarnings(containers: readonly (readonly [Ports, string])[]): readonly string[] {
  if (containers.every(([{ ports }]) => ports === undefined) || isLoneUsual(containers)) return NO_WARNINGS
  const warnings: string[] = []
  const byNumber = new Map<string, Place[]>()
  const byName = new Map<string, string>()
  const sameNames: string[] = []
  let comparisons = 0
  for (const [{ ports = [] }, path] of containers)
    for (const [i, port] of ports.entries()) {
      const field = `${path}.ports[${i}]`
      if ((port.hostIP ?? "") !== "" && (port.hostPort ?? 0) === 0 && warnings.length < MOST_WARNINGS)
        warnings.push(`${field}: hostIP set without hostPort: ${shown(port)}`)
      const key = `${port.containerPort}/${port.protocol}`
      let others = byNumber.get(key)
      if (others === undefined) byNumber.set(key, (others = []))
      for (const other of others) {
        if (warnings.length >= MOST_WARNINGS || ++comparisons > MOST_COMPARISONS) break
        const conflict = conflictOf(port, other.port)
        if (conflict !== undefined) warnings.push(`${field}: ${conflict} port definition with ${other.field}`)
      }
      others.push({ field, port })
      if ((port.name ?? "") === "") continue
      const known = byName.get(port.name!)
      if (known === undefined) byName.set(port.name!, field)
      else if (sameNames.length < MOST_WARNINGS)
        sameNames.push(
          `${field}: duplicate port name "${port.name}" with ${known}, services and probes that select ports ` +
            `by name will use ${known}`,
        )
    }
  return [...warnings, ...sameNames]
}
/**
 * Of each sort, and comparisons of two ports. Differs from upstream, which compares all: of 40,000 equal ports, for
 * which an object has room, each would conflict with each. A response has room for a few dozen warnings.
 */
const MOST_WARNINGS = 1000
const MOST_COMPARISONS = 100_000

const NO_WARNINGS: readonly string[] = []

function conflictOf(a: ContainerPort, b: ContainerPort): string | undefined {
  const [ipA, ipB, portA, portB] = [a.hostIP ?? "", b.hostIP ?? "", a.hostPort ?? 0, b.hostPort ?? 0]
  if (ipA === ipB && portA === portB) return "duplicate"
  if (portA === 0 || portB === 0) return "overlapping"
  return portA === portB && (ipA === "") !== (ipB === "") ? "dangerously ambiguous" : undefined
}

/** Returns a port as Go prints the struct. */
const shown = ({ name = "", hostPort = 0, containerPort, protocol, hostIP = "" }: ContainerPort): string =>
  `{Name:${name} HostPort:${hostPort} ContainerPort:${containerPort} Protocol:${protocol} HostIP:${hostIP}}`
