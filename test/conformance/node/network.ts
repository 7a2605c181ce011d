import type { Loose } from "../cluster.ts"
import { until, type TestNamespace } from "./namespace.ts"
import { netexec, programVolumes } from "./programs/programs.ts"

/** A pod that answers as agnhost's `netexec` does, with its labels and the ports that are given. */
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
  /** What is asked; its host name unless given. */
  readonly request?: string
  readonly tries?: number
  /** Where the asking pod listens itself. */
  readonly through?: number
}

/** What a target answers when it is asked from a pod; an empty list where it does not. */
export async function dial(
  ns: TestNamespace,
  pod: string,
  { host, port, protocol = "http", request = "hostname", tries = 1, through = 8080 }: Target,
): Promise<readonly string[]> {
  const query = new URLSearchParams({ host, port: String(port), protocol, request, tries: String(tries) })
  const { text } = await ns.cluster.send("GET", `${ns.path}/pods/${pod}:${through}/proxy/dial?${query}`)
  return (JSON.parse(text.startsWith("{") ? text : "{}") as { responses?: readonly string[] }).responses ?? []
}

/** Asks until every one of the names has answered, and none but these do. */
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

/** The pods behind a Service, each with its port as `name:port`, once they are as wanted. */
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
