import { describe, expect, test } from "bun:test"
import { decodeObject } from "../apimachinery/decoding/decode.ts"
import type { Resource } from "../apimachinery/resource.ts"
import { RESOURCES } from "./resources.ts"

const POD = { containers: [{ name: "c", image: "i" }] }
const TEMPLATE = { metadata: { labels: { a: "b" } }, spec: POD }

interface Given {
  readonly metadata: object
  readonly [field: string]: unknown
}

interface Row {
  readonly title: string
  /** `<apiVersion> <kind>` */
  readonly given: readonly [kind: string, object: Given, old?: Given]
  readonly wants: readonly string[]
}

const pod = (spec: object, metadata: object = {}): Row["given"] => [
  "v1 Pod",
  { metadata: { name: "p", ...metadata }, spec: { ...POD, ...spec } },
]
const container = (more: object): Row["given"] => pod({ containers: [{ ...POD.containers[0], ...more }] })

const ROWS: readonly Row[] = [
  { title: "an ordinary pod", given: pod({}), wants: [] },
  ...["Mutating", "Validating"].map((type): Row => ({
    title: `a ${type} configuration with the reserved suffix of static configurations`,
    given: [`admissionregistration.k8s.io/v1 ${type}WebhookConfiguration`, { metadata: { name: "a.static.k8s.io" } }],
    wants: [
      'metadata.name: names ending with ".static.k8s.io" are reserved for static manifest-based configurations and ' +
        "cannot be managed via the API",
    ],
  })),
  {
    title: "a pod whose name is no DNS label",
    given: pod({}, { name: "a.b" }),
    wants: [
      "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS " +
        "label is recommended: [must not contain dots]",
    ],
  },
  {
    title: "a deprecated label of nodes",
    given: pod({ nodeSelector: { "beta.kubernetes.io/os": "linux" } }),
    wants: ['spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead'],
  },
  {
    title: "a gitRepo volume, which is not supported any more",
    given: pod({ volumes: [{ name: "v", gitRepo: { repository: "r" } }] }),
    wants: ["spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+"],
  },
  {
    title: "two keys for one file, and a file with the name of another's folder",
    given: pod({
      volumes: [
        {
          name: "v",
          projected: {
            sources: [
              { configMap: { name: "m", items: [{ key: "a", path: "x/y" }] } },
              { secret: { name: "s", items: [{ key: "a", path: "x" }] } },
              {},
            ],
          },
        },
      ],
    }),
    wants: [
      'volume "v" (Projected) has no sources provided',
      'volume "v" (Projected): overlapping paths: "x" (Secret "s") with "x/y" (ConfigMap "m")',
    ],
  },
  {
    title: "a fraction of a byte",
    given: container({ resources: { limits: { memory: "100m" } } }),
    wants: [
      'spec.containers[0].resources.limits[memory]: fractional byte value "100m" is invalid, must be an integer',
      'spec.containers[0].resources.requests[memory]: fractional byte value "100m" is invalid, must be an integer',
    ],
  },
  {
    title: "a variable that overrides another, and one that extends it",
    given: container({
      env: [
        { name: "A", value: "1" },
        { name: "A", value: "2" },
        { name: "A", value: "$(A)3" },
      ],
    }),
    wants: ['spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply'],
  },
  {
    title: "a port twice, under one name",
    given: container({
      ports: [
        { name: "a", containerPort: 80 },
        { name: "a", containerPort: 81 },
        { containerPort: 80, hostPort: 8080 },
      ],
    }),
    wants: [
      "spec.containers[0].ports[2]: overlapping port definition with spec.containers[0].ports[0]",
      'spec.containers[0].ports[1]: duplicate port name "a" with spec.containers[0].ports[0], services and ' +
        "probes that select ports by name will use spec.containers[0].ports[0]",
    ],
  },
  {
    title: "an affinity term that selects no pod",
    given: pod({
      affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "t" }] } },
    }),
    wants: [
      "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a null " +
        "labelSelector results in matching no pod",
    ],
  },
  {
    title: "an IPv6 address in its long form",
    given: pod({ hostAliases: [{ ip: "FE80::0202", hostnames: ["a"] }] }),
    wants: ['spec.hostAliases[0].ip: IPv6 address "FE80::0202" should be in RFC 5952 canonical format ("fe80::202")'],
  },
  {
    title: "a pod template, by its path",
    given: [
      "apps/v1 Deployment",
      {
        metadata: { name: "d" },
        spec: {
          selector: { matchLabels: { a: "b" } },
          template: { ...TEMPLATE, spec: { ...POD, imagePullSecrets: [{}] } },
        },
      },
    ],
    wants: ['spec.template.spec.imagePullSecrets[0].name: invalid empty name ""'],
  },
  {
    title: "an unlimited revision history",
    given: [
      "apps/v1 StatefulSet",
      {
        metadata: { name: "s" },
        spec: { revisionHistoryLimit: -1, selector: { matchLabels: { a: "b" } }, template: TEMPLATE },
      },
    ],
    wants: [
      "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended",
    ],
  },
  {
    title: "a time zone in the schedule of a CronJob",
    given: [
      "batch/v1 CronJob",
      {
        metadata: { name: "c" },
        spec: { schedule: "TZ=UTC * * * * *", jobTemplate: { spec: { template: TEMPLATE } } },
      },
      { metadata: { name: "c" }, spec: { schedule: "* * * * *", jobTemplate: { spec: { template: TEMPLATE } } } },
    ],
    wants: [
      "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see " +
        "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details",
    ],
  },
  {
    title: "requests that may exceed limits",
    given: [
      "v1 ResourceQuota",
      { metadata: { name: "q" }, spec: { hard: { cpu: "2", "limits.cpu": "1", "requests.memory": "1Gi" } } },
    ],
    wants: ["ResourceQuota cpu (2) should be less than limits.cpu (1)"],
  },
  {
    title: "an invalid key pair",
    given: [
      "v1 Secret",
      { metadata: { name: "s" }, type: "kubernetes.io/tls", data: { "tls.crt": "", "tls.key": "" } },
    ],
    wants: ["tls: failed to find any PEM data in certificate input"],
  },
  {
    title: "a class in an annotation instead of the field",
    given: [
      "networking.k8s.io/v1 Ingress",
      {
        metadata: { name: "i", annotations: { "kubernetes.io/ingress.class": "x" } },
        spec: { defaultBackend: { service: { name: "s", port: { number: 1 } } } },
      },
    ],
    wants: [`annotation "kubernetes.io/ingress.class" is deprecated, please use 'spec.ingressClassName' instead`],
  },
  {
    title: "a volume with reclaim policy Recycle",
    given: [
      "v1 PersistentVolume",
      {
        metadata: { name: "v" },
        spec: {
          capacity: { storage: "1Gi" },
          accessModes: ["ReadWriteOnce"],
          hostPath: { path: "/a" },
          persistentVolumeReclaimPolicy: "Recycle",
        },
      },
    ],
    wants: [
      "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended " +
        "approach is to use dynamic provisioning.",
    ],
  },
]

describe("objects that are accepted with a warning", () => {
  test.each(ROWS)("$title", ({ given: [kind, object, old], wants }) => {
    const resource = RESOURCES.find((each) => `${each.apiVersion} ${each.kind}` === kind)! as Resource
    const decoded = (value: Given, generation: number) =>
      decodeObject(resource, { ...value, metadata: { ...value.metadata, generation } }).object as never
    const found = resource.warnings!(decoded(object, 2), old === undefined ? undefined : decoded(old, 1))
    expect([...found]).toEqual([...wants])
  })
})
