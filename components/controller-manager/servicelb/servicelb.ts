import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { Ingress } from "../../../pkg/api/networking/v1/ingress.ts"
import { IngressClass } from "../../../pkg/api/networking/v1/ingressclass.ts"
import { isServedByK3ts } from "../../../pkg/api/networking/v1/k3ts-class.ts"
import { EndpointSlice, SERVICE_NAME, serviceKeyOf } from "../../../pkg/api/discovery/v1/endpointslice.ts"
import { keyFrom, type Index, type Key } from "../../../pkg/client/informer.ts"
import {
  defineController,
  watching,
  type Controller,
  type ReconcileContext,
} from "../../../pkg/controller/controller.ts"
import { OutsideAddresses } from "../../../pkg/component/outside-addresses.ts"
import { hasCleanup, setCleanup } from "./cleanup.ts"
import { grants, portsOf } from "./grants.ts"
import { addressesFor, digestOf } from "./nodes.ts"

/** Ports on which the nodes themselves listen; load balancers do not get them. */
export interface OccupiedPorts {
  /** By port, such as `6443/TCP`: the program that listens there. */
  readonly always: ReadonlyMap<string, string>
  /** Such as `80/TCP`: occupied while there is an Ingress whose class names the controller in this process. */
  readonly ingress?: readonly string[]
}

/** A Service with a loadBalancerClass belongs to another implementation. */
const isOurs = ({ metadata, spec }: Service): boolean =>
  spec.type === "LoadBalancer" && spec.loadBalancerClass === undefined && metadata.deletionTimestamp === undefined

const ours: Index<Service> = { name: "servicelb/ours", of: (service) => (isOurs(service) ? [""] : []) }
const byService: Index<EndpointSlice> = {
  name: "servicelb/service",
  of: ({ metadata }) => {
    const name = metadata.labels?.[SERVICE_NAME]
    return name === undefined ? [] : [`${metadata.namespace}/${name}`]
  },
}

/**
 * Gives Services of type LoadBalancer the addresses of nodes, where kube-proxy's rules forward their ports to
 * endpoints; it needs no pod and no image. Two Services cannot have the same port of the nodes: the second one gets no
 * address, and an Event that names the holder. Source of the behaviour: k3s pkg/cloudprovider/servicelb.go; of status
 * and class: KEP-1959 and k8s.io/cloud-provider/controllers/service.
 */
export const serviceLbController = (occupied: OccupiedPorts = { always: new Map() }): Controller<Service> =>
  defineController<Service>({
    name: "service-lb-controller",
    reconciles: Service,
    concerns: (service) =>
      service.spec.type === "LoadBalancer" ||
      (service.status.loadBalancer.ingress ?? []).length > 0 ||
      hasCleanup(service),
    watches: [
      // Other Services with the same ports may get them now, or lose them.
      watching(Service, (service, context, old) => {
        if (service.spec.type !== "LoadBalancer" && old?.spec.type !== "LoadBalancer") return []
        const ports = new Set([...portsOf(service), ...(old === undefined ? [] : portsOf(old))])
        return context.informers
          .of(Service)
          .by(ours, "")
          .filter((other) => portsOf(other).some((port) => ports.has(port)))
          .map(({ metadata }) => keyFrom(metadata))
      }),
      watching(Node, (node, context, old, deleted) =>
        !deleted && old !== undefined && digestOf(old) === digestOf(node) ? [] : allOurs(context),
      ),
      ...(occupied.ingress === undefined
        ? []
        : [
            watching(Ingress, (ingress, context, old) => {
              const classes = context.informers.of(IngressClass)
              const isSame = old !== undefined && isServedByK3ts(old, classes) === isServedByK3ts(ingress, classes)
              return isSame ? [] : allOurs(context)
            }),
            watching(IngressClass, (_class, context) => allOurs(context)),
          ]),
      watching(EndpointSlice, (slice, { informers }) => {
        const key = serviceKeyOf(slice)
        return informers.of(Service).get(key)?.spec.externalTrafficPolicy === "Local" ? [key] : []
      }),
    ],
    async reconcile(key, context) {
      const { informers, events } = context
      const service = informers.of(Service).get(key)
      if (service === undefined) return
      if (!isOurs(service)) {
        // Another implementation has the Services with a class.
        if (service.spec.loadBalancerClass !== undefined) return
        await setAddresses(service, [], context)
        if (hasCleanup(service)) await setCleanup(service, false, context)
        return
      }
      if (!hasCleanup(service)) await setCleanup(service, true, context)
      const refusal = grants(informers.of(Service).by(ours, ""), occupiedNow(occupied, context)).get(key)
      if (refusal !== undefined) {
        const { port, holder } = refusal
        events.event(service, "Warning", "PortConflict", `Port ${port} of the nodes is taken by ${holder}`)
        await setAddresses(service, [], context)
        return
      }
      const outside = new OutsideAddresses(informers)
      const slices = informers.of(EndpointSlice).by(byService, key)
      const addresses = addressesFor(
        service,
        informers.of(Node).list(),
        slices,
        (ip) => outside.nodeAddressProblem(ip) === undefined,
      )
      await setAddresses(service, addresses, context)
    },
  })

function occupiedNow({ always, ingress }: OccupiedPorts, { informers }: ReconcileContext): ReadonlyMap<string, string> {
  const isServed =
    ingress !== undefined &&
    informers
      .of(Ingress)
      .list()
      .some((each) => isServedByK3ts(each, informers.of(IngressClass)))
  return isServed ? new Map([...always, ...ingress.map((port) => [port, "Ingresses"] as const)]) : always
}

const allOurs = ({ informers }: ReconcileContext): readonly Key[] =>
  informers
    .of(Service)
    .by(ours, "")
    .map(({ metadata }) => keyFrom(metadata))

/** Writes each address with the ports, from which the holder of a port is known later. */
async function setAddresses(
  service: Service,
  addresses: readonly string[],
  { client }: ReconcileContext,
): Promise<void> {
  const ports = (service.spec.ports ?? []).map(({ port, protocol }) => ({ port, protocol }))
  const ingress = addresses.map((ip) => ({ ip, ipMode: "VIP", ports }))
  const now = (service.status.loadBalancer.ingress ?? []).map(({ ip, ipMode, ports: of = [] }) => ({
    ip,
    ipMode,
    ports: of.map(({ port, protocol }) => ({ port, protocol })),
  }))
  if (JSON.stringify(now) === JSON.stringify(ingress)) return
  const body = {
    metadata: { uid: service.metadata.uid },
    status: { loadBalancer: ingress.length > 0 ? { ingress } : null },
  }
  await client.patch(Service, service.metadata, { type: "strategic", body }, { subresource: "status" })
}
