import type { IngressClass } from "../../api/networking/v1/ingressclass.ts"
import type { Describer } from "./describing.ts"
import { describeEvents, eventsOf } from "./events.ts"
import { describeClusterMetadata } from "./metadata.ts"
import { description } from "./prefix-writer.ts"

const INGRESS_CLASSES = { group: "networking.k8s.io", version: "v1", resource: "ingressclasses" }

export const describeIngressClass: Describer = async (describing, _namespace, name) => {
  const ingressClass = await describing.client.get<IngressClass>(INGRESS_CLASSES, "", name)
  const events = await eventsOf(describing, ingressClass)
  return description((w) => {
    describeClusterMetadata(w, ingressClass.metadata)
    const { controller = "", parameters } = ingressClass.spec
    w.row(0, "Controller:", controller)
    if (parameters) {
      w.row(0, "Parameters:")
      if (typeof parameters.apiGroup === "string") w.row(1, "APIGroup:", parameters.apiGroup)
      w.row(1, "Kind:", parameters.kind)
      w.row(1, "Name:", parameters.name)
    }
    describeEvents(w, events, describing.now())
  })
}
