import { createCa } from "../../../pkg/pki/certificate.ts"
import { signedRequest } from "../../../pkg/pki/request/certificate-request.fixtures.ts"

/** What one kind's walk through the API needs: an object that may be created, and a status that may be set. */
export interface KindSample {
  /** Everything of the object but its name, namespace and labels. */
  readonly body: Readonly<Record<string, unknown>>
  /** A merge patch for /status. Where it is absent the kind has no status. */
  readonly status?: Readonly<Record<string, unknown>>
  /** Returns the nth name, for kinds whose names must follow a rule. */
  readonly name?: (n: number) => string
  /** The server tells something in the status of a new object at once. */
  readonly isTold?: true
}

/** Kinds whose names say what stands in the object. */
export const NAMED_BY_SPEC: readonly string[] = ["APIService", "CustomResourceDefinition"]

const selector = { matchLabels: { app: "walk" } }
const podSpec = { containers: [{ name: "c", image: "registry.example/c:1" }] }
const template = { metadata: { labels: { app: "walk" } }, spec: podSpec }
const jobTemplate = { spec: { template: { spec: { ...podSpec, restartPolicy: "Never" } } } }
const condition = {
  type: "Walked",
  status: "True",
  reason: "Test",
  message: "set by a test",
  lastTransitionTime: "2026-01-01T00:00:00Z",
}
const conditions = [condition]

const { certPem } = createCa({ commonName: "walk", validity: { notBefore: new Date(0), notAfter: new Date(4e12) } })
const certificate = Buffer.from(certPem).toString("base64")
const deviceClaim = { devices: { requests: [{ name: "r", exactly: { deviceClassName: "walk" } }] } }
const autoscaler: KindSample = {
  body: { spec: { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "walk" }, maxReplicas: 3 } },
  status: { currentReplicas: 1, desiredReplicas: 2 },
}

