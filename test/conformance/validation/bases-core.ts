import type { Base } from "./base.ts"

/** Kinds of the core group, without pods and the kinds that create pods. */

const ABOUT = {
  kind: "Pod",
  namespace: "differential",
  name: "p",
  uid: "u",
  apiVersion: "v1",
  resourceVersion: "1",
  fieldPath: "spec",
}
const TIME = "2026-01-01T00:00:00Z"
const MICRO_TIME = "2026-01-01T00:00:00.000000Z"

export const CORE_BASES: readonly Base[] = [
  { kind: "v1 ConfigMap", name: "minimal", body: {} },
  {
    kind: "v1 ConfigMap",
    name: "full",
    body: { immutable: false, data: { a: "b", "c.d": "" }, binaryData: { e: "Zg==" } },
  },
  { kind: "v1 ConfigMap", name: "fixed", body: { immutable: true, data: { a: "b" }, binaryData: { e: "Zg==" } } },
  { kind: "v1 Endpoints", name: "minimal", body: {} },
  {
    kind: "v1 Endpoints",
    name: "full",
    body: {
      subsets: [
        {
          addresses: [{ ip: "10.0.0.1", hostname: "h", nodeName: "n", targetRef: ABOUT }],
          notReadyAddresses: [{ ip: "10.0.0.2" }],
          ports: [
            { name: "a", port: 80, protocol: "TCP", appProtocol: "http" },
            { name: "b", port: 53, protocol: "UDP" },
          ],
        },
      ],
    },
  },
  { kind: "v1 Event", name: "minimal", body: { involvedObject: { namespace: "differential" } } },
  {
    kind: "v1 Event",
    name: "old form",
    body: {
      involvedObject: ABOUT,
      reason: "R",
      message: "m",
      source: { component: "c", host: "h" },
      firstTimestamp: TIME,
      lastTimestamp: TIME,
      count: 1,
      type: "Normal",
      series: { count: 2, lastObservedTime: MICRO_TIME },
      related: ABOUT,
    },
  },
  {
    kind: "v1 Event",
    name: "new form",
    body: {
      involvedObject: ABOUT,
      eventTime: MICRO_TIME,
      reason: "R",
      message: "m",
      type: "Warning",
      action: "A",
      reportingComponent: "example.com/c",
      reportingInstance: "i",
    },
  },
  { kind: "v1 LimitRange", name: "minimal", body: {} },
  {
    kind: "v1 LimitRange",
    name: "full",
    body: {
      spec: {
        limits: [
          {
            type: "Container",
            max: { cpu: "4", memory: "4Gi" },
            min: { cpu: "1", memory: "1Gi" },
            default: { cpu: "3" },
            defaultRequest: { cpu: "2" },
            maxLimitRequestRatio: { cpu: "2" },
          },
          { type: "Pod", max: { cpu: "4" } },
          { type: "PersistentVolumeClaim", max: { storage: "1Gi" } },
        ],
      },
    },
  },
  { kind: "v1 Namespace", name: "minimal", body: {} },
  {
    kind: "v1 Namespace",
    name: "full",
    body: { metadata: { labels: { a: "b" } }, spec: { finalizers: ["kubernetes", "example.com/f"] } },
    status: {
      phase: "Active",
      conditions: [{ type: "A", status: "True", reason: "R", message: "m", lastTransitionTime: TIME }],
    },
  },
  { kind: "v1 Node", name: "minimal", body: {} },
  {
    kind: "v1 Node",
    name: "full",
    body: {
      spec: {
        podCIDR: "10.1.0.0/24",
        podCIDRs: ["10.1.0.0/24", "2001:db8::/64"],
        providerID: "p://1",
        unschedulable: true,
        taints: [
          { key: "a", value: "b", effect: "NoSchedule" },
          { key: "c", effect: "NoExecute", timeAdded: TIME },
        ],
      },
    },
    status: {
      capacity: { cpu: "4", memory: "8Gi", "example.com/d": "1" },
      allocatable: { cpu: "3", memory: "7Gi" },
      conditions: [
        { type: "Ready", status: "True", reason: "R", message: "m", lastHeartbeatTime: TIME, lastTransitionTime: TIME },
      ],
      addresses: [{ type: "InternalIP", address: "10.0.0.1" }],
      daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
      nodeInfo: {
        machineID: "m",
        systemUUID: "s",
        bootID: "b",
        kernelVersion: "k",
        osImage: "o",
        containerRuntimeVersion: "c",
        kubeletVersion: "v1.36.0",
        kubeProxyVersion: "v1.36.0",
        operatingSystem: "linux",
        architecture: "amd64",
      },
      images: [{ names: ["i:1"], sizeBytes: 5 }],
      volumesInUse: ["v"],
      volumesAttached: [{ name: "v", devicePath: "/d" }],
      runtimeHandlers: [{ name: "runc", features: { recursiveReadOnlyMounts: true, userNamespaces: true } }],
      features: { supplementalGroupsPolicy: true },
      declaredFeatures: ["A"],
    },
  },
  {
    kind: "v1 ReplicationController",
    name: "minimal",
    body: {
      spec: { template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } } },
    },
  },
  {
    kind: "v1 ReplicationController",
    name: "full",
    body: {
      spec: {
        replicas: 2,
        minReadySeconds: 3,
        selector: { a: "b" },
        template: {
          metadata: { labels: { a: "b" }, annotations: { c: "d" } },
          spec: { containers: [{ name: "c", image: "i" }], restartPolicy: "Always" },
        },
      },
    },
    status: {
      replicas: 3,
      fullyLabeledReplicas: 2,
      readyReplicas: 2,
      availableReplicas: 1,
      observedGeneration: 1,
      conditions: [{ type: "A", status: "True", lastTransitionTime: TIME, reason: "R", message: "m" }],
    },
  },
  { kind: "v1 ResourceQuota", name: "minimal", body: {} },
  {
    kind: "v1 ResourceQuota",
    name: "full",
    body: {
      spec: {
        hard: { pods: "10", "requests.cpu": "4", "limits.memory": "1Gi" },
        scopes: ["NotTerminating", "NotBestEffort"],
        scopeSelector: {
          matchExpressions: [
            { scopeName: "PriorityClass", operator: "In", values: ["a"] },
            { scopeName: "NotBestEffort", operator: "Exists" },
          ],
        },
      },
    },
    status: { hard: { pods: "10", "count/services": "3" }, used: { pods: "1" } },
  },
  { kind: "v1 Secret", name: "minimal", body: {} },
  {
    kind: "v1 Secret",
    name: "full",
    body: { immutable: false, type: "example.com/t", data: { a: "Yg==" }, stringData: { c: "d" } },
  },
  { kind: "v1 Secret", name: "fixed", body: { immutable: true, data: { a: "Yg==" } } },
  {
    kind: "v1 Secret",
    name: "tls",
    body: { type: "kubernetes.io/tls", data: { "tls.crt": "Yg==", "tls.key": "Yg==" } },
  },
  {
    kind: "v1 Secret",
    name: "docker",
    body: { type: "kubernetes.io/dockerconfigjson", data: { ".dockerconfigjson": "e30=" } },
  },
  { kind: "v1 Secret", name: "basic auth", body: { type: "kubernetes.io/basic-auth", data: { username: "Yg==" } } },
  {
    kind: "v1 Secret",
    name: "token",
    body: {
      metadata: { annotations: { "kubernetes.io/service-account.name": "default" } },
      type: "kubernetes.io/service-account-token",
    },
  },
  { kind: "v1 ServiceAccount", name: "minimal", body: {} },
  {
    kind: "v1 ServiceAccount",
    name: "full",
    body: {
      automountServiceAccountToken: true,
      secrets: [{ name: "s", namespace: "n", kind: "Secret" }],
      imagePullSecrets: [{ name: "p" }],
    },
  },
  { kind: "v1 Service", name: "minimal", body: { spec: { ports: [{ port: 80 }] } } },
  {
    kind: "v1 Service",
    name: "full",
    body: {
      spec: {
        type: "ClusterIP",
        selector: { a: "b" },
        ports: [
          { name: "a", port: 80, targetPort: 8080, protocol: "TCP", appProtocol: "http" },
          { name: "b", port: 53, targetPort: "dns", protocol: "UDP" },
        ],
        externalIPs: ["203.0.113.1"],
        sessionAffinity: "ClientIP",
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 100 } },
        publishNotReadyAddresses: true,
        ipFamilyPolicy: "SingleStack",
        ipFamilies: ["IPv4"],
        internalTrafficPolicy: "Local",
        trafficDistribution: "PreferSameZone",
      },
    },
  },
  {
    kind: "v1 Service",
    name: "load balancer",
    body: {
      spec: {
        type: "LoadBalancer",
        ports: [{ port: 80 }],
        loadBalancerIP: "203.0.113.2",
        loadBalancerSourceRanges: ["203.0.113.0/24"],
        loadBalancerClass: "example.com/c",
        allocateLoadBalancerNodePorts: false,
        externalTrafficPolicy: "Local",
      },
    },
    status: {
      loadBalancer: {
        ingress: [{ ip: "203.0.113.2", ipMode: "VIP", ports: [{ port: 80, protocol: "TCP" }] }, { hostname: "a.b" }],
      },
      conditions: [
        { type: "A", status: "True", reason: "R", message: "m", lastTransitionTime: TIME, observedGeneration: 1 },
      ],
    },
  },
  { kind: "v1 Service", name: "node port", body: { spec: { type: "NodePort", ports: [{ port: 80 }] } } },
  { kind: "v1 Service", name: "headless", body: { spec: { clusterIP: "None", ports: [{ port: 80 }] } } },
  { kind: "v1 Service", name: "alias", body: { spec: { type: "ExternalName", externalName: "example.com" } } },
]
