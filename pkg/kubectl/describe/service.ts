import type { EndpointSlice } from "../../api/discovery/v1/endpointslice.ts"
import type { Service } from "../../api/core/v1/service/service.ts"
import type { Describer } from "./describing.ts"
import { addressesText, slicesOf } from "./endpoint-addresses.ts"
import { describeEvents, eventsOf } from "./events.ts"
import { describeMetadata, labelsText } from "./metadata.ts"
import { description, type PrefixWriter } from "./prefix-writer.ts"

export const SERVICES = { group: "", version: "v1", resource: "services" }

export const describeService: Describer = async (describing, namespace, name) => {
  const service = await describing.client.get<Service>(SERVICES, namespace, name)
  // A Service is described without its endpoints where they cannot be read.
  const slices = await slicesOf(describing, service.metadata.namespace ?? "", name).catch(() => ({ items: [] }))
  const events = await eventsOf(describing, service)
  const { metadata, spec } = service
  return description((w) => {
    describeMetadata(w, metadata)
    w.row(0, "Selector:", labelsText(spec.selector))
    w.row(0, "Type:", spec.type)
    describeAddresses(w, service)
    describePorts(w, service, slices.items)
    w.row(0, "Session Affinity:", spec.sessionAffinity ?? "")
    if (spec.externalTrafficPolicy) w.row(0, "External Traffic Policy:", spec.externalTrafficPolicy)
    if (spec.internalTrafficPolicy) w.row(0, "Internal Traffic Policy:", spec.internalTrafficPolicy)
    if (spec.healthCheckNodePort) w.row(0, "HealthCheck NodePort:", spec.healthCheckNodePort)
    if (spec.loadBalancerSourceRanges?.length)
      w.row(0, "LoadBalancer Source Ranges:", spec.loadBalancerSourceRanges.join(","))
    if (spec.trafficDistribution) w.row(0, "Traffic Distribution:", spec.trafficDistribution)
    describeEvents(w, events, describing.now())
  })
}

function describeAddresses(w: PrefixWriter, { spec, status }: Service): void {
  const { ipFamilyPolicy, ipFamilies = [], clusterIP = "", clusterIPs = [], externalIPs = [] } = spec
  if (ipFamilyPolicy) w.row(0, "IP Family Policy:", ipFamilyPolicy)
  w.row(0, "IP Families:", ipFamilies.join(",") || "<none>")
  w.row(0, "IP:", clusterIP)
  w.row(0, "IPs:", clusterIPs.length > 0 ? clusterIPs.join(",") : "<none>")
  if (externalIPs.length > 0) w.row(0, "External IPs:", externalIPs.join(","))
  if (spec.loadBalancerIP) w.row(0, "Desired LoadBalancer IP:", spec.loadBalancerIP)
  if (spec.externalName) w.row(0, "External Name:", spec.externalName)
  const ingress = status.loadBalancer?.ingress ?? []
  if (ingress.length === 0) return
  const points = ingress.map(({ ip, ipMode, hostname }) =>
    ip ? `${ip}${ipMode ? ` (${ipMode})` : ""}` : (hostname ?? ""),
  )
  w.row(0, "LoadBalancer Ingress:", points.join(", "))
}

function describePorts(w: PrefixWriter, { spec }: Service, slices: readonly EndpointSlice[]): void {
  for (const { name = "", port, protocol, targetPort, appProtocol, nodePort } of spec.ports ?? []) {
    const shown = name || "<unset>"
    w.row(0, "Port:", shown, `${port}/${protocol}`)
    w.row(0, "TargetPort:", `${targetPort ?? 0}/${protocol}`)
    if (appProtocol !== undefined) w.row(0, "AppProtocol:", appProtocol)
    if (nodePort) w.row(0, "NodePort:", shown, `${nodePort}/${protocol}`)
    w.row(0, "Endpoints:", addressesText(slices, name))
  }
}
