/** Whether the Gateways that a route names take it: what their controllers say in conditions, by name and number. */
import { fromLabelSelector } from "../../apimachinery/selectors/labels.ts"
import type { LabelSelector } from "../../apimachinery/meta.ts"
import { nearest } from "../../names/suggest.ts"
import { finding, mend, type Finding, type Mend } from "../answer.ts"
import { command, type Command } from "../command.ts"
import { askThrough, type Ward } from "../doctor.ts"
import { NAMESPACES, refOf } from "../reading/kinds.ts"
import { GATEWAY_GROUP, gatewayObjects, type GatewayObject, type Listener, type Reference } from "./gateway-objects.ts"

/** Kinds of routes that each protocol carries. Source: Gateway API, Listener.allowedRoutes.kinds. */
const KINDS_OF: Readonly<Record<string, readonly string[]>> = {
  HTTP: ["HTTPRoute", "GRPCRoute"],
  HTTPS: ["HTTPRoute", "GRPCRoute"],
  TLS: ["TLSRoute", "TCPRoute"],
  TCP: ["TCPRoute"],
  UDP: ["UDPRoute"],
}

/** What is asked: whether `gateway` takes the route by its parent reference number `index`. */
interface Parent {
  readonly route: GatewayObject
  readonly gateway: GatewayObject
  readonly reference: Reference
  readonly index: number
  readonly ward: Ward
}

/** Returns why Gateways do not take a route: its parent is missing or unwell, or none of the listeners lets it in. */
export async function parentFindings(route: GatewayObject, ward: Ward): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  for (const [index, reference] of (route.spec.parentRefs ?? []).entries()) {
    const { group = GATEWAY_GROUP, kind = "Gateway", namespace = route.metadata.namespace ?? "", name } = reference
    if (group !== GATEWAY_GROUP || kind !== "Gateway") continue
    const gateways = await gatewayObjects("Gateway", namespace, ward)
    if (gateways === undefined) continue
    const gateway = gateways.find(({ metadata }) => metadata.name === name)
    if (gateway === undefined) {
      findings.push(missingFinding(name, namespace, gateways))
      continue
    }
    const own = await listenerFinding({ route, gateway, reference, index, ward })
    // What the Gateway itself lacks counts for each of its routes.
    for (const one of own === undefined ? (await askThrough(ward, refOf(gateway))).findings : [own]) findings.push(one)
  }
  return findings
}

function missingFinding(name: string, namespace: string, gateways: readonly GatewayObject[]): Finding {
  const names = gateways.map(({ metadata }) => metadata.name ?? "")
  const near = nearest(name, names)
  const there =
    near === undefined ? (names.length === 0 ? "" : `; there are ${names.join(", ")}`) : `; there is ${near}`
  return finding(
    "gateway-missing",
    `Gateway ${namespace}/${name}, to which it belongs, does not exist: nobody serves it${there}`,
  )
}

/** Returns why no listener takes the route. Each step leaves fewer listeners; the one that leaves none is the cause. */
async function listenerFinding(parent: Parent): Promise<Finding | undefined> {
  const { route, gateway, reference, ward } = parent
  const { sectionName, port } = reference
  const all = gateway.spec.listeners ?? []
  const named = all.filter(
    (one) => (sectionName === undefined || one.name === sectionName) && (port === undefined || one.port === port),
  )
  if (named.length === 0) return noListener(parent, all)
  const who = `Gateway ${gateway.metadata.namespace ?? ""}/${gateway.metadata.name ?? ""}`
  const which = (listeners: readonly Listener[]) => `listener ${listeners.map(({ name }) => name).join(", ")} of ${who}`
  const ofKind = named.filter((one) => kindsOf(one).includes(route.kind))
  if (ofKind.length === 0)
    return finding(
      "route-kind-not-allowed",
      `${which(named)} takes only ${[...new Set(named.flatMap(kindsOf))].join(", ")}, and it is of kind ${route.kind}`,
    )
  const near: Listener[] = []
  for (const one of ofKind) if (await letsIn(one, parent)) near.push(one)
  if (near.length === 0) return notAllowed(parent, ofKind, which(ofKind), ward)
  const hosts = route.spec.hostnames ?? []
  if (hosts.length === 0 || near.some(({ hostname = "" }) => hosts.some((host) => isShared(hostname, host))))
    return undefined
  const theirs = near.map(({ hostname }) => hostname).join(", ")
  return finding("route-hostname", `it is for ${hosts.join(", ")}, and ${which(near)} is for ${theirs}`, {
    hints: ["change hostnames of the route, or hostname of the listener"],
  })
}

