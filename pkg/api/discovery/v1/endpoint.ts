import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { ObjectReference } from "../../core/v1/reference.ts"

export const ForZone = message("discovery.v1.ForZone", "A zone that an endpoint is meant for.", {
  name: f.string(1, "Name of the zone.").required().ownRule(),
})
export interface ForZone extends ObjectOf<typeof ForZone> {}

export const ForNode = message("discovery.v1.ForNode", "A node that an endpoint is meant for.", {
  name: f.string(1, "Name of the node.").required().ownRule(),
})
export interface ForNode extends ObjectOf<typeof ForNode> {}

export const EndpointHints = message("discovery.v1.EndpointHints", "The clients that should use an endpoint.", {
  forZones: f.list(1, ForZone, "Zones whose clients should use the endpoint.").atomic(),
  forNodes: f.list(2, ForNode, "Nodes whose clients should use the endpoint.").atomic(),
})
export interface EndpointHints extends ObjectOf<typeof EndpointHints> {}

export const EndpointConditions = message("discovery.v1.EndpointConditions", "The state of an endpoint.", {
  ready: f.bool(1, "Whether it takes new traffic; absent counts as true.").pointer(),
  serving: f.bool(2, "Whether it works, even while it is going away; absent counts as ready.").pointer(),
  terminating: f.bool(3, "Whether it is going away.").pointer(),
})
export interface EndpointConditions extends ObjectOf<typeof EndpointConditions> {}

export const Endpoint = message("discovery.v1.Endpoint", "One backend of a Service.", {
  addresses: f
    .list(1, e.string, "Addresses of the backend; any one of them may be used.")
    .listSet()
    .default([])
    .printZero(),
  conditions: f.message(2, EndpointConditions, "State of the backend.").always(),
  hostname: f.string(3, "Name of the backend in DNS.").pointer(),
  targetRef: f.message(4, ObjectReference, "The object that provides the backend."),
  deprecatedTopology: f.map(5, e.string, "Labels of its place, from older versions."),
  nodeName: f.string(6, "Node of the endpoint.").pointer(),
  zone: f.string(7, "Zone of the endpoint.").pointer(),
  hints: f.message(8, EndpointHints, "Clients that should use the endpoint."),
})
export interface Endpoint extends ObjectOf<typeof Endpoint> {}

export const EndpointPort = message(
  "discovery.v1.EndpointPort",
  "A port of every endpoint of a slice.",
  {
    name: f.string(1, "Name of the port, the same as in the Service.").default("").pointer(),
    protocol: f.string(2, "Transport protocol.").default("TCP").enum("TCP", "UDP", "SCTP").pointer(),
    port: f.int32(3, "Number of the port; absent means all ports.").pointer(),
    appProtocol: f.string(4, "Application protocol of the port, as a hint.").pointer(),
  },
  { mapType: "atomic" },
)
export interface EndpointPort extends ObjectOf<typeof EndpointPort> {}
