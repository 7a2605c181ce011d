import { IPAddress } from "../../pkg/api/networking/v1/ipaddress.ts"
import { ServiceCIDR } from "../../pkg/api/networking/v1/servicecidr.ts"
import {
  covers,
  holds,
  overlaps,
  parseAddress,
  parseNetwork,
  type Network,
} from "../../pkg/apimachinery/addresses/cidr.ts"
import { isNotFound } from "../../pkg/apimachinery/errors.ts"
import { timestamp } from "../../pkg/clock/clock.ts"
import { defineController, watching, type ReconcileContext } from "../../pkg/controller/controller.ts"

const FINALIZER = "networking.k8s.io/service-cidr-finalizer"
const FIELD_MANAGER = "service-cidr-controller"
const MANAGED_BY = "ipaddress.kubernetes.io/managed-by"
const ALLOCATOR = "ipallocator.k8s.io"
/** Delay between the deletion of a range and its removal, so that no write of one of its addresses is still open. */
const GRACE_MS = 10_000

const networksOf = ({ spec }: ServiceCIDR): readonly Network[] =>
  (spec.cidrs ?? []).flatMap((cidr) => parseNetwork(cidr) ?? [])
const isManaged = ({ metadata }: IPAddress): boolean => metadata.labels?.[MANAGED_BY] === ALLOCATOR

/**
 * Makes ranges of Service addresses ready, and keeps a deleted range while a Service has an address that is in no other
 * range. Source: pkg/controller/servicecidrs.
 */
export const serviceCidrController = defineController<ServiceCIDR>({
  name: "service-cidr-controller",
  reconciles: ServiceCIDR,
  watches: [
    // A change of a range affects the deleted ranges that overlap it, since it may now contain their addresses.
    watching(ServiceCIDR, (cidr, context) =>
      leaving(context, (network) => networksOf(cidr).some((other) => overlaps(network, other))),
    ),
    watching(IPAddress, (address, context) =>
      isManaged(address) ? leaving(context, (network) => isIn(network, address)) : [],
    ),
  ],
  async reconcile(key, context) {
    const { client, clock, informers } = context
    const cidr = informers.of(ServiceCIDR).get(key)
    if (cidr === undefined) return
    const { finalizers = [], deletionTimestamp } = cidr.metadata
    if (deletionTimestamp === undefined) {
      const held = finalizers.includes(FINALIZER)
        ? cidr
        : await client.patch(ServiceCIDR, cidr.metadata, {
            type: "strategic",
            body: { metadata: { finalizers: [FINALIZER] } },
          })
      if (conditionOf(held)?.status !== "True")
        await setReady(context, held, "True", "", "Kubernetes Service CIDR is ready")
      return
    }
    if (!finalizers.includes(FINALIZER)) return
    if (isNeeded(cidr, context)) {
      if (conditionOf(cidr)?.reason !== "Terminating")
        await setReady(
          context,
          cidr,
          "False",
          "Terminating",
          "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR",
        )
      return
    }
    const requeueAfter = Date.parse(deletionTimestamp) + GRACE_MS - clock.now()
    if (requeueAfter > 0) return { requeueAfter }
    await client
      .patch(ServiceCIDR, cidr.metadata, {
        type: "strategic",
        body: { metadata: { "$deleteFromPrimitiveList/finalizers": [FINALIZER] } },
      })
      .catch((err: unknown) => {
        if (!isNotFound(err)) throw err
      })
  },
})

/** Returns the ranges that are being deleted and have a network for which `concerns` is true. */
const leaving = ({ informers }: ReconcileContext, concerns: (network: Network) => boolean): readonly string[] =>
  informers
    .of(ServiceCIDR)
    .list()
    .filter((cidr) => cidr.metadata.deletionTimestamp !== undefined && networksOf(cidr).some(concerns))
    .map(({ metadata }) => metadata.name!)

const isIn = (network: Network, { metadata }: IPAddress): boolean => {
  const address = parseAddress(metadata.name ?? "")
  return address !== undefined && holds(network, address)
}

/** Whether an address would be in no range without this one. A range within other ranges is never needed. */
function isNeeded(cidr: ServiceCIDR, { informers }: ReconcileContext): boolean {
  const own = networksOf(cidr)
  const others = informers
    .of(ServiceCIDR)
    .list()
    .filter(({ metadata }) => metadata.name !== cidr.metadata.name)
    .flatMap(networksOf)
  if (own.every((network) => others.some((other) => covers(other, network)))) return false
  return informers
    .of(IPAddress)
    .list()
    .some(
      (address) =>
        isManaged(address) &&
        own.some((network) => isIn(network, address)) &&
        !others.some((other) => isIn(other, address)),
    )
}

const conditionOf = ({ status }: ServiceCIDR) => status.conditions?.find(({ type }) => type === "Ready")

async function setReady(
  { client, clock }: ReconcileContext,
  cidr: ServiceCIDR,
  status: "True" | "False",
  reason: string,
  message: string,
): Promise<void> {
  const { apiVersion, kind } = ServiceCIDR
  const { name } = cidr.metadata
  const conditions = [{ type: "Ready", status, reason, message, lastTransitionTime: timestamp(clock) }]
  await client.patch(
    ServiceCIDR,
    { name },
    { type: "apply", body: { apiVersion, kind, metadata: { name }, status: { conditions } } },
    { subresource: "status", fieldManager: FIELD_MANAGER, force: true },
  )
}
