import { describe, expect, test } from "bun:test"
import { validateObject } from "../../../apimachinery/validation/validate.ts"
import { type Json, find, prepared, lines, PORT, service } from "../../kinds.fixtures.ts"

describe("creating an object of core/v1", () => {
  test.each<[string, string, Json, string[]]>([
    [
      "ConfigMap",
      "keys that are no file names",
      { data: { "a/b": "" } },
      [
        `data[a/b]: Invalid value: "a/b": a valid config key must consist of alphanumeric characters, '-', ` +
          "'_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is " +
          "'[-._a-zA-Z0-9]+')",
      ],
    ],
    ["ConfigMap", "no key for what it is called", { data: { constructor: "a", toString: "b" } }, []],
    [
      "ConfigMap",
      "a key that is text and bytes",
      { data: { a: "" }, binaryData: { a: "" } },
      [`data[a]: Invalid value: "a": duplicate of key present in binaryData`],
    ],
    [
      "ConfigMap",
      "more than a mebibyte",
      { data: { a: "x".repeat(1024 * 1024 + 1) } },
      ["[]: Too long: may not be more than 1048576 bytes"],
    ],
    [
      "Secret",
      "a TLS secret without key",
      { type: "kubernetes.io/tls", stringData: { "tls.crt": "x" } },
      ["data[tls.key]: Required value"],
    ],
    [
      "Secret",
      "a Docker config that is no JSON",
      { type: "kubernetes.io/dockercfg", data: { ".dockercfg": "eA==" } },
      [
        `data[.dockercfg]: Invalid value: "<secret contents redacted>": invalid character 'x' looking for ` +
          "beginning of value",
      ],
    ],
    [
      "Secret",
      "a token of no account",
      { type: "kubernetes.io/service-account-token" },
      ["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
    ],
    [
      "Namespace",
      "a finalizer of nobody",
      { spec: { finalizers: ["mine"] } },
      [`spec.finalizers: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified`],
    ],
    [
      "Node",
      "a taint twice",
      {
        spec: {
          taints: [
            { key: "a", effect: "NoSchedule" },
            { key: "a", effect: "NoSchedule", value: "b" },
          ],
        },
      },
      [
        `metadata.taints[1]: Duplicate value: {"Key":"a","Value":"b","Effect":"NoSchedule","TimeAdded":null}: ` +
          "taints must be unique by key and effect pair",
      ],
    ],
    [
      "Node",
      "an unknown effect",
      { spec: { taints: [{ key: "a", effect: "Never" }] } },
      [
        `metadata.taints[0].effect: Unsupported value: "Never": supported values: "NoSchedule", ` +
          `"PreferNoSchedule", "NoExecute"`,
      ],
    ],
    ["Service", "nothing wrong", service({}), []],
    ["Service", "no ports", { spec: {} }, ["spec.ports: Required value"]],
    [
      "Service",
      "a port out of range",
      service({ ports: [{ port: 70000, targetPort: 1 }] }),
      ["spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive"],
    ],
    [
      "Service",
      "two ports without names",
      service({ ports: [PORT, { port: 81 }] }),
      ["spec.ports[0].name: Required value", "spec.ports[1].name: Required value"],
    ],
    [
      "Service",
      "a type that does not exist",
      service({ type: "Other" }),
      [
        `spec.type: Unsupported value: "Other": supported values: "ClusterIP", "ExternalName", ` +
          `"LoadBalancer", "NodePort"`,
      ],
    ],
    ["Service", "an alias of no name", { spec: { type: "ExternalName" } }, ["spec.externalName: Required value"]],
    [
      "Service",
      "an address that is none",
      service({ clusterIP: "x" }),
      [`spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`],
    ],
    [
      "Service",
      "a node port inside the cluster",
      service({ ports: [{ port: 80, nodePort: 30000 }] }),
      ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
    ],
    [
      "Service",
      "an affinity of two days",
      service({ sessionAffinity: "ClientIP", sessionAffinityConfig: { clientIP: { timeoutSeconds: 172800 } } }),
      [
        "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 172800: must be greater than 0 " +
          "and less than 86400",
      ],
    ],
    [
      "Endpoints",
      "an address of the node itself",
      { subsets: [{ addresses: [{ ip: "127.0.0.1" }], ports: [PORT] }] },
      [
        `subsets[0].addresses[0].ip: Invalid value: "127.0.0.1": may not be in the loopback range ` +
          "(127.0.0.0/8, ::1/128)",
      ],
    ],
    [
      "Endpoints",
      "an empty subset",
      { subsets: [{ ports: [PORT] }] },
      ["subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"],
    ],
    [
      "Event",
      "another namespace than that of the object",
      { involvedObject: { namespace: "other" } },
      [`involvedObject.namespace: Invalid value: "other": does not match event.namespace`],
    ],
    [
      "LimitRange",
      "a minimum above the maximum",
      { spec: { limits: [{ type: "Pod", min: { cpu: "2" }, max: { cpu: "1" } }] } },
      [`spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1`],
    ],
    [
      "ResourceQuota",
      "less than nothing",
      { spec: { hard: { pods: "-1" } } },
      [`spec.hard[pods]: Invalid value: "-1": must be greater than or equal to 0`],
    ],
    [
      "PersistentVolume",
      "no source",
      { spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"] } },
      ["spec: Required value: must specify a volume type"],
    ],
    [
      "PersistentVolumeClaim",
      "no size",
      { spec: { accessModes: ["ReadWriteOnce"] } },
      ["spec.resources[storage]: Required value"],
    ],
    [
      "Service",
      "ports that clash",
      service({
        ports: [
          { name: "a", port: 80, nodePort: 30000 },
          { name: "a", port: 80 },
        ],
      }),
      [
        'spec.ports[1].name: Duplicate value: "a"',
        "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
        "spec.ports[1]: Duplicate value: " +
          '{"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}',
      ],
    ],
    [
      "Service",
      "an alias with an address",
      service({ type: "ExternalName", clusterIP: "10.43.0.1" }),
      ["spec.clusterIPs: Forbidden: may not be set for ExternalName services", "spec.externalName: Required value"],
    ],
    [
      "Service",
      "settings of load balancers",
      service({ loadBalancerSourceRanges: ["10.0.0.0/8"], loadBalancerClass: "a/b", externalTrafficPolicy: "Local" }),
      [
        "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
        "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'",
        'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services',
      ],
    ],
    [
      "Service",
      "an address of this machine",
      service({ externalIPs: ["127.0.0.1", "0.0.0.0"] }),
      [
        'spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
        'spec.externalIPs[1]: Invalid value: "0.0.0.0": may not be unspecified (0.0.0.0)',
      ],
    ],
    [
      "PersistentVolumeClaim",
      "sources that differ",
      {
        spec: {
          accessModes: ["ReadWriteOnce"],
          resources: { requests: { storage: "1Gi" } },
          dataSource: { kind: "Other", name: "a" },
          dataSourceRef: { kind: "PersistentVolumeClaim", name: "b" },
        },
      },
      [
        `spec.dataSource: Invalid value: "Other": must be 'PersistentVolumeClaim' when referencing the ` +
          "default apiGroup",
        "spec: Invalid value: {}: must match dataSourceRef",
      ],
    ],
  ])("%s: %s", (name, _title, body, wanted) => {
    const resource = find(name)
    expect(lines(validateObject(resource, prepared(resource, body)))).toEqual(wanted)
  })
})
