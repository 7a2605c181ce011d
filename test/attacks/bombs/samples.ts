import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import { NAMED_BY_SPEC, SAMPLES } from "../../conformance/kinds/kinds.ts"

const podSpec = {
  containers: [{ name: "c", image: "registry.example/c:1" }],
  volumes: [{ name: "a0", emptyDir: {} }],
}
const selector = { matchLabels: { app: "walk" } }
const template = { metadata: { labels: { app: "walk" } }, spec: podSpec }
const attributes = { namespace: "default", verb: "get", resource: "pods" }

/** Samples beside those of test/conformance/kinds/kinds.ts, for kinds that are not stored and where more is to happen. */
const MORE: Readonly<Record<string, object>> = {
  "v1 pods": { spec: podSpec },
  "apps/v1 deployments": { spec: { replicas: 1, selector, template } },
  "apps/v1 replicasets": { spec: { replicas: 1, selector, template } },
  "apps/v1 statefulsets": { spec: { replicas: 1, serviceName: "walk", selector, template } },
  "batch/v1 jobs": { spec: { template: { spec: { ...podSpec, restartPolicy: "Never" } } } },
  "networking.k8s.io/v1 ingresses": {
    spec: {
      ingressClassName: "k3ts",
      rules: [
        {
          host: "walk.example.com",
          http: {
            paths: [{ path: "/", pathType: "Prefix", backend: { service: { name: "web", port: { number: 80 } } } }],
          },
        },
      ],
    },
  },
  "networking.k8s.io/v1 networkpolicies": {
    spec: {
      podSelector: {},
      policyTypes: ["Ingress", "Egress"],
      ingress: [{ from: [{ podSelector: {} }], ports: [{ port: 80 }] }],
    },
  },
  "apiregistration.k8s.io/v1 apiservices": {
    metadata: { name: "v1.bombs.example.com" },
    spec: {
      group: "bombs.example.com",
      version: "v1",
      groupPriorityMinimum: 100,
      versionPriority: 10,
      service: { namespace: "default", name: "none" },
      insecureSkipTLSVerify: true,
    },
  },
  "apiextensions.k8s.io/v1 customresourcedefinitions": {
    metadata: { name: "bombs.bombs.example.com" },
    spec: {
      group: "bombs.example.com",
      scope: "Namespaced",
      names: { plural: "bombs", singular: "bomb", kind: "Bomb", listKind: "BombList" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
    },
  },
  "authentication.k8s.io/v1 tokenreviews": { spec: { token: "a.b.c" } },
  "authentication.k8s.io/v1 selfsubjectreviews": {},
  "authorization.k8s.io/v1 subjectaccessreviews": { spec: { user: "jane", resourceAttributes: attributes } },
  "authorization.k8s.io/v1 localsubjectaccessreviews": {
    metadata: { namespace: "default" },
    spec: { user: "jane", resourceAttributes: attributes },
  },
  "authorization.k8s.io/v1 selfsubjectaccessreviews": { spec: { resourceAttributes: attributes } },
  "authorization.k8s.io/v1 selfsubjectrulesreviews": { spec: { namespace: "default" } },
}

const idOf = ({ apiVersion, plural }: Resource) => `${apiVersion} ${plural}`

/** Whether there is a sample of the kind. */
export const hasSample = (resource: Resource): boolean => idOf(resource) in MORE || idOf(resource) in SAMPLES

/** Returns an object of the kind that the server takes. */
export function sampleOf(resource: Resource): object {
  const id = idOf(resource)
  const { apiVersion, kind } = resource
  const body = (MORE[id] ?? SAMPLES[id]?.body ?? {}) as { readonly metadata?: object }
  const name = SAMPLES[id]?.name?.(1) ?? "bomb"
  return { apiVersion, kind, ...body, metadata: { name, labels: { bomb: "yes" }, ...body.metadata } }
}

/** Whether objects of the kind may have any name: those of some kinds say what stands in the object. */
export const hasFreeName = (resource: Resource): boolean =>
  SAMPLES[idOf(resource)]?.name === undefined && !NAMED_BY_SPEC.includes(resource.kind)