/** `<group>/<version> <plural>` → sample, for every kind that can be stored. */
export const SAMPLES: Readonly<Record<string, KindSample>> = {
  "v1 configmaps": { body: { data: { key: "value" } } },
  "v1 endpoints": { body: { subsets: [{ addresses: [{ ip: "10.0.0.1" }], ports: [{ port: 80, name: "http" }] }] } },
  "v1 events": {
    body: {
      involvedObject: { kind: "Pod", namespace: "walk", name: "p", uid: "1" },
      reason: "Test",
      message: "walked",
      type: "Normal",
      count: 1,
      source: { component: "test" },
    },
  },
  "v1 limitranges": { body: { spec: { limits: [{ type: "Container", max: { cpu: "2" }, default: { cpu: "1" } }] } } },
  "v1 namespaces": { body: {}, status: { conditions } },
  "v1 nodes": { body: { spec: { podCIDR: "10.99.0.0/24" } }, status: { conditions } },
  "v1 persistentvolumeclaims": {
    body: { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } },
    status: { conditions },
  },
  "v1 persistentvolumes": {
    body: {
      spec: {
        capacity: { storage: "1Gi" },
        accessModes: ["ReadWriteOnce"],
        persistentVolumeReclaimPolicy: "Retain",
        hostPath: { path: "/tmp/walk" },
      },
    },
    status: { message: "walked", reason: "Test" },
  },
  "v1 pods": { body: { spec: podSpec }, status: { conditions } },
  "v1 podtemplates": { body: { template } },
  "v1 replicationcontrollers": {
    body: { spec: { replicas: 0, selector: { app: "walk" }, template } },
    status: { conditions },
  },
  "v1 resourcequotas": {
    body: { spec: { hard: { "count/widgets.example.com": "5" } } },
    status: { used: { "count/widgets.example.com": "1" } },
  },
  "v1 secrets": { body: { type: "Opaque", data: { key: "dmFsdWU=" } } },
  "v1 serviceaccounts": { body: { automountServiceAccountToken: false } },
  "v1 services": {
    body: { spec: { ports: [{ name: "http", port: 80 }], selector: { app: "walk" } } },
    status: { conditions },
  },
  "apps/v1 controllerrevisions": { body: { revision: 1, data: { any: "thing" } } },
  "apps/v1 daemonsets": { body: { spec: { selector, template } }, status: { conditions } },
  "apps/v1 deployments": { body: { spec: { replicas: 0, selector, template } }, status: { conditions } },
  "apps/v1 replicasets": { body: { spec: { replicas: 0, selector, template } }, status: { conditions } },
  "apps/v1 statefulsets": {
    body: { spec: { replicas: 0, serviceName: "walk", selector, template } },
    status: { conditions },
  },
  "events.k8s.io/v1 events": {
    body: {
      eventTime: "2026-01-01T00:00:00.000000Z",
      action: "Walk",
      reason: "Test",
      type: "Normal",
      reportingController: "test.example.com/c",
      reportingInstance: "c-1",
      regarding: { kind: "Pod", namespace: "walk", name: "p" },
      note: "walked",
    },
  },
  "flowcontrol.apiserver.k8s.io/v1 flowschemas": {
    body: {
      spec: {
        priorityLevelConfiguration: { name: "none" },
        rules: [
          {
            subjects: [{ kind: "User", user: { name: "nobody" } }],
            nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
          },
        ],
      },
    },
    isTold: true,
    // What the server would write itself.
    status: {
      conditions: [
        {
          type: "Dangling",
          status: "True",
          reason: "NotFound",
          message:
            'This FlowSchema references the PriorityLevelConfiguration object named "none" but there is no such object',
        },
      ],
    },
  },
  "flowcontrol.apiserver.k8s.io/v1 prioritylevelconfigurations": {
    body: { spec: { type: "Limited", limited: { limitResponse: { type: "Reject" } } } },
    status: { conditions: [{ type: "Walked", status: "True", reason: "Test" }] },
  },
  "autoscaling/v1 horizontalpodautoscalers": autoscaler,
  "autoscaling/v2 horizontalpodautoscalers": autoscaler,
  "batch/v1 cronjobs": {
    body: { spec: { schedule: "*/5 * * * *", jobTemplate } },
    status: { lastScheduleTime: "2026-01-01T00:00:00Z" },
  },
  "batch/v1 jobs": {
    body: { spec: { suspend: true, ...jobTemplate.spec } },
    status: { conditions: [{ ...condition, lastProbeTime: "2026-01-01T00:00:00Z" }] },
  },
  "admissionregistration.k8s.io/v1 mutatingadmissionpolicies": {
    body: {
      spec: {
        matchConstraints: {
          resourceRules: [
            { operations: ["CREATE"], apiGroups: ["x.example.com"], apiVersions: ["v1"], resources: ["none"] },
          ],
        },
        mutations: [{ patchType: "ApplyConfiguration", applyConfiguration: { expression: "Object{}" } }],
        reinvocationPolicy: "Never",
      },
    },
  },
  "admissionregistration.k8s.io/v1 mutatingadmissionpolicybindings": { body: { spec: { policyName: "none" } } },
  "admissionregistration.k8s.io/v1 mutatingwebhookconfigurations": {
    body: {
      webhooks: [
        {
          name: "policy.example.com",
          clientConfig: { url: "https://127.0.0.1:1/ask" },
          sideEffects: "None",
          admissionReviewVersions: ["v1"],
        },
      ],
    },
  },
  "admissionregistration.k8s.io/v1 validatingadmissionpolicies": {
    body: {
      spec: {
        matchConstraints: {
          resourceRules: [
            { operations: ["CREATE"], apiGroups: ["x.example.com"], apiVersions: ["v1"], resources: ["none"] },
          ],
        },
        validations: [{ expression: "true" }],
      },
    },
    status: { observedGeneration: 1 },
  },
  "admissionregistration.k8s.io/v1 validatingadmissionpolicybindings": {
    body: { spec: { policyName: "none", validationActions: ["Deny"] } },
  },
  "admissionregistration.k8s.io/v1 validatingwebhookconfigurations": {
    body: {
      webhooks: [
        {
          name: "policy.example.com",
          clientConfig: { url: "https://127.0.0.1:1/ask" },
          sideEffects: "None",
          admissionReviewVersions: ["v1"],
        },
      ],
    },
  },
  "certificates.k8s.io/v1 certificatesigningrequests": {
    body: {
      spec: {
        request: signedRequest("jane", "developers"),
        signerName: "example.com/signer",
        usages: ["client auth"],
      },
    },
    status: { certificate },
  },
  "networking.k8s.io/v1 ingressclasses": { body: { spec: { controller: "example.com/controller" } } },
  "networking.k8s.io/v1 ingresses": {
    body: { spec: { defaultBackend: { service: { name: "web", port: { number: 80 } } } } },
    status: { loadBalancer: { ingress: [{ ip: "169.1.1.1" }] } },
  },
  "networking.k8s.io/v1 ipaddresses": {
    body: { spec: { parentRef: { resource: "services", namespace: "default", name: "web" } } },
    name: (n) => `192.0.2.${n}`,
  },
  "networking.k8s.io/v1 networkpolicies": { body: { spec: { podSelector: {}, policyTypes: ["Ingress"] } } },
  "networking.k8s.io/v1 servicecidrs": { body: { spec: { cidrs: ["10.87.0.0/24"] } }, status: { conditions } },
  "policy/v1 poddisruptionbudgets": { body: { spec: { minAvailable: 1, selector } }, status: { conditions } },
  "rbac.authorization.k8s.io/v1 clusterrolebindings": {
    body: {
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "jane" }],
    },
  },
  "rbac.authorization.k8s.io/v1 clusterroles": {
    body: { rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }] },
  },
  "rbac.authorization.k8s.io/v1 rolebindings": {
    body: {
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "jane" }],
    },
  },
  "rbac.authorization.k8s.io/v1 roles": { body: { rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }] } },
  "storage.k8s.io/v1 csidrivers": { body: { spec: { attachRequired: false } } },
  "storage.k8s.io/v1 csinodes": {
    body: { spec: { drivers: [{ name: "d.example.com", nodeID: "n1", topologyKeys: ["zone"] }] } },
  },
  "storage.k8s.io/v1 csistoragecapacities": {
    body: { storageClassName: "fast", capacity: "10Gi", nodeTopology: { matchLabels: { zone: "a" } } },
  },
  "storage.k8s.io/v1 storageclasses": { body: { provisioner: "example.com/p", parameters: { a: "b" } } },
  "storage.k8s.io/v1 volumeattachments": {
    body: { spec: { attacher: "a.example.com", nodeName: "n1", source: { persistentVolumeName: "pv" } } },
    status: { attached: true },
  },
  "storage.k8s.io/v1 volumeattributesclasses": { body: { driverName: "d.example.com", parameters: { iops: "1" } } },
  "resource.k8s.io/v1 deviceclasses": {
    body: { spec: { selectors: [{ cel: { expression: "device.driver == 'd.example.com'" } }] } },
  },
  "resource.k8s.io/v1 resourceclaims": {
    body: { spec: deviceClaim },
    status: {
      allocation: {
        devices: { results: [{ request: "r", driver: "d.example.com", pool: "p", device: "d" }] },
      },
    },
  },
  "resource.k8s.io/v1 resourceclaimtemplates": { body: { spec: { spec: deviceClaim } } },
  "resource.k8s.io/v1 resourceslices": {
    body: {
      spec: {
        driver: "d.example.com",
        pool: { name: "p", generation: 1, resourceSliceCount: 1 },
        allNodes: true,
        devices: [{ name: "d" }],
      },
    },
  },
  "scheduling.k8s.io/v1 priorityclasses": { body: { value: 10, description: "walked" } },
  "coordination.k8s.io/v1 leases": {
    body: { spec: { holderIdentity: "me", leaseDurationSeconds: 30, renewTime: "2026-01-01T00:00:00.000000Z" } },
  },
  "node.k8s.io/v1 runtimeclasses": { body: { handler: "runc" } },
  "discovery.k8s.io/v1 endpointslices": {
    body: {
      addressType: "IPv4",
      endpoints: [{ addresses: ["10.0.0.1"], conditions: { ready: true } }],
      ports: [{ name: "http", port: 80, protocol: "TCP" }],
    },
  },
}

