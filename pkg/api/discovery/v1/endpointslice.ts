import { addressWarnings } from "../../../apimachinery/addresses/address-warnings.ts"
import { deepEqual } from "../../../apimachinery/json/equal.ts"
import { f } from "../../../apimachinery/fields.ts"
import type { ObjectMeta } from "../../../apimachinery/meta.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { endpointListFaults, portListFaults, withoutTopology } from "./endpointslice-validation.ts"
import { Endpoint, EndpointPort } from "./endpoint.ts"

/**
 * Source: k8s.io/api discovery/v1/types.go, pkg/registry/discovery/endpointslice/strategy.go,
 * pkg/apis/discovery/validation.
 */

const fields = {
  addressType: f
    .string(4, "Kind of the addresses; cannot be changed.")
    .required()
    .enum("IPv4", "IPv6", "FQDN")
    .immutable(),
  endpoints: f.list(2, Endpoint, "Backends, at most 1000.").atomic().orNull(),
  ports: f.list(3, EndpointPort, "Ports of every endpoint.").atomic().orNull(),
}
export interface EndpointSlice extends ObjectFor<typeof fields> {}

/** Controllers whose addresses are in canonical form already, so that they need no warnings. */
const OWN_CONTROLLERS: ReadonlySet<string> = new Set([
  "endpointslice-controller.k8s.io",
  "endpointslicemirroring-controller.k8s.io",
])
/** The label with the controller that manages a slice. Source: k8s.io/api discovery/v1 well_known_labels.go. */
export const MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
/** The label with the Service of a slice. */
export const SERVICE_NAME = "kubernetes.io/service-name"

/**
 * Returns the key of the Service that a slice belongs to: `<namespace>/<name>`, with an empty name for a slice without
 * a Service.
 */
export const serviceKeyOf = ({ metadata }: { readonly metadata: ObjectMeta }): string =>
  `${metadata.namespace ?? ""}/${metadata.labels?.[SERVICE_NAME] ?? ""}`

/**
 * Returns the number of a slice's port; undefined when the slice has no such port, or its number is not a valid port:
 * as upstream, the API accepts any number.
 */
export function portOf(
  { ports }: Pick<EndpointSlice, "ports">,
  wanted: { readonly name: string; readonly protocol: string },
): number | undefined {
  const found = ports?.find(({ name = "", protocol = "TCP" }) => name === wanted.name && protocol === wanted.protocol)
  return found?.port === undefined || found.port < 1 || found.port > 65_535 ? undefined : found.port
}

export const EndpointSlice = defineResource(
  {
    group: "discovery.k8s.io",
    version: "v1",
    kind: "EndpointSlice",
    plural: "endpointslices",
    scope: "Namespaced",
    upstreamChecks: { metadataUpdate: 0, wholeMetadata: 1 },
    doc: "A part of the backends of a Service; all slices of a Service together are its backends.",
    // `prepareForUpdate` sets the generation, before it removes fields.
    generation: { counts: () => false },
    columns: [
      { name: "AddressType", type: "string", doc: "IPv4, IPv6 or FQDN.", value: ({ addressType }) => addressType },
      { name: "Ports", type: "string", doc: "Ports of the endpoints.", value: ({ ports }) => portsText(ports ?? []) },
      {
        name: "Endpoints",
        type: "string",
        doc: "Addresses of the endpoints.",
        value: ({ endpoints }) =>
          firstThree(
            (endpoints ?? []).flatMap(({ addresses }) => addresses),
            "<unset>",
          ),
      },
    ],
    prepareForCreate: (slice) => withoutTopology(slice, undefined),
    prepareForUpdate: (slice, old) => withoutTopology(counted(slice, old), old),
    warnings: ({ metadata: { labels }, addressType, endpoints }, old) => [
      ...(old === undefined && addressType === "FQDN" ? ["spec.addressType: FQDN endpoints are deprecated"] : []),
      ...(OWN_CONTROLLERS.has(labels?.[MANAGED_BY] ?? "")
        ? []
        : (endpoints ?? []).flatMap(({ addresses }, i) =>
            addresses.flatMap((address, j) => addressWarnings(`endpoints[${i}].addresses[${j}]`, address)),
          )),
    ],
    validate: (slice, old) => [
      ...portListFaults(slice.ports ?? []),
      ...(slice.endpoints === old?.endpoints || deepEqual(slice.endpoints, old?.endpoints)
        ? []
        : endpointListFaults(slice)),
    ],
  },
  fields,
)

/**
 * Returns the slice with its generation. A change of labels or of the deprecated topology raises it too, although the
 * topology is not stored.
 */
function counted(slice: EndpointSlice, old: EndpointSlice): EndpointSlice {
  const { metadata, ...now } = slice
  const { metadata: before, ...then } = old
  return deepEqual(now, then) && deepEqual(metadata.labels ?? {}, before.labels ?? {})
    ? slice
    : { ...slice, metadata: { ...metadata, generation: (before.generation ?? 0) + 1 } }
}

const portsText = (ports: readonly EndpointPort[]): string =>
  firstThree(
    ports.map(({ port, name }) => String(port ?? name ?? "*")),
    "<unset>",
  )

/** Returns the first three texts, and how many more there are. */
function firstThree(all: readonly string[], none: string): string {
  if (all.length === 0) return none
  return all.length > 3 ? `${all.slice(0, 3).join(",")} + ${all.length - 3} more...` : all.join(",")
}
