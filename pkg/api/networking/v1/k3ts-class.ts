import { IngressClass } from "./ingressclass.ts"

/** The name of the controller in this process, by which an IngressClass says that its Ingresses are for it. */
export const INGRESS_CONTROLLER = "k3ts.dev/ingress"

/** The class that Ingresses without one get. */
export const k3tsIngressClass: IngressClass = {
  apiVersion: IngressClass.apiVersion,
  kind: IngressClass.kind,
  metadata: { name: "k3ts", annotations: { "ingressclass.kubernetes.io/is-default-class": "true" } },
  spec: { controller: INGRESS_CONTROLLER },
}
