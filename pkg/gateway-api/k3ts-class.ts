/** The name of the controller in this process, by which a GatewayClass says that its Gateways are for it. */
export const GATEWAY_CONTROLLER = "k3ts.dev/gateway"

/** The group of the kinds of Gateway API. */
export const GATEWAY_GROUP = "gateway.networking.k8s.io"

/** The label that says who looks after a definition, and its value for those of this program. */
export const MANAGED_BY = "app.kubernetes.io/managed-by"
export const MANAGER = "k3ts"
/** The annotation with the release of Gateway API that a definition is of. */
export const BUNDLE_VERSION = "gateway.networking.k8s.io/bundle-version"
/** The annotation with the version of this program that wrote a definition. */
export const WRITTEN_BY = "k3ts.dev/version"

/** The class that is made with the definitions. */
export const K3TS_GATEWAY_CLASS = {
  apiVersion: `${GATEWAY_GROUP}/v1`,
  kind: "GatewayClass",
  metadata: { name: "k3ts" },
  spec: { controllerName: GATEWAY_CONTROLLER, description: "Gateways of the proxy in k3ts" },
} as const
