/** The controller name of this program. A GatewayClass with this `controllerName` is served by it. */
export const GATEWAY_CONTROLLER = "k3ts.dev/gateway"

/** The API group of Gateway API. */
export const GATEWAY_GROUP = "gateway.networking.k8s.io"

/** The label that names the installer of a definition, and its value for this program. */
export const MANAGED_BY = "app.kubernetes.io/managed-by"
export const MANAGER = "k3ts"
/** The annotation that holds the Gateway API release of a definition. */
export const BUNDLE_VERSION = "gateway.networking.k8s.io/bundle-version"
/** The annotation that holds the version of this program that wrote a definition. */
export const WRITTEN_BY = "k3ts.dev/version"

/** The GatewayClass `k3ts`, which is created unless a class of this controller exists. */
export const K3TS_GATEWAY_CLASS = {
  apiVersion: `${GATEWAY_GROUP}/v1`,
  kind: "GatewayClass",
  metadata: { name: "k3ts" },
  spec: { controllerName: GATEWAY_CONTROLLER, description: "Gateways of the proxy in k3ts" },
} as const
