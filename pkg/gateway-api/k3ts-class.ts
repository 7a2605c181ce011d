/** The name of the controller in this process, by which a GatewayClass says that its Gateways are for it. */
export const GATEWAY_CONTROLLER = "k3ts.dev/gateway"

/** The group of the kinds of Gateway API. */
export const GATEWAY_GROUP = "gateway.networking.k8s.io"

/** The class that is made with the definitions. */
export const K3TS_GATEWAY_CLASS = {
  apiVersion: `${GATEWAY_GROUP}/v1`,
  kind: "GatewayClass",
  metadata: { name: "k3ts" },
  spec: { controllerName: GATEWAY_CONTROLLER, description: "Gateways of the proxy in k3ts" },
} as const
