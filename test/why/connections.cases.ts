import { deployment, type Situation } from "./situation.fixtures.ts"

const APP = `{containers: [{name: c, image: "app:1", ports: [{name: http, containerPort: 8080}]}]}`
const service = (name: string, spec: string): string => `
---
apiVersion: v1
kind: Service
metadata: {name: ${name}}
spec: ${spec}
`
const WEB =
  deployment("web", APP) + service("web", "{selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8080}]}")
const ingress = (spec: string): string => `
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec: ${spec}
`
const client = (line: string) => ({ "client:1": { runsMs: 100, exitCode: 1, logs: [line] } })

export const CONNECTIONS: readonly Situation[] = [
  {
    title: "a Service that sends only to pods of the client's node, which has none",
    yaml:
      deployment("db", APP.replace("{containers", "{nodeName: node-1, containers")) +
      service("db", "{internalTrafficPolicy: Local, selector: {app: db}, ports: [{port: 80, targetPort: 8080}]}") +
      deployment("client", `{nodeName: node-0, containers: [{name: c, image: "client:1"}]}`),
    ask: "deployment/client",
    cause: "service-local-endpoints",
    says: /internalTrafficPolicy Local\), and none of its ready pods is on node node-0: they are on node-1/,
    options: { images: client("dial tcp db:80: i/o timeout") },
  },
  {
    title: "a client that connects by TCP to a port for UDP",
    yaml:
      deployment("db", APP) +
      service("db", "{selector: {app: db}, ports: [{port: 80, protocol: UDP, targetPort: 8080}]}") +
      deployment("client", `{containers: [{name: c, image: "client:1"}]}`),
    ask: "deployment/client",
    cause: "service-port",
    says: /Service default\/db has port 80 for UDP only, and the client connects by TCP/,
    options: { nodes: 1, images: client("dial tcp db:80: connect: connection refused") },
  },
  {
    title: "a Service whose selector matches the pods of another Deployment too",
    yaml:
      WEB +
      deployment("db", `{containers: [{name: c, image: "db:1", ports: [{containerPort: 5432}]}]}`).replaceAll(
        "app: db}",
        "app: web, part: db}",
      ),
    ask: "service/web",
    cause: "service-selects-others",
    says: /selector app=web matches the pods of Deployment default\/db beside those of Deployment default\/web, and on port 8080 nothing listens in them/,
    options: {
      nodes: 1,
      images: {
        "db:1": {
          http(request) {
            if (new URL(request.url).port === "5432") return new Response("ok")
            throw Object.assign(new Error("connect: connection refused"), { code: "ECONNREFUSED" })
          },
        },
      },
    },
  },
  {
    title: "an Ingress without a class in a cluster without a default one",
    yaml: WEB,
    breaks: async (cluster) => {
      await cluster.kubectl("annotate ingressclass k3ts ingressclass.kubernetes.io/is-default-class-")
      await cluster.apply(ingress("{defaultBackend: {service: {name: web, port: {number: 80}}}}"))
    },
    ask: "ingress/web",
    cause: "ingress-class-missing",
    says: /it names no class, and the cluster has no default one: nobody serves it/,
    mends: 1,
    tried: "not-known",
    options: { nodes: 1, network: "real" },
  },
  {
    title: "an Ingress that leads to a port name which its Service does not have",
    yaml: WEB + ingress("{ingressClassName: k3ts, defaultBackend: {service: {name: web, port: {name: web}}}}"),
    ask: "ingress/web",
    cause: "ingress-service-port",
    says: /leads to port web of Service web, which has http \(80\)/,
    options: { nodes: 1, network: "real" },
  },
]
