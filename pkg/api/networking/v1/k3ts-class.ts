import type { Ingress } from "./ingress.ts"
import { IngressClass } from "./ingressclass.ts"

/** The name of the controller in this process: it serves the Ingresses of classes with this `spec.controller`. */
export const INGRESS_CONTROLLER = "k3ts.dev/ingress"

/** The older annotation with the name of the class. */
const CLASS_ANNOTATION = "kubernetes.io/ingress.class"

/** Whether the Ingress is to be served by this controller: whether it stays, and its class names this controller. */
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

/** Marks the default class, which Ingresses without a class get. */
export const k3tsIngressClass: IngressClass = {
  apiVersion: IngressClass.apiVersion,
  kind: IngressClass.kind,
  metadata: { name: "k3ts", annotations: { "ingressclass.kubernetes.io/is-default-class": "true" } },
  spec: { controller: INGRESS_CONTROLLER },
}
