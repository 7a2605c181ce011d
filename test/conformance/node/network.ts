import type { Loose } from "../cluster.ts"
import { until, type TestNamespace } from "./namespace.ts"
import { netexec, programVolumes } from "./programs/programs.ts"

/** Runs a pod that answers like agnhost's `netexec`, with these labels and ports. */
export function runNetexec(
  ns: TestNamespace,
  name: string,
  {
    labels = {},
    env = {},
    ports = [],
    ...spec
  }: {
    readonly labels?: Readonly<Record<string, string>>
    readonly env?: Readonly<Record<string, string>>
    readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[]
    readonly hostNetwork?: boolean
  } = {},
): Promise<Loose> {
  return ns.runPod(name, {
    ...spec,
    metadata: { labels },
    volumes: programVolumes,
    containers: [{ ...netexec(env), ports }],
  })
}

export interface Target {
  readonly host: string
  readonly port: number
  readonly protocol?: "http" | "udp"
  /** The path of the request; the one for the host name by default. */
  readonly request?: string
  readonly tries?: number
  /** The port on which the requesting pod listens itself. */
  readonly through?: number
}

/** Returns the answers of a target to a request from a pod; an empty list if there is none. */
export async function dial(
  ns: TestNamespace,
  pod: string,
  { host, port, protocol = "http", request = "hostname", tries = 1, through = 8080 }: Target,
): Promise<readonly string[]> {
  const query = new URLSearchParams({ host, port: String(port), protocol, request, tries: String(tries) })
  const { text } = await ns.cluster.send("GET", `${ns.path}/pods/${pod}:${through}/proxy/dial?${query}`)
  return (JSON.parse(text.startsWith("{") ? text : "{}") as { responses?: readonly string[] }).responses ?? []
}

/** Sends requests until each of these names has answered, and no other name. */
export const untilAnswered = (
  ns: TestNamespace,
  pod: string,
  target: Target,
  names: readonly string[],
): Promise<readonly string[]> =>
  until(
    `${names.join(", ")} at ${target.host}:${target.port}`,
    () => dial(ns, pod, { tries: 20, ...target }),
    (answers) => names.every((name) => answers.includes(name)) && answers.every((answer) => names.includes(answer)),
  )

/** Waits until the endpoints of a Service are the wanted ones, each as `name:port`. */
export async function untilEndpoints(ns: TestNamespace, service: string, wanted: readonly string[]): Promise<void> {
  const path = `${ns.at("discovery.k8s.io/v1")}/endpointslices?labelSelector=kubernetes.io/service-name%3D${service}`
  await ns.cluster.untilList(path, (slices) => {
    const found = slices.flatMap((slice) => {
      const endpoints = (slice["endpoints"] ?? []) as {
        conditions?: { ready?: boolean }
        targetRef?: { name: string }
      }[]
      const ports = (slice["ports"] ?? []) as { port: number }[]
      return endpoints
        .filter(({ conditions }) => conditions?.ready !== false)
        .flatMap(({ targetRef }) => ports.map(({ port }) => `${targetRef?.name}:${port}`))
    })
    return JSON.stringify(found.toSorted()) === JSON.stringify([...wanted].toSorted())
  })
}
