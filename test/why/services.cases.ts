import { deployment, pod, type Situation } from "./situation.fixtures.ts"

const APP = `{containers: [{name: c, image: "app:1", ports: [{name: http, containerPort: 8080}]}]}`
const service = (name: string, spec: string): string => `
---
apiVersion: v1
kind: Service
metadata: {name: ${name}}
spec: ${spec}
`
/** A program that listens at one port. */
const only = (port: number) => (request: Request) => {
  const asked = new URL(request.url).port
  if (asked === String(port)) return new Response("ok")
  throw Object.assign(new Error(`dial tcp ${asked}: connect: connection refused`), { code: "ECONNREFUSED" })
}
const crashing = (...logs: string[]) => ({ nodes: 1, images: { "client:1": { runsMs: 100, exitCode: 1, logs } } })
const client = deployment("client", `{containers: [{name: c, image: "client:1"}]}`)

export const SERVICES: readonly Situation[] = [
  {
    title: "a Service whose selector has a typing error",
    yaml: deployment("web", APP) + service("web", "{selector: {app: wbe}, ports: [{port: 80, targetPort: 8080}]}"),
    ask: "service/web",
    cause: "service-selector",
    says: /selector app=wbe matches no pod of namespace default; Deployment default\/web has app=web/,
    mends: 1,
  },
  {
    title: "a Service that wants a label which the pods do not have",
    yaml:
      deployment("web", APP) +
      service("web", "{selector: {app: web, tier: front}, ports: [{port: 80, targetPort: 8080}]}"),
    ask: "svc/web",
    cause: "service-selector",
    says: /Deployment default\/web has no label tier/,
    mends: 1,
  },
  {
    title: "a Service whose pods are not ready",
    yaml:
      deployment(
        "web",
        `{containers: [{name: c, image: "app:1", ports: [{containerPort: 8080}], readinessProbe: {httpGet: {port: 8080, path: /ready}}}]}`,
      ) + service("web", "{selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}"),
    ask: "service/web",
    cause: "readiness-probe-path",
    says: /asks for \/ready, and the program answers 404/,
    options: { nodes: 1, images: { "app:1": { http: () => new Response("", { status: 404 }) } } },
  },
  {
    title: "a Service that sends to a port name which the pods do not have",
    yaml: deployment("web", APP) + service("web", "{selector: {app: web}, ports: [{port: 80, targetPort: web}]}"),
    ask: "service/web",
    cause: "service-target-port-name",
    says: /port named "web" of its pods, which have only http \(8080\)/,
    mends: 1,
  },
  {
    title: "a Service that sends to a port on which nothing listens",
    yaml: deployment("web", APP) + service("web", "{selector: {app: web}, ports: [{port: 80, targetPort: 80}]}"),
    ask: "service/web",
    cause: "service-target-port",
    says: /goes to port 80 of its pods, on which nothing listens; they declare 8080/,
    mends: 1,
    tried: "not-known",
    options: { nodes: 1, images: { "app:1": { http: only(8080) } } },
  },
  {
    title: "a Service whose Deployment is scaled to nothing",
    yaml:
      deployment("web", APP).replace("replicas: 1", "replicas: 0") +
      service("web", "{selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}"),
    ask: "service/web",
    cause: "scaled-to-zero",
    says: /Deployment default\/web, whose pods it selects, is scaled to 0 pods/,
  },
  {
    title: "a Service without selector and endpoints",
    yaml: service("db", "{ports: [{port: 5432}]}"),
    ask: "service/db",
    cause: "service-without-selector",
    says: /no selector, and nobody has written EndpointSlices/,
  },
  {
    title: "a Service whose pods nobody may reach",
    yaml:
      deployment("web", APP) +
      service("web", "{selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}") +
      `
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: deny-all}
spec: {podSelector: {}, policyTypes: [Ingress]}
`,
    ask: "service/web",
    cause: "network-policy",
    says: /NetworkPolicy default\/deny-all selects its pods and has no ingress rule/,
  },
  {
    title: "a pod that a NetworkPolicy keeps from a Service",
    yaml:
      deployment("db", APP) +
      service("db", "{selector: {app: db}, ports: [{port: 80, targetPort: 8080}]}") +
      client +
      `
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: only-web}
spec: {podSelector: {matchLabels: {app: db}}, ingress: [{from: [{podSelector: {matchLabels: {app: web}}}]}]}
`,
    ask: "deployment/client",
    cause: "network-policy",
    says: /pod default\/client-\S+ to db:80 is refused: NetworkPolicy default\/only-web selects pod default\/db-\S+ and none of its 1 ingress rule lets pod default\/client-\S+ in/,
    options: crashing("connecting", "dial tcp db:80: i/o timeout"),
  },
  {
    title: "two pods between which a NetworkPolicy stands",
    yaml:
      deployment("db", APP) +
      service("db", "{selector: {app: db}, ports: [{port: 80, targetPort: 8080}]}") +
      pod("a", `{containers: [{name: c, image: "app:1"}]}`) +
      `
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: only-web}
spec: {podSelector: {matchLabels: {app: db}}, ingress: [{from: [{podSelector: {matchLabels: {app: web}}}]}]}
`,
    ask: "service/db",
    flags: "--from=pod/a",
    cause: "network-policy",
    says: /pod default\/a to db:80 is refused: NetworkPolicy default\/only-web/,
  },
  {
    title: "an egress policy that keeps a pod in",
    yaml:
      deployment("db", APP) +
      service("db", "{selector: {app: db}, ports: [{port: 80, targetPort: 8080}]}") +
      client +
      `
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: stay}
spec: {podSelector: {matchLabels: {app: client}}, policyTypes: [Egress], egress: [{ports: [{protocol: UDP, port: 53}]}]}
`,
    ask: "deployment/client",
    cause: "network-policy",
    says: /NetworkPolicy default\/stay selects pod default\/client-\S+ and none of its 1 egress rule/,
    options: crashing("connect ETIMEDOUT db:80"),
  },
  {
    title: "a name that no Service has",
    yaml:
      deployment("db", APP) +
      service("postgres", "{selector: {app: db}, ports: [{port: 80, targetPort: 8080}]}") +
      client,
    ask: "deployment/client",
    cause: "name-not-found",
    says: /the name postgress does not resolve: there is no Service postgress in namespace default, but one named postgres/,
    options: crashing("getaddrinfo ENOTFOUND postgress"),
  },
  {
    title: "a name of a Service of another namespace",
    yaml: `
apiVersion: v1
kind: Namespace
metadata: {name: data}
---
apiVersion: v1
kind: Service
metadata: {name: postgres, namespace: data}
spec: {selector: {app: x}, ports: [{port: 5432}]}
${client}`,
    ask: "deployment/client",
    cause: "name-not-found",
    says: /there is no Service postgres in namespace default, but one in data: ask for postgres\.data/,
    options: crashing("dial tcp: lookup postgres on 10.43.0.10:53: no such host"),
  },
  {
    title: "a pod of the host's network that asks the host's DNS",
    yaml:
      deployment("db", APP) +
      service("db", "{selector: {app: db}, ports: [{port: 80, targetPort: 8080}]}") +
      deployment("client", `{hostNetwork: true, containers: [{name: c, image: "client:1"}]}`),
    ask: "deployment/client",
    cause: "dns-policy",
    says: /the pod does not ask the cluster's DNS: dnsPolicy ClusterFirst with hostNetwork/,
    options: crashing("could not resolve host: db.default.svc.cluster.local"),
  },
  {
    title: "a client that asks a Service at a port which it does not have",
    yaml:
      deployment("db", APP) + service("db", "{selector: {app: db}, ports: [{port: 80, targetPort: 8080}]}") + client,
    ask: "deployment/client",
    cause: "service-port",
    says: /Service default\/db has no port 5432, but 80/,
    options: crashing("dial tcp db:5432: connect: connection refused"),
  },
  {
    title: "a client of a Service without pods that are ready",
    yaml:
      deployment("db", `{containers: [{name: c, image: "db:1", resources: {limits: {memory: 1Gi}}}]}`) +
      service("db", "{selector: {app: db}, ports: [{port: 80, targetPort: 8080}]}") +
      client,
    ask: "deployment/client",
    cause: "oom-killed",
    says: /used more than its memory limit of 1Gi/,
    options: {
      nodes: 1,
      images: {
        "client:1": { runsMs: 100, exitCode: 1, logs: ["connect ECONNREFUSED db:80"] },
        "db:1": { memoryBytes: 2 * 2 ** 30 },
      },
    },
  },
  {
    title: "an Ingress whose class does not exist",
    yaml:
      deployment("web", APP) +
      service("web", "{selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}") +
      `
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec: {ingressClassName: nginx, rules: [{host: a.example, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}
`,
    ask: "ingress/web",
    cause: "ingress-class-missing",
    says: /IngressClass nginx does not exist: nobody serves it/,
    mends: 1,
    tried: "not-known",
    options: { nodes: 1, network: "real" },
  },
  {
    title: "an Ingress that leads to a Service which does not exist",
    yaml:
      deployment("web", APP) +
      service("web", "{selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}") +
      `
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec: {ingressClassName: k3ts, rules: [{host: a.example, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: webb, port: {number: 80}}}}]}}]}
`,
    ask: "ingress/web",
    cause: "ingress-service-missing",
    says: /a\.example\/ leads to Service webb, which does not exist in namespace default; there is web/,
    options: { nodes: 1, network: "real" },
  },
  {
    title: "an Ingress that leads to a port which its Service does not have",
    yaml:
      deployment("web", APP) +
      service("web", "{selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}") +
      `
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec: {ingressClassName: k3ts, rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 8080}}}}]}}]}
`,
    ask: "ing/web",
    cause: "ingress-service-port",
    says: /leads to port 8080 of Service web, which has 80/,
    options: { nodes: 1, network: "real" },
  },
  {
    title: "an Ingress whose Service has no pods",
    yaml:
      deployment("web", APP) +
      service("web", "{selector: {app: wbe}, ports: [{port: 80, targetPort: 8080}]}") +
      `
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec: {ingressClassName: k3ts, defaultBackend: {service: {name: web, port: {number: 80}}}}
`,
    ask: "ingress/web",
    cause: "service-selector",
    says: /selector app=wbe matches no pod/,
    mends: 1,
    options: { nodes: 1, network: "real" },
  },
  {
    title: "an Ingress whose certificate does not exist",
    yaml:
      deployment("web", APP) +
      service("web", "{selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}") +
      `
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec: {ingressClassName: k3ts, tls: [{hosts: [a.example], secretName: web-tls}], defaultBackend: {service: {name: web, port: {number: 80}}}}
`,
    ask: "ingress/web",
    cause: "secret-missing",
    says: /Secret web-tls with the certificate of a\.example does not exist/,
    options: { nodes: 1, network: "real" },
  },
  {
    title: "a load balancer whose port another one has",
    yaml:
      deployment("web", APP) +
      service("first", "{type: LoadBalancer, selector: {app: web}, ports: [{port: 8443, targetPort: 8080}]}"),
    breaks: (cluster) =>
      cluster.apply(
        service("web", "{type: LoadBalancer, selector: {app: web}, ports: [{port: 8443, targetPort: 8080}]}"),
      ),
    ask: "service/web",
    cause: "load-balancer-port-taken",
    says: /port 8443\S* of the nodes is taken by/,
  },
  {
    title: "the name of a pod of a StatefulSet whose Service does not exist",
    yaml: `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: "db:1"}]}}
${client}`,
    ask: "deployment/client",
    cause: "governing-service-missing",
    says: /Service db, which gives the pods of StatefulSet db their names, does not exist/,
    options: crashing("getaddrinfo ENOTFOUND db-0.db.default.svc.cluster.local"),
  },
]
