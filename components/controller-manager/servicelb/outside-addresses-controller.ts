import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { ServiceCIDR } from "../../../pkg/api/networking/v1/servicecidr.ts"
import { keyFrom, type Key } from "../../../pkg/client/informer.ts"
import { OutsideAddresses, sameAddresses, servicesWithExternalIps } from "../../../pkg/component/outside-addresses.ts"
import {
  defineController,
  watching,
  type Controller,
  type ReconcileContext,
} from "../../../pkg/controller/controller.ts"
import type { OccupiedPorts } from "./servicelb.ts"

const allWithExternalIps = ({ informers }: ReconcileContext): readonly Key[] =>
  servicesWithExternalIps(informers).map(({ metadata }) => keyFrom(metadata))

/**
 * Tells the owners of Services by Events which of their addresses and ports kube-proxy does not serve, because they
 * belong to the cluster or to the nodes themselves.
 */
export const outsideAddressController = ({ always }: OccupiedPorts = { always: new Map() }): Controller<Service> =>
  defineController<Service>({
    name: "outside-address-controller",
    reconciles: Service,
    concerns: ({ spec }) =>
      (spec.externalIPs ?? []).length > 0 || (spec.ports ?? []).some(({ nodePort }) => nodePort !== undefined),
    watches: [
      watching(Node, (node, context, old, deleted) =>
        !deleted && old !== undefined && sameAddresses(node, old) ? [] : allWithExternalIps(context),
      ),
      watching(ServiceCIDR, (_range, context) => allWithExternalIps(context)),
    ],
    reconcile(key, { informers, events }) {
      const service = informers.of(Service).get(key)
      if (service === undefined) return Promise.resolve()
      const { externalIPs = [], ports = [] } = service.spec
      const outside = new OutsideAddresses(informers)
      for (const ip of externalIPs) {
        const problem = outside.externalProblem(ip)
        if (problem !== undefined)
          events.event(service, "Warning", "ExternalIPIgnored", `${ip} of spec.externalIPs is not served: ${problem}`)
      }
      for (const { port, nodePort, protocol } of ports)
        for (const number of [...(externalIPs.length > 0 ? [port] : []), ...(nodePort ? [nodePort] : [])]) {
          const holder = always.get(`${number}/${protocol}`)
          if (holder === undefined) continue
          const message = `Port ${number}/${protocol} is not served at addresses of nodes: it belongs to ${holder}`
          events.event(service, "Warning", "PortConflict", message)
        }
      return Promise.resolve()
    },
  })
