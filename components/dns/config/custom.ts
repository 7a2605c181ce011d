import { CorefileError, parseDirectives, parseServers } from "./corefile.ts"
import { readZone } from "./read-zone.ts"
import { zoneName, type Zone } from "./zone.ts"

/** The most zones besides the root zone. */
const MOST_ZONES = 1000

export interface CustomReading {
  /** The root zone first, then the zones of server blocks. */
  readonly zones: readonly Zone[]
  /** What is ignored, and why. Each text names the key of the ConfigMap, and then the line. */
  readonly problems: readonly string[]
}

/**
 * Reads the ConfigMap `coredns-custom` as k3s does: keys `*.override` hold directives for the root, keys
 * `*.server` hold server blocks. A key that cannot be read is left out. Source: k3s manifests/coredns.yaml.
 */
export function readCustom(root: Zone, data: Readonly<Record<string, string>>): CustomReading {
  const problems: string[] = []
  const zones = new Map<string, Zone>([[root.name, root]])
  for (const [key, text] of Object.entries(data).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const complain = (problem: string) => void problems.push(`${key}: ${problem}`)
    try {
      if (key.endsWith(".override")) {
        const { zone, problems: inZone } = readZone(zones.get(root.name)!, parseDirectives(text))
        zones.set(root.name, zone)
        inZone.forEach(complain)
      } else if (key.endsWith(".server")) readServers(text, zones, complain)
    } catch (err) {
      if (!(err instanceof CorefileError)) throw err
      complain(err.message)
    }
  }
  return { zones: [...zones.values()], problems }
}

function readServers(text: string, zones: Map<string, Zone>, complain: (problem: string) => void): void {
  for (const { zones: keys, directives, line } of parseServers(text)) {
    for (const key of keys) {
      const [, written = "", port = "53"] = /^(?:dns:\/\/)?([^:]+)(?::(\d+))?$/.exec(key) ?? []
      const name = written === "" ? undefined : zoneName(written)
      if (name === undefined) complain(`line ${line}: "${key}" is not the name of a zone`)
      else if (port !== "53") complain(`line ${line}: "${key}": zones are served on port 53 only`)
      else if (zones.has(name))
        complain(`line ${line}: "${key}" is already served${name === "" ? "; use a key that ends with .override" : ""}`)
      else if (zones.size > MOST_ZONES) complain(`line ${line}: "${key}": at most ${MOST_ZONES} zones are allowed`)
      else {
        const empty: Zone = { name, rewrites: [], autopath: false, cluster: false, forwards: [], logs: false }
        const { zone, problems } = readZone(empty, directives)
        zones.set(name, zone)
        problems.forEach(complain)
      }
    }
  }
}
