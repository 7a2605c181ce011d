import { DEFINITIONS } from "../../pkg/gateway-api/definitions.ts"
import type { ManifestSource } from "../../components/cluster/testing/testing.ts"
import { deployment, type Situation } from "./situation.fixtures.ts"

const SHOP = `${deployment("shop", `{containers: [{name: c, image: "app:1"}]}`)}
---
apiVersion: v1
kind: Service
metadata: {name: shop}
spec: {selector: {app: shop}, ports: [{port: 80}]}
`
const TEAM = `
---
apiVersion: v1
kind: Namespace
metadata: {name: team}
`
const gateway = (listener: string): string => `
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web}
spec: {gatewayClassName: k3ts, listeners: [{${listener}}]}
`
const HTTP = "name: http, port: 8000, protocol: HTTP"
const route = (spec: string, namespace = "default", kind = "HTTPRoute"): string => `
---
apiVersion: gateway.networking.k8s.io/v1
kind: ${kind}
metadata: {name: shop, namespace: ${namespace}}
spec: {${spec}}
`
const toShop = "rules: [{backendRefs: [{name: shop, port: 80}]}]"
/** A network that is served for real has the controller, which writes what it accepts. */
const options = { nodes: 1, network: "real", preload: DEFINITIONS as unknown as ManifestSource } as const
/** No copy of a cluster has the controller. */
const tried = "not-known"

export const GATEWAYS: readonly Situation[] = [
  {
    title: "a Gateway whose class does not exist",
    yaml: gateway(HTTP).replace("k3ts", "k3t"),
    ask: "gateway/web",
    cause: "gateway-class-missing",
    says: /GatewayClass k3t does not exist: nobody serves it; there is k3ts/,
    options,
  },
  {
    title: "a Gateway whose certificate does not exist",
    yaml: gateway("name: https, port: 8443, protocol: HTTPS, tls: {certificateRefs: [{name: cert}]}"),
    ask: "gateway/web",
    cause: "gateway-certificate-missing",
    says: /Secret cert with the certificate of listener https does not exist in namespace default/,
    also: ["condition"],
    options,
  },
  {
    title: "a Gateway whose certificate is in a namespace that does not grant it",
    yaml: `${TEAM}
---
apiVersion: v1
kind: Secret
metadata: {name: cert, namespace: team}
type: kubernetes.io/tls
data: {tls.crt: "", tls.key: ""}
${gateway("name: https, port: 8443, protocol: HTTPS, tls: {certificateRefs: [{name: cert, namespace: team}]}")}`,
    ask: "gateway/web",
    cause: "reference-grant-missing",
    says: /listener https has its certificate in Secret team\/cert, and no ReferenceGrant in namespace team lets kind Gateway of namespace default name it/,
    options,
  },
  {
    title: "a route that names a listener which its Gateway does not have",
    yaml: SHOP + gateway(HTTP) + route(`parentRefs: [{name: web, sectionName: https}], ${toShop}`),
    ask: "httproute/shop",
    cause: "route-listener-missing",
    says: /Gateway default\/web, to which it belongs, has no listener https, but http \(port 8000\)/,
    mends: 1,
    tried,
    options,
  },
  {
    title: "a route that names a port at which its Gateway does not listen",
    yaml: SHOP + gateway(HTTP) + route(`parentRefs: [{name: web, port: 80}], ${toShop}`),
    ask: "httproute/shop",
    cause: "route-listener-missing",
    says: /has no listener at port 80, but http \(port 8000\)/,
    mends: 1,
    tried,
    options,
  },
  {
    title: "a route of a namespace that the listener does not take",
    yaml: TEAM + gateway(HTTP) + route("parentRefs: [{name: web, namespace: default}]", "team"),
    ask: "httproute/shop",
    flags: "-n team",
    cause: "route-namespace-not-allowed",
    says: /takes only routes of its own namespace \(allowedRoutes\), and this one is in namespace team/,
    mends: 1,
    tried,
    options,
  },
  {
    title: "a route of a namespace without the label that the listener wants",
    yaml:
      TEAM +
      gateway(
        `${HTTP}, allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {shop: "true", tier: web}}}}`,
      ) +
      route("parentRefs: [{name: web, namespace: default}]", "team"),
    ask: "httproute/shop",
    flags: "-n team",
    cause: "route-namespace-not-allowed",
    says: /takes only routes of namespaces with shop=true,tier=web \(allowedRoutes\), and this one is in namespace team/,
    mends: 1,
    tried,
    options,
  },
  {
    title: "a route of a kind that the listener does not take",
    yaml:
      SHOP +
      gateway(`${HTTP}, allowedRoutes: {kinds: [{kind: HTTPRoute}]}`) +
      route(`parentRefs: [{name: web}], ${toShop}`, "default", "GRPCRoute"),
    ask: "grpcroute/shop",
    cause: "route-kind-not-allowed",
    says: /listener http of Gateway default\/web takes only HTTPRoute, and it is of kind GRPCRoute/,
    options,
  },
  {
    title: "a route for a host that is not one of the listener's",
    yaml:
      SHOP +
      gateway(`${HTTP}, hostname: "*.example.org"`) +
      route(`parentRefs: [{name: web}], hostnames: [shop.example.com], ${toShop}`),
    ask: "httproute/shop",
    cause: "route-hostname",
    says: /it is for shop\.example\.com, and listener http of Gateway default\/web is for \*\.example\.org/,
    options,
  },
  {
    title: "a route whose Gateway does not exist",
    yaml: SHOP + route(`parentRefs: [{name: wb}], ${toShop}`) + gateway(HTTP),
    ask: "httproute/shop",
    cause: "gateway-missing",
    says: /Gateway default\/wb, to which it belongs, does not exist: nobody serves it; there is web/,
    options,
  },
  {
    title: "a route whose Gateway has a class that does not exist",
    yaml: SHOP + gateway(HTTP).replace("k3ts", "k3t") + route(`parentRefs: [{name: web}], ${toShop}`),
    ask: "httproute/shop",
    cause: "gateway-class-missing",
    says: /GatewayClass k3t does not exist/,
    options,
  },
  {
    title: "a route that leads to a Service which does not exist",
    yaml: gateway(HTTP) + route(`parentRefs: [{name: web}], ${toShop}`),
    ask: "httproute/shop",
    cause: "route-service-missing",
    says: /it leads to Service default\/shop, which does not exist/,
    options,
  },
  {
    title: "a route that leads to a port which its Service does not have",
    yaml: SHOP + gateway(HTTP) + route(`parentRefs: [{name: web}], ${toShop.replace("80", "8080")}`),
    ask: "httproute/shop",
    cause: "route-service-port",
    says: /it leads to port 8080 of Service shop, which has 80/,
    options,
  },
  {
    title: "a route to a Service of a namespace that does not grant it",
    yaml:
      TEAM +
      SHOP +
      gateway(`${HTTP}, allowedRoutes: {namespaces: {from: All}}`) +
      route(
        "parentRefs: [{name: web, namespace: default}], rules: [{backendRefs: [{name: shop, namespace: default, port: 80}]}]",
        "team",
      ),
    ask: "httproute/shop",
    flags: "-n team",
    cause: "reference-grant-missing",
    says: /it leads to Service default\/shop, and no ReferenceGrant in namespace default lets kind HTTPRoute of namespace team name it/,
    options,
  },
]