function noListener({ route, gateway, reference, index }: Parent, all: readonly Listener[]): Finding {
  const { sectionName, port } = reference
  const wanted = [sectionName, port === undefined ? undefined : `at port ${port}`].filter(Boolean).join(" ")
  const [only] = all.length === 1 ? all : []
  const near = nearest(
    sectionName ?? "",
    all.map(({ name }) => name),
  )
  const meant = only ?? all.find(({ name }) => name === near)
  const at = `/spec/parentRefs/${index}`
  const steps =
    meant === undefined
      ? []
      : [
          ...(sectionName === undefined || sectionName === meant.name
            ? []
            : [{ op: "replace", path: `${at}/sectionName`, value: meant.name }]),
          ...(port === undefined || port === meant.port
            ? []
            : [{ op: "replace", path: `${at}/port`, value: meant.port }]),
        ]
  return finding(
    "route-listener-missing",
    `Gateway ${gateway.metadata.namespace ?? ""}/${gateway.metadata.name ?? ""}, to which it belongs, has no listener ` +
      `${wanted}, but ${all.map(({ name, port: own }) => `${name} (port ${own})`).join(", ")}`,
    {
      mends:
        steps.length === 0 ? [] : [mend(patched(route, steps), `has listener ${meant?.name ?? ""} take the route`)],
    },
  )
}

/** Returns that the namespace of a route is kept out, and how the first of the listeners lets it in. */
async function notAllowed(
  { route, gateway }: Parent,
  listeners: readonly Listener[],
  which: string,
  { reader }: Ward,
): Promise<Finding> {
  const { namespace = "" } = route.metadata
  const [first] = listeners
  const { from = "Same", selector } = first!.allowedRoutes?.namespaces ?? {}
  const wanted =
    from === "Selector" ? `of namespaces with ${fromLabelSelector(selector).toString()}` : "of its own namespace"
  const isLabelled = from === "Selector" && selector?.matchExpressions === undefined
  const space = isLabelled ? await reader.get(NAMESPACES, undefined, namespace).catch(() => undefined) : undefined
  const labels = Object.entries(selector?.matchLabels ?? {}).filter(
    ([key, value]) => space?.metadata.labels?.[key] !== value,
  )
  const mends: readonly Mend[] =
    space !== undefined && labels.length > 0
      ? [
          mend(
            command`kubectl label namespace ${namespace} ${labels.map(([key, value]) => `${key}=${value}`)} --overwrite`,
            `makes namespace ${namespace} one of those that the listener takes`,
          ),
        ]
      : from === "Same"
        ? [
            mend(
              patched(gateway, [
                {
                  op: "add",
                  path: `/spec/listeners/${(gateway.spec.listeners ?? []).indexOf(first!)}/allowedRoutes`,
                  value: { ...first!.allowedRoutes, namespaces: { from: "All" } },
                },
              ]),
              `has listener ${first!.name} take the routes of all namespaces`,
            ),
          ]
        : []
  return finding(
    "route-namespace-not-allowed",
    `${which} takes only routes ${wanted} (allowedRoutes), and this one is in namespace ${namespace}`,
    { mends },
  )
}

const kindsOf = ({ protocol, allowedRoutes }: Listener): readonly string[] =>
  allowedRoutes?.kinds?.map(({ kind }) => kind) ?? KINDS_OF[protocol] ?? []

async function letsIn({ allowedRoutes }: Listener, { route, gateway, ward }: Parent): Promise<boolean> {
  const { from = "Same", selector } = allowedRoutes?.namespaces ?? {}
  if (from === "All") return true
  if (from === "Same") return route.metadata.namespace === gateway.metadata.namespace
  return from === "Selector" && (await isSelected(route.metadata.namespace ?? "", selector, ward))
}

/** Whether the labels of a namespace are wanted. What may not be read is not said to be wrong. */
async function isSelected(namespace: string, selector: LabelSelector | undefined, { reader }: Ward): Promise<boolean> {
  const space = await reader.get(NAMESPACES, undefined, namespace).catch(() => undefined)
  return space === undefined || fromLabelSelector(selector).matches(space.metadata.labels ?? {})
}

/** Whether a listener and a route have a host in common. An empty name is every host, and `*` one label or more. */
export function isShared(listener: string, route: string): boolean {
  if (listener === "" || listener === route) return true
  const covers = (pattern: string, host: string) => pattern.startsWith("*.") && host.endsWith(pattern.slice(1))
  return covers(listener, route) || covers(route, listener)
}

const patched = ({ kind, metadata: { name = "", namespace = "" } }: GatewayObject, steps: readonly object[]): Command =>
  command`kubectl patch ${`${kind.toLowerCase()}/${name}`} -n ${namespace} --type=json -p ${JSON.stringify(steps)}`
