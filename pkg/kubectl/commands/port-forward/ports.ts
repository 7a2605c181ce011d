import { parseUint16 } from "../../../apimachinery/go/go-text.ts"
import type { Pod } from "../../polymorphic/pod.ts"
import type { Unstructured } from "../../rest/json.ts"

/** A Service, as far as forwarding looks at it. */
export interface ForwardedService extends Unstructured {
  spec?: {
    clusterIP?: string
    ports?: { name?: string; port: number; protocol?: string; targetPort?: number | string }[]
  }
}

/** A port of this machine, 0 for a free one, and the port of the pod behind it. */
export interface ForwardedPort {
  readonly local: number
  readonly remote: number
}

const split = (text: string): readonly [local: string, remote: string] => {
  const parts = text.split(":")
  return parts.length === 2 ? [parts[0]!, parts[1]!] : [parts[0]!, parts[0]!]
}

/** The number in a text, as strconv.Atoi reads it; undefined for a name. */
const numberIn = (text: string): number | undefined => (/^[+-]?\d+$/.test(text) ? Number(text) : undefined)

/** Returns the ports of the pod for those of the command line, which may be names. Source: kubectl portforward.go. */
export function podPorts(texts: readonly string[], pod: Pod): readonly string[] {
  const ports = allPorts(pod)
  const byNumber = ports.map(({ containerPort, protocol }) => ({ port: containerPort, protocol }))
  refuseUdp(texts, byNumber, (name) => containerPortOf(pod, name))
  return texts.map((text) => {
    const [local, remote] = split(text)
    const number = String(numberIn(remote) === undefined ? containerPortOf(pod, remote) : remote)
    return local === remote ? number : `${local}:${number}`
  })
}

/** The same where the ports are those of a Service. */
export function servicePorts(texts: readonly string[], service: ForwardedService, pod: Pod): readonly string[] {
  refuseUdp(texts, service.spec?.ports ?? [], (name) => servicePortOf(service, name))
  return texts.map((text) => {
    const [local, remote] = split(text)
    const number = numberIn(remote) ?? servicePortOf(service, remote)
    const target = String(targetOf(service, pod, number))
    const own = numberIn(remote) === undefined && local === remote ? String(number) : local
    return own === target ? target : `${own}:${target}`
  })
}

const allPorts = ({ spec }: Pod) => (spec?.containers ?? []).flatMap(({ ports = [] }) => ports)

function containerPortOf({ spec, metadata }: Pod, name: string): number {
  const containers = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])]
  const found = containers.flatMap(({ ports = [] }) => ports).find((port) => port.name === name)
  if (found === undefined) throw new Error(`Pod '${metadata?.name ?? ""}' does not have a named port '${name}'`)
  return found.containerPort
}

function servicePortOf({ spec, metadata }: ForwardedService, name: string): number {
  const found = spec?.ports?.find((port) => port.name === name)
  if (found === undefined) throw new Error(`Service '${metadata?.name ?? ""}' does not have a named port '${name}'`)
  return found.port
}

function targetOf({ spec, metadata }: ForwardedService, pod: Pod, port: number): number {
  const found = spec?.ports?.find((one) => one.port === port)
  if (found === undefined) throw new Error(`Service ${metadata?.name ?? ""} does not have a service port ${port}`)
  if (spec?.clusterIP === "None") return port
  const { targetPort = 0 } = found
  return typeof targetPort === "string" ? containerPortOf(pod, targetPort) : targetPort === 0 ? port : targetPort
}

function refuseUdp(
  texts: readonly string[],
  ports: readonly { readonly port: number; readonly protocol?: string | undefined }[],
  portOf: (name: string) => number,
): void {
  const of = (protocol: string) => new Set(ports.filter((one) => one.protocol === protocol).map(({ port }) => port))
  const [udp, tcp] = [of("UDP"), of("TCP")]
  for (const text of texts) {
    const [, remote] = split(text)
    const port = numberIn(remote) ?? portOf(remote)
    if (udp.has(port) && !tcp.has(port)) throw new Error(`UDP protocol is not supported for ${remote}`)
  }
}

/** Reads ports whose names are numbers by now. Source: client-go tools/portforward/portforward.go (parsePorts). */
export const parsePorts = (texts: readonly string[]): readonly ForwardedPort[] =>
  texts.map((text) => {
    const parts = text.split(":")
    if (parts.length > 2) throw new Error(`invalid port format '${text}'`)
    const [first = "", second = first] = parts
    const local = portIn(parts.length === 2 && first === "" ? "0" : first, "local")
    const remote = portIn(second, "remote")
    if (remote === 0) throw new Error("remote port must be > 0")
    return { local, remote }
  })

const portIn = (text: string, which: string): number => parseUint16(text, `error parsing ${which} port '${text}': `)