/**
 * What discovery must know: the groups, versions and resources of test/e2e/apimachinery/aggregated_discovery.go and
 * discovery.go.
 */
export const WANTED = [
  ["apps", "v1", "deployments"],
  ["admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations"],
  ["apiextensions.k8s.io", "v1", "customresourcedefinitions"],
  ["apiregistration.k8s.io", "v1", "apiservices"],
  ["authentication.k8s.io", "v1", "tokenreviews"],
  ["authorization.k8s.io", "v1", "selfsubjectaccessreviews"],
  ["autoscaling", "v1", "horizontalpodautoscalers"],
  ["autoscaling", "v2", "horizontalpodautoscalers"],
  ["batch", "v1", "jobs"],
  ["certificates.k8s.io", "v1", "certificatesigningrequests"],
  ["coordination.k8s.io", "v1", "leases"],
  ["discovery.k8s.io", "v1", "endpointslices"],
  ["events.k8s.io", "v1", "events"],
  ["networking.k8s.io", "v1", "ingresses"],
  ["node.k8s.io", "v1", "runtimeclasses"],
  ["policy", "v1", "poddisruptionbudgets"],
  ["scheduling.k8s.io", "v1", "priorityclasses"],
  ["storage.k8s.io", "v1", "csinodes"],
  ["rbac.authorization.k8s.io", "v1", "roles"],
] as const
