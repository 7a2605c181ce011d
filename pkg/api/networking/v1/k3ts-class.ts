import type { Ingress } from "./ingress.ts"
import { IngressClass } from "./ingressclass.ts"

/** The name of the Ingress controller in k3ts: it serves the Ingresses of classes with this `spec.controller`. */
export const INGRESS_CONTROLLER = "k3ts.dev/ingress"

/** The older annotation for the name of the class. */
const CLASS_ANNOTATION = "kubernetes.io/ingress.class"

/** Returns whether k3ts serves the Ingress: it is not being deleted, and its class names the controller of k3ts. */
export function isServedByK3ts(
  { metadata, spec }: Ingress,
  classes: { get(name: string): IngressClass | undefined },
): boolean {
  const name = spec.ingressClassName ?? metadata.annotations?.[CLASS_ANNOTATION]
  return (
    metadata.deletionTimestamp === undefined &&
    name !== undefined &&
    classes.get(name)?.spec.controller === INGRESS_CONTROLLER
  )
}

/** The IngressClass `k3ts`, marked as the default for Ingresses without a class. */
export const k3tsIngressClass: IngressClass = {
  apiVersion: IngressClass.apiVersion,
  kind: IngressClass.kind,
  metadata: { name: "k3ts", annotations: { "ingressclass.kubernetes.io/is-default-class": "true" } },
  spec: { controller: INGRESS_CONTROLLER },
}
