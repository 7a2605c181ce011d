/** The messages about common mistakes, word for word as those of kube-apiserver. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startConformanceCluster, type ConformanceCluster } from "./cluster.ts"

let cluster: ConformanceCluster
beforeAll(async () => {
  cluster = await startConformanceCluster()
  for (const [name, labels] of [
    ["v", {}],
    ["restricted", { "pod-security.kubernetes.io/enforce": "restricted" }],
    ["warned", { "pod-security.kubernetes.io/warn": "baseline" }],
  ] as const) {
    await cluster.post("/api/v1/namespaces", { metadata: { name, labels } })
    await cluster.post(`/api/v1/namespaces/${name}/serviceaccounts`, { metadata: { name: "default" } })
  }
})
afterAll(() => cluster.stop())

const V = "/api/v1/namespaces/v"
const container = { name: "c", image: "i" }
const pod = (spec: object, name = "p") => ({ metadata: { name }, spec: { containers: [container], ...spec } })
const deployment = (spec: object) => ({
  metadata: { name: "d" },
  spec: {
    selector: { matchLabels: { a: "b" } },
    template: { metadata: { labels: { a: "b" } }, spec: { containers: [container] } },
    ...spec,
  },
})
const long = "a".repeat(64)

const ROWS: [what: string, path: string, body: object, message: string][] = [
  [
    "a pod without containers",
    `${V}/pods`,
    { metadata: { name: "p" }, spec: {} },
    'Pod "p" is invalid: spec.containers: Required value',
  ],
  [
    "a pod without a spec",
    `${V}/pods`,
    { metadata: { name: "p" } },
    'Pod "p" is invalid: spec.containers: Required value',
  ],
  [
    "a container without a name",
    `${V}/pods`,
    pod({ containers: [{ image: "i" }] }),
    'Pod "p" is invalid: spec.containers[0].name: Required value',
  ],
  [
    "a container without an image",
    `${V}/pods`,
    pod({ containers: [{ name: "c" }] }),
    'Pod "p" is invalid: spec.containers[0].image: Required value',
  ],
  [
    "two containers of one name",
    `${V}/pods`,
    pod({ containers: [container, container] }),
    'Pod "p" is invalid: spec.containers[1].name: Duplicate value: "c"',
  ],
  [
    "a port out of range",
    `${V}/pods`,
    pod({ containers: [{ ...container, ports: [{ containerPort: 70000 }] }] }),
    'Pod "p" is invalid: spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 ' +
      "and 65535, inclusive",
  ],
  [
    "an unknown restart policy",
    `${V}/pods`,
    pod({ restartPolicy: "Sometimes" }),
    'Pod "p" is invalid: spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", ' +
      '"OnFailure", "Never"',
  ],
  [
    "a limit below its request",
    `${V}/pods`,
    pod({ containers: [{ ...container, resources: { requests: { cpu: "2" }, limits: { cpu: "1" } } }] }),
    'Pod "p" is invalid: spec.containers[0].resources.requests: Invalid value: "2": must be less than or ' +
      "equal to cpu limit of 1",
  ],
  [
    "a mount of a missing volume",
    `${V}/pods`,
    pod({ containers: [{ ...container, volumeMounts: [{ name: "none", mountPath: "/x" }] }] }),
    'Pod "p" is invalid: spec.containers[0].volumeMounts[0].name: Not found: "none"',
  ],
  [
    "a name with capitals",
    `${V}/pods`,
    pod({}, "Pod_1"),
    `Pod "Pod_1" is invalid: metadata.name: Invalid value: "Pod_1": a lowercase RFC 1123 subdomain must ` +
      "consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
      "character (e.g. 'example.com', regex used for validation is " +
      "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
  ],
  [
    "a name that is too long",
    `${V}/configmaps`,
    { metadata: { name: "a".repeat(254) } },
    `ConfigMap "${"a".repeat(254)}" is invalid: metadata.name: Invalid value: "${"a".repeat(254)}": must be ` +
      "no more than 253 characters",
  ],
  [
    "no name",
    `${V}/configmaps`,
    { metadata: {} },
    'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
  ],
  [
    "a Service name that is too long",
    `${V}/services`,
    { metadata: { name: long }, spec: { ports: [{ port: 80 }] } },
    `Service "${long}" is invalid: metadata.name: Invalid value: "${long}": must be no more than 63 characters`,
  ],
  [
    "a namespace name that is too long",
    "/api/v1/namespaces",
    { metadata: { name: long } },
    `Namespace "${long}" is invalid: [metadata.name: Invalid value: "${long}": must be no more than 63 ` +
      `characters, metadata.labels: Invalid value: "${long}": must be no more than 63 bytes]`,
  ],
  [
    "an invalid label",
    `${V}/configmaps`,
    { metadata: { name: "a", labels: { a: "b c" } } },
    `ConfigMap "a" is invalid: metadata.labels: Invalid value: "b c": a valid label must be an empty string ` +
      "or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
      "character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
      "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
  ],
  [
    "a Service without ports",
    `${V}/services`,
    { metadata: { name: "s" }, spec: { selector: { a: "b" } } },
    'Service "s" is invalid: spec.ports: Required value',
  ],
  [
    "two ports without names",
    `${V}/services`,
    { metadata: { name: "s" }, spec: { ports: [{ port: 80 }, { port: 81 }] } },
    'Service "s" is invalid: [spec.ports[0].name: Required value, spec.ports[1].name: Required value]',
  ],
  [
    "a Deployment without a selector",
    "/apis/apps/v1/namespaces/v/deployments",
    deployment({ selector: undefined }),
    'Deployment.apps "d" is invalid: [spec.selector: Required value, spec.template.metadata.labels: Invalid ' +
      'value: {"a":"b"}: `selector` does not match template `labels`]',
  ],
  [
    "a selector that does not match the template",
    "/apis/apps/v1/namespaces/v/deployments",
    deployment({ selector: { matchLabels: { x: "y" } } }),
    'Deployment.apps "d" is invalid: spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does ' +
      "not match template `labels`",
  ],
  [
    "replicas below zero",
    "/apis/apps/v1/namespaces/v/deployments",
    deployment({ replicas: -1 }),
    'Deployment.apps "d" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
  ],
  [
    "a Job with restart policy Always",
    "/apis/batch/v1/namespaces/v/jobs",
    { metadata: { name: "j" }, spec: { template: { spec: { containers: [container] } } } },
    'Job.batch "j" is invalid: spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
  ],
  [
    "an invalid schedule",
    "/apis/batch/v1/namespaces/v/cronjobs",
    {
      metadata: { name: "c" },
      spec: {
        schedule: "often",
        jobTemplate: { spec: { template: { spec: { containers: [container], restartPolicy: "Never" } } } },
      },
    },
    'CronJob.batch "c" is invalid: spec.schedule: Invalid value: "often": expected exactly 5 fields, found 1: [often]',
  ],
  [
    "an empty claim",
    `${V}/persistentvolumeclaims`,
    { metadata: { name: "c" }, spec: {} },
    'PersistentVolumeClaim "c" is invalid: [spec.accessModes: Required value: at least 1 access mode is ' +
      "required, spec.resources[storage]: Required value]",
  ],
  [
    "a role binding without a role name",
    "/apis/rbac.authorization.k8s.io/v1/namespaces/v/rolebindings",
    { metadata: { name: "r" }, roleRef: { kind: "Role", name: "" } },
    'RoleBinding.rbac.authorization.k8s.io "r" is invalid: roleRef.name: Required value',
  ],
  [
    "a Secret of the wrong type",
    `${V}/secrets`,
    { metadata: { name: "s" }, type: "kubernetes.io/tls", data: {} },
    'Secret "s" is invalid: [data[tls.crt]: Required value, data[tls.key]: Required value]',
  ],
  [
    "an event of the newer group, which is stored as one of the older",
    "/apis/events.k8s.io/v1/namespaces/v/events",
    {
      metadata: { name: "e" },
      eventTime: "2026-01-01T00:00:00.000000Z",
      reportingController: "example.com/c",
      reportingInstance: "i",
      action: "a",
      reason: "r",
      type: "Strange",
      regarding: { namespace: "v" },
    },
    'Event "e" is invalid: type: Invalid value: "": has invalid value: Strange',
  ],
  [
    "an endpoint with a host name that is empty",
    "/apis/discovery.k8s.io/v1/namespaces/v/endpointslices",
    { metadata: { name: "e" }, addressType: "FQDN", endpoints: [{ addresses: [""] }] },
    'EndpointSlice.discovery.k8s.io "e" is invalid: endpoints[0].addresses[0]: Required value',
  ],
  [
    "a replication controller with faults, whose unused generateName is not validated then",
    `${V}/replicationcontrollers`,
    { metadata: { name: "r", generateName: "a/b" }, spec: {} },
    'ReplicationController "r" is invalid: [spec.selector: Required value, spec.template: Required value]',
  ],
  [
    "a replication controller with an unused generateName that cannot be in a path",
    `${V}/replicationcontrollers`,
    {
      metadata: { name: "r", generateName: "a/b" },
      spec: { template: { metadata: { labels: { a: "b" } }, spec: { containers: [container] } } },
    },
    `ReplicationController "r" is invalid: metadata.generateName: Invalid value: "a/b": may not contain '/'`,
  ],
]
describe("invalid objects", () => {
  test.each(ROWS)("%s", async (_what, path, body, message) => {
    const { code, body: status } = await cluster.send("POST", `${path}?dryRun=All`, { body })
    expect([code, status.message]).toEqual([422, message])
  })

  const CHANGES: [what: string, path: string, body: object, change: object, message: string][] = [
    [
      "the spec of a VolumeAttachment, which is shown with Go's field names",
      "/apis/storage.k8s.io/v1/volumeattachments",
      { metadata: { name: "a" }, spec: { attacher: "d.io", nodeName: "n", source: { persistentVolumeName: "v" } } },
      { spec: { nodeName: "m" } },
      'VolumeAttachment.storage.k8s.io "a" is invalid: spec: Invalid value: {"Attacher":"d.io","Source":' +
        '{"PersistentVolumeName":"v","InlineVolumeSpec":null},"NodeName":"m"}: field is immutable',
    ],
    [
      "the spec of a ResourceClaim",
      "/apis/resource.k8s.io/v1/namespaces/v/resourceclaims",
      { metadata: { name: "c" }, spec: { devices: { requests: [{ name: "r", exactly: { deviceClassName: "d" } }] } } },
      { spec: { devices: null } },
      'ResourceClaim.resource.k8s.io "c" is invalid: spec: Invalid value: {"Devices":{"Requests":null,' +
        '"Constraints":null,"Config":null}}: field is immutable',
    ],
    [
      "the generateName of a DeviceClass, which only the shared registry validates",
      "/apis/resource.k8s.io/v1/deviceclasses",
      { metadata: { name: "c" }, spec: {} },
      { metadata: { generateName: "a/b" } },
      `DeviceClass.resource.k8s.io "c" is invalid: metadata.generateName: Invalid value: "a/b": may not contain '/'`,
    ],
  ]
  test.each(CHANGES)("a change of %s", async (_what, path, body, change, message) => {
    const { metadata } = await cluster.post(path, body)
    const type = "application/merge-patch+json"
    const { code, body: status } = await cluster.send("PATCH", `${path}/${metadata.name}`, { body: change, type })
    expect([code, status.message]).toEqual([422, message])
  })

  test.each([
    { title: "an object of a namespace", path: `${V}/configmaps`, key: "configmaps/v/held" },
    { title: "a Namespace", path: "/api/v1/namespaces", key: "namespaces/held" },
  ])(
    "the error about an update of $title with another uid contains the object's key in the store",
    async ({ path, key }) => {
      const { metadata } = await cluster.post(path, { metadata: { name: "held" } })
      const told = async (query: string) => {
        const body = { metadata: { name: "held", uid: "other" } }
        return (await cluster.send("PUT", `${path}/held${query}`, { body })).body.message
      }
      const message = (root: string) =>
        `Operation cannot be fulfilled on ${path.split("/").at(-1)} "held": StorageError: invalid object, Code: 4, ` +
        `Key: ${root}/${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: other, ` +
        `UID in object meta: ${metadata.uid}`
      expect([await told(""), await told("?dryRun=All")]).toEqual([message("/registry"), message("")])
    },
  )

  // A dry run takes no port and so, as upstream, does not see that the port cannot be had.
  test("a node port out of range", async () => {
    const body = { metadata: { name: "s" }, spec: { type: "NodePort", ports: [{ port: 80, nodePort: 80 }] } }
    const { code, body: status } = await cluster.send("POST", `${V}/services`, { body })
    expect([code, status.message]).toEqual([
      422,
      'Service "s" is invalid: spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid ' +
        "range. The range of valid ports is 30000-32767",
    ])
  })
})

const UNREADABLE: [what: string, path: string, body: object | string, message: string][] = [
  [
    "an invalid quantity",
    `${V}/pods`,
    pod({ containers: [{ ...container, resources: { requests: { cpu: "lots" } } }] }),
    `Pod in version "v1" cannot be handled as a Pod: quantities must match the regular expression ` +
      "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  ],
  [
    "a number for a string",
    `${V}/configmaps`,
    { metadata: { name: "a" }, data: { a: 1 } },
    'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct ' +
      "field ConfigMap.data of type string",
  ],
  [
    "a string for a number",
    "/apis/apps/v1/namespaces/v/deployments",
    deployment({ replicas: "3" }),
    'Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal string into Go ' +
      "struct field DeploymentSpec.spec.replicas of type int32",
  ],
  [
    "a field of a container that is unknown",
    `${V}/pods?fieldValidation=Strict`,
    pod({ containers: [{ ...container, comand: [] }] }),
    'Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "spec.containers[0].comand"',
  ],
]
test.each(UNREADABLE)("the error about a body that cannot be decoded: %s", async (_what, path, body, message) => {
  const { code, body: status } = await cluster.send("POST", path, { body })
  expect([code, status.message]).toEqual([400, message])
})

describe("pod security", () => {
  test("refuses what the level of a namespace does not allow", async () => {
    const { code, body } = await cluster.send("POST", "/api/v1/namespaces/restricted/pods", {
      body: pod({ hostNetwork: true }),
    })
    expect([code, body.message]).toEqual([
      403,
      'pods "p" is forbidden: violates PodSecurity "restricted:latest": host namespaces (hostNetwork=true), ' +
        'allowPrivilegeEscalation != false (container "c" must set ' +
        'securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "c" must set ' +
        'securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "c" must set ' +
        'securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must set ' +
        'securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
    ])
  })
  test("warns about pods and pod templates in a namespace with a warn level", async () => {
    const privileged = { containers: [{ ...container, securityContext: { privileged: true } }] }
    const pods = await cluster.send("POST", "/api/v1/namespaces/warned/pods", { body: pod(privileged) })
    expect([pods.code, pods.headers["warning"]]).toEqual([
      201,
      '299 - "would violate PodSecurity \\"baseline:latest\\": privileged (container \\"c\\" must not set ' +
        'securityContext.privileged=true)"',
    ])
    const made = await cluster.send("POST", "/apis/apps/v1/namespaces/warned/deployments", {
      body: deployment({ template: { metadata: { labels: { a: "b" } }, spec: privileged } }),
    })
    expect([made.code, made.headers["warning"]]).toEqual([
      201,
      '299 - "would violate PodSecurity \\"baseline:latest\\": privileged (container \\"c\\" must not set ' +
        'securityContext.privileged=true)"',
    ])
  })
})

describe("evictions", () => {
  test("of pods with two budgets, and of pods that do not exist, are refused with Kubernetes' messages", async () => {
    await cluster.post(`${V}/pods`, {
      metadata: { name: "twice", labels: { app: "twice" } },
      spec: { containers: [container] },
    })
    const evict = () =>
      cluster.send("POST", `${V}/pods/twice/eviction`, {
        body: { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "twice" } },
      })
    for (const name of ["b1", "b2"])
      await cluster.post("/apis/policy/v1/namespaces/v/poddisruptionbudgets", {
        metadata: { name },
        spec: { minAvailable: 1, selector: { matchLabels: { app: "twice" } } },
      })
    await cluster.patch(`${V}/pods/twice/status`, "merge", { status: { phase: "Running" } })
    expect((await evict()).body).toMatchObject({
      code: 500,
      message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
    })
    await cluster.delete("/apis/policy/v1/namespaces/v/poddisruptionbudgets/b2")
    const unready = await evict()
    expect([unready.code, unready.body.message]).toEqual([
      429,
      "Cannot evict pod as it would violate the pod's disruption budget.",
    ])
    expect(
      (await cluster.send("POST", `${V}/pods/absent/eviction`, { body: { metadata: { name: "absent" } } })).body,
    ).toMatchObject({ code: 404, message: 'pods "absent" not found' })
  })
})
