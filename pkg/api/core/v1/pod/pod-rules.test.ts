import { describe, expect, test } from "bun:test"
import { validateObject } from "../../../../apimachinery/validation/validate.ts"
import { Pod } from "./pod.ts"
import { type Json, container, made, withContainer } from "./pod.fixtures.ts"

const causesOf = (pod: Pod): string[] => validateObject(Pod, pod).map(({ field, message }) => `${field}: ${message}`)
const volumes = [{ name: "data", emptyDir: {} }]

const LABEL_RULE =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and " +
  "end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"

describe("rules of new pods", () => {
  test.each<[string, Json, string[]]>([
    ["a minimal pod is valid", {}, []],
    ["no containers", { containers: [] }, ["spec.containers: Required value"]],
    ["a container without image", { containers: [{ name: "a" }] }, ["spec.containers[0].image: Required value"]],
    [
      "a bad container name",
      { containers: [{ ...container, name: "A" }] },
      [`spec.containers[0].name: Invalid value: "A": ${LABEL_RULE}`],
    ],
    [
      "two containers of one name",
      { containers: [container, container] },
      ['spec.containers[1].name: Duplicate value: "web"'],
    ],
    [
      "an init container of the same name",
      { initContainers: [container] },
      ['spec.initContainers[0].name: Duplicate value: "web"'],
    ],
    [
      "an image with spaces",
      withContainer({ image: " nginx" }),
      ['spec.containers[0].image: Invalid value: " nginx": must not have leading or trailing whitespace'],
    ],
    [
      "an unknown restart policy",
      { restartPolicy: "Sometimes" },
      ['spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"'],
    ],
    [
      "a port out of range",
      withContainer({ ports: [{ containerPort: 70000 }] }),
      ["spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive"],
    ],
    [
      "two ports of one name",
      withContainer({
        ports: [
          { name: "http", containerPort: 80 },
          { name: "http", containerPort: 81 },
        ],
      }),
      ['spec.containers[0].ports[1].name: Duplicate value: "http"'],
    ],
    [
      "a host port used twice",
      withContainer({
        ports: [
          { hostPort: 80, containerPort: 80 },
          { hostPort: 80, containerPort: 81 },
        ],
      }),
      ['spec.containers[0].ports[1].hostPort: Duplicate value: "TCP//80"'],
    ],
    [
      "a host port that differs on the host network",
      { hostNetwork: true, ...withContainer({ ports: [{ hostPort: 81, containerPort: 80 }] }) },
      [
        "spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when " +
          "`hostNetwork` is true",
      ],
    ],
    [
      "a mount without volume",
      withContainer({ volumeMounts: [{ name: "data", mountPath: "/data" }] }),
      ['spec.containers[0].volumeMounts[0].name: Not found: "data"'],
    ],
    [
      "two mounts at one path",
      {
        volumes,
        ...withContainer({
          volumeMounts: [
            { name: "data", mountPath: "/data" },
            { name: "data", mountPath: "/data" },
          ],
        }),
      },
      ['spec.containers[0].volumeMounts[1].mountPath: Invalid value: "/data": must be unique'],
    ],
    [
      "a subPath with ..",
      { volumes, ...withContainer({ volumeMounts: [{ name: "data", mountPath: "/data", subPath: "../x" }] }) },
      ["spec.containers[0].volumeMounts.subPath: Invalid value: \"../x\": must not contain '..'"],
    ],
    [
      "two volumes of one name",
      { volumes: [...volumes, ...volumes] },
      ['spec.volumes[1].name: Duplicate value: "data"'],
    ],
    [
      "a volume with two sources",
      { volumes: [{ name: "data", emptyDir: {}, hostPath: { path: "/x" } }] },
      ["spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type"],
    ],
    [
      "a hostPath with ..",
      { volumes: [{ name: "data", hostPath: { path: "/a/../b" } }] },
      ["spec.volumes[0].hostPath.path: Invalid value: \"/a/../b\": must not contain '..'"],
    ],
    [
      "a secret without a name",
      { volumes: [{ name: "data", secret: {} }] },
      ["spec.volumes[0].secret.secretName: Required value"],
    ],
    [
      "a mode out of range",
      { volumes: [{ name: "data", configMap: { name: "x", defaultMode: 1000 } }] },
      [
        "spec.volumes[0].configMap.defaultMode: Invalid value: 1000: must be a number between 0 and 0777 " +
          "(octal), both inclusive",
      ],
    ],
    [
      "a short-lived token",
      {
        serviceAccountName: "a",
        volumes: [
          { name: "data", projected: { sources: [{ serviceAccountToken: { path: "t", expirationSeconds: 60 } }] } },
        ],
      },
      [
        "spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 60: may " +
          "not specify a duration less than 10 minutes",
      ],
    ],
    [
      "a variable with two sources",
      withContainer({ env: [{ name: "A", value: "x", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }] }),
      ['spec.containers[0].env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty'],
    ],
    [
      "a variable of an unknown field",
      withContainer({ env: [{ name: "A", valueFrom: { fieldRef: { fieldPath: "spec.foo" } } }] }),
      [
        'spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.foo": error converting ' +
          "fieldPath: field label not supported: spec.foo",
      ],
    ],
    [
      "all labels as one variable",
      withContainer({
        env: [
          { name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
          { name: "B", valueFrom: { fieldRef: { fieldPath: "metadata.labels" } } },
        ],
      }),
      [
        'spec.containers[0].env[1].valueFrom.fieldRef.fieldPath: Unsupported value: "metadata.labels": ' +
          'supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", ' +
          '"spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"',
      ],
    ],
    [
      "requests above limits",
      withContainer({ resources: { requests: { cpu: "2" }, limits: { cpu: "1" } } }),
      ['spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'],
    ],
    [
      "a negative request",
      withContainer({ resources: { requests: { memory: "-1" } } }),
      ['spec.containers[0].resources.requests[memory]: Invalid value: "-1": must be greater than or equal to 0'],
    ],
    [
      "an unknown resource",
      withContainer({ resources: { requests: { foo: "1" } } }),
      [
        'spec.containers[0].resources.requests[foo]: Invalid value: "foo": must be a standard resource type ' +
          "or fully qualified",
        'spec.containers[0].resources.requests[foo]: Invalid value: "foo": must be a standard resource for containers',
      ],
    ],
    [
      "a host port out of range",
      withContainer({ ports: [{ containerPort: 80, hostPort: 70000 }] }),
      ["spec.containers[0].ports[0].hostPort: Invalid value: 70000: must be between 1 and 65535, inclusive"],
    ],
    [
      "all faults, although required fields are missing too",
      { hostname: "a_", containers: [{ name: "a", image: "a", env: [{ value: "b" }], ports: [{ protocol: "UDP" }] }] },
      [
        "spec.containers[0].env[0].name: Required value",
        "spec.containers[0].ports[0].containerPort: Required value",
        `spec.hostname: Invalid value: "a_": ${LABEL_RULE}`,
      ],
    ],
    [
      "pod-level requests below those of the containers",
      {
        resources: { requests: { cpu: "1", pods: "1" }, limits: { cpu: "2" } },
        containers: [{ ...container, resources: { requests: { cpu: "1500m" }, limits: { cpu: "3" } } }],
      },
      [
        'spec.resources.requests[pods]: Unsupported value: "pods": supported values: "cpu", "hugepages-", "memory"',
        'spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate ' +
          "container requests of 1500m",
        'spec.resources.containers[0][cpu].limits: Invalid value: "3": must be less than or equal to pod limits of 2',
      ],
    ],
    [
      "a readiness gate without a type",
      { readinessGates: [{}] },
      [
        'spec.readinessGates[0].conditionType: Invalid value: "": name part must be non-empty',
        expect.stringContaining('spec.readinessGates[0].conditionType: Invalid value: "": name part must consist of'),
      ],
    ],
    [
      "no topology",
      { topologySpreadConstraints: [{ maxSkew: 1, whenUnsatisfiable: "DoNotSchedule" }] },
      ["spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty"],
    ],
    [
      "an unknown operator of node selectors",
      {
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "Is" }] }],
            },
          },
        },
      },
      [
        "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator: " +
          'Invalid value: "Is": not a valid selector operator',
      ],
    ],
    [
      "a probe with two handlers",
      withContainer({ livenessProbe: { exec: { command: ["a"] }, tcpSocket: { port: 80 } } }),
      ["spec.containers[0].livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type"],
    ],
    [
      "a probe without handler",
      withContainer({ readinessProbe: {} }),
      ["spec.containers[0].readinessProbe: Required value: must specify a handler type"],
    ],
    [
      "a liveness probe that must succeed twice",
      withContainer({ livenessProbe: { tcpSocket: { port: 80 }, successThreshold: 2 } }),
      ["spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1"],
    ],
    [
      "a probe of an init container",
      { initContainers: [{ name: "init", image: "a", livenessProbe: { tcpSocket: { port: 80 } } }] },
      [
        "spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without " +
          "restartPolicy=Always",
      ],
    ],
    [
      "a probe of a sidecar, which is valid",
      {
        initContainers: [
          { name: "side", image: "a", restartPolicy: "Always", livenessProbe: { tcpSocket: { port: 80 } } },
        ],
      },
      [],
    ],
    [
      "contradictory privileges",
      withContainer({ securityContext: { privileged: true, allowPrivilegeEscalation: false } }),
      [
        "spec.containers[0].securityContext: Invalid value: " +
          '{"Capabilities":null,"Privileged":true,"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,"AllowPrivilegeEscalation":false,"ProcMount":null,"SeccompProfile":null,"AppArmorProfile":null}: ' +
          "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
      ],
    ],
    [
      "a negative user",
      { securityContext: { runAsUser: -1 } },
      ["spec.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive"],
    ],
    [
      "a toleration without a key",
      { tolerations: [{ value: "x" }] },
      [
        'spec.tolerations[0].operator: Invalid value: "": operator must be Exists when `key` is empty, which ' +
          'means "match all values and all keys"',
      ],
    ],
    [
      "a node affinity without values",
      {
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "In" }] }],
            },
          },
        },
      },
      [
        "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values: " +
          "Required value: must be specified when `operator` is 'In' or 'NotIn'",
      ],
    ],
    [
      "a weight out of range",
      {
        affinity: {
          podAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              { weight: 101, podAffinityTerm: { topologyKey: "zone" } },
            ],
          },
        },
      },
      [
        "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: " +
          "101: must be in the range 1-100",
      ],
    ],
    [
      "a maxSkew of 0",
      { topologySpreadConstraints: [{ maxSkew: 0, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule" }] },
      ["spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero"],
    ],
    [
      "dnsPolicy None without dnsConfig",
      { dnsPolicy: "None" },
      ["spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"],
    ],
    [
      "a host name with hostNetwork",
      { hostNetwork: true, hostnameOverride: "a" },
      ["spec.hostnameOverride: Forbidden: may not be specified when hostNetwork is true"],
    ],
    [
      "a host name longer than Linux allows",
      { setHostnameAsFQDN: true, hostnameOverride: "a".repeat(65) },
      [
        "spec.hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true",
        "spec.hostnameOverride: Too long: may not be more than 64 bytes",
      ],
    ],
    [
      "an overhead that is no resource of containers",
      { overhead: { pods: "1", cpu: "-1" } },
      [
        'spec.overhead.limits[pods]: Invalid value: "pods": must be a standard resource for containers',
        'spec.overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
      ],
    ],
    [
      "a deadline that is too long",
      { activeDeadlineSeconds: 0 },
      ["spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"],
    ],
    [
      "ephemeral containers at creation",
      { ephemeralContainers: [{ name: "debug", image: "a" }] },
      ["spec.ephemeralContainers: Forbidden: cannot be set on create"],
    ],
    [
      "a node name together with scheduling gates",
      { nodeName: "a", schedulingGates: [{ name: "gate" }] },
      ["spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"],
    ],
  ])("%s", (_title, spec, wanted) => {
    expect(causesOf(made(spec))).toEqual(wanted)
  })
})
