import type { IPAddress } from "../../api/networking/v1/ipaddress.ts"
import type { ServiceCIDR } from "../../api/networking/v1/servicecidr.ts"
import type { ApiObject } from "./describe-client.ts"
import type { Describer, Describing } from "./describing.ts"
import { describeEvents, eventsOf } from "./events.ts"
import { describeClusterMetadata } from "./metadata.ts"
import { description } from "./prefix-writer.ts"
import { longTime } from "./times.ts"

export const describeServiceCIDR: Describer = async (describing, _namespace, name) => {
  const cidr = await getNewest<ServiceCIDR>(describing, "servicecidrs", name)
  const events = await eventsOf(describing, cidr)
  return description((w) => {
    describeClusterMetadata(w, cidr.metadata)
    w.row(0, "CIDRs:", (cidr.spec.cidrs ?? []).join(", "))
    const conditions = cidr.status?.conditions ?? []
    if (conditions.length > 0) {
      w.row(0, "Status:")
      w.row(0, "Conditions:")
      w.row(1, "Type", "Status", "LastTransitionTime", "Reason", "Message")
      w.row(1, "----", "------", "------------------", "------", "-------")
    }
    for (const { type, status, lastTransitionTime, reason = "", message = "" } of conditions)
      w.row(1, type, status, longTime(lastTransitionTime, describing.zone), reason, message)
    describeEvents(w, events, describing.now())
  })
}

export const describeIPAddress: Describer = async (describing, _namespace, name) => {
  const address = await getNewest<IPAddress>(describing, "ipaddresses", name)
  const events = await eventsOf(describing, address)
  return description((w) => {
    describeClusterMetadata(w, address.metadata)
    const parent = address.spec.parentRef
    if (parent) {
      w.row(0, "Parent Reference:")
      w.row(1, "Group:", parent.group ?? "")
      w.row(1, "Resource:", parent.resource ?? "")
      w.row(1, "Namespace:", parent.namespace ?? "")
      w.row(1, "Name:", parent.name ?? "")
    }
    describeEvents(w, events, describing.now())
  })
}

/** Gets an object in v1, or in v1beta1 from servers before 1.33. */
async function getNewest<T extends ApiObject>({ client }: Describing, resource: string, name: string): Promise<T> {
  const group = "networking.k8s.io"
  return client
    .get<T>({ group, version: "v1", resource }, "", name)
    .catch(() => client.get<T>({ group, version: "v1beta1", resource }, "", name))
}
