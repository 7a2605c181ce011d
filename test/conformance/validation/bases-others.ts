import type { Base } from "./base.ts"

/** Networks, rights, leases and the like. */

const MICRO_TIME = "2026-01-01T00:00:00.000000Z"
const selector = { matchLabels: { a: "b" }, matchExpressions: [{ key: "c", operator: "NotIn", values: ["d"] }] }
const backend = { service: { name: "s", port: { number: 80 } } }
const subjects = [
  { kind: "User", name: "u", apiGroup: "rbac.authorization.k8s.io" },
  { kind: "Group", name: "g" },
  { kind: "ServiceAccount", name: "s", namespace: "n" },
]

export const OTHER_BASES: readonly Base[] = [
  { kind: "coordination.k8s.io/v1 Lease", name: "minimal", body: {} },
  {
    kind: "coordination.k8s.io/v1 Lease",
    name: "full",
    body: {
      spec: {
        holderIdentity: "h",
        leaseDurationSeconds: 10,
        acquireTime: MICRO_TIME,
        renewTime: MICRO_TIME,
        leaseTransitions: 1,
        strategy: "OldestEmulationVersion",
        preferredHolder: "p",
      },
    },
  },
  {
    kind: "discovery.k8s.io/v1 EndpointSlice",
    name: "minimal",
    body: { addressType: "IPv4", endpoints: [], ports: [] },
  },
  {
    kind: "discovery.k8s.io/v1 EndpointSlice",
    name: "full",
    body: {
      addressType: "IPv4",
      endpoints: [
        {
          addresses: ["10.0.0.1"],
          conditions: { ready: true, serving: true, terminating: false },
          hostname: "h",
          targetRef: { kind: "Pod", name: "p", namespace: "differential", uid: "u" },
          nodeName: "n",
          zone: "z",
          hints: { forZones: [{ name: "z" }], forNodes: [{ name: "n" }] },
        },
      ],
      ports: [
        { name: "a", protocol: "TCP", port: 80, appProtocol: "http" },
        { name: "b", protocol: "UDP", port: 53 },
      ],
    },
  },
  {
    kind: "discovery.k8s.io/v1 EndpointSlice",
    name: "IPv6",
    body: { addressType: "IPv6", endpoints: [{ addresses: ["2001:db8::1"] }], ports: [] },
  },
  {
    kind: "discovery.k8s.io/v1 EndpointSlice",
    name: "names",
    body: { addressType: "FQDN", endpoints: [{ addresses: ["a.example.com"] }], ports: [] },
  },
  {
    kind: "events.k8s.io/v1 Event",
    name: "full",
    body: {
      eventTime: MICRO_TIME,
      series: { count: 2, lastObservedTime: MICRO_TIME },
      reportingController: "example.com/c",
      reportingInstance: "i",
      action: "A",
      reason: "R",
      regarding: { kind: "Pod", namespace: "differential", name: "p" },
      related: { kind: "Node", name: "n" },
      note: "m",
      type: "Normal",
    },
  },
  { kind: "networking.k8s.io/v1 Ingress", name: "minimal", body: { spec: { defaultBackend: backend } } },
  {
    kind: "networking.k8s.io/v1 Ingress",
    name: "full",
    body: {
      spec: {
        ingressClassName: "c",
        defaultBackend: { resource: { apiGroup: "example.com", kind: "Bucket", name: "b" } },
        tls: [{ hosts: ["a.example.com", "*.example.com"], secretName: "s" }],
        rules: [
          {
            host: "a.example.com",
            http: {
              paths: [
                { path: "/a", pathType: "Exact", backend },
                { path: "/b", pathType: "Prefix", backend: { service: { name: "s", port: { name: "p" } } } },
              ],
            },
          },
          { host: "*.example.com" },
        ],
      },
    },
    status: {
      loadBalancer: {
        ingress: [
          { ip: "203.0.113.1", hostname: "h.example.com", ports: [{ port: 80, protocol: "TCP", error: "a.b/C" }] },
        ],
      },
    },
  },
  { kind: "networking.k8s.io/v1 IngressClass", name: "minimal", body: { spec: { controller: "example.com/c" } } },
  {
    kind: "networking.k8s.io/v1 IngressClass",
    name: "full",
    body: {
      spec: {
        controller: "example.com/c",
        parameters: { apiGroup: "example.com", kind: "P", name: "p", scope: "Namespace", namespace: "n" },
      },
    },
  },
  {
    kind: "networking.k8s.io/v1 IPAddress",
    name: "full",
    nameOf: (n) => `192.0.${n >> 8}.${n & 255}`,
    body: { spec: { parentRef: { group: "example.com", resource: "things", namespace: "n", name: "p" } } },
  },
  { kind: "networking.k8s.io/v1 NetworkPolicy", name: "minimal", body: {} },
  {
    kind: "networking.k8s.io/v1 NetworkPolicy",
    name: "full",
    body: {
      spec: {
        podSelector: selector,
        policyTypes: ["Ingress", "Egress"],
        ingress: [
          {
            ports: [{ protocol: "TCP", port: 80, endPort: 90 }, { port: "dns" }],
            from: [
              { podSelector: selector, namespaceSelector: selector },
              { ipBlock: { cidr: "10.0.0.0/8", except: ["10.1.0.0/16"] } },
            ],
          },
        ],
        egress: [{ ports: [{ protocol: "SCTP" }], to: [{ ipBlock: { cidr: "2001:db8::/32" } }] }],
      },
    },
  },
  {
    kind: "networking.k8s.io/v1 ServiceCIDR",
    name: "one",
    body: { spec: { cidrs: ["192.0.2.0/24"] } },
    status: {
      conditions: [
        {
          type: "A",
          status: "True",
          reason: "R",
          message: "m",
          lastTransitionTime: "2026-01-01T00:00:00Z",
          observedGeneration: 1,
        },
      ],
    },
  },
  {
    kind: "networking.k8s.io/v1 ServiceCIDR",
    name: "two",
    body: { spec: { cidrs: ["198.51.100.0/24", "2001:db8::/64"] } },
  },
  { kind: "node.k8s.io/v1 RuntimeClass", name: "minimal", body: { handler: "h" } },
  {
    kind: "node.k8s.io/v1 RuntimeClass",
    name: "full",
    body: {
      handler: "h",
      overhead: { podFixed: { cpu: "1", memory: "1Gi" } },
      scheduling: {
        nodeSelector: { a: "b" },
        tolerations: [{ key: "a", operator: "Equal", value: "b", effect: "NoExecute", tolerationSeconds: 5 }],
      },
    },
  },
  { kind: "rbac.authorization.k8s.io/v1 Role", name: "minimal", body: {} },
  {
    kind: "rbac.authorization.k8s.io/v1 Role",
    name: "full",
    body: { rules: [{ verbs: ["get", "list"], apiGroups: [""], resources: ["pods"], resourceNames: ["p"] }] },
  },
  { kind: "rbac.authorization.k8s.io/v1 ClusterRole", name: "minimal", body: {} },
  {
    kind: "rbac.authorization.k8s.io/v1 ClusterRole",
    name: "full",
    body: {
      rules: [
        { verbs: ["*"], apiGroups: ["apps"], resources: ["*"] },
        { verbs: ["get"], nonResourceURLs: ["/healthz", "/logs/*"] },
      ],
    },
  },
  {
    kind: "rbac.authorization.k8s.io/v1 ClusterRole",
    name: "aggregated",
    body: { aggregationRule: { clusterRoleSelectors: [selector] }, rules: [] },
  },
  {
    kind: "rbac.authorization.k8s.io/v1 RoleBinding",
    name: "full",
    body: { subjects, roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "full" } },
  },
  {
    kind: "rbac.authorization.k8s.io/v1 ClusterRoleBinding",
    name: "full",
    body: { subjects, roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "full" } },
  },
  { kind: "scheduling.k8s.io/v1 PriorityClass", name: "minimal", body: { value: 0 } },
  {
    kind: "scheduling.k8s.io/v1 PriorityClass",
    name: "full",
    body: { value: 1000, globalDefault: false, description: "d", preemptionPolicy: "Never" },
  },
]
