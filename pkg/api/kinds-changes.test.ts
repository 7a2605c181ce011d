import { describe, expect, test } from "bun:test"
import { validateObjectUpdate } from "../apimachinery/validation/validate.ts"
import { context, type Json, find, decode, prepared, lines, service } from "./kinds.fixtures.ts"

const META = { resourceVersion: "1", uid: "u" }

describe("changing", () => {
  test.each<[string, string, Json, Json, string[]]>([
    [
      "ConfigMap",
      "what is immutable",
      { immutable: true, data: { a: "1" } },
      { immutable: true, data: { a: "2" } },
      ["data: Forbidden: field is immutable when `immutable` is set"],
    ],
    ["Secret", "the type", { type: "a" }, { type: "b" }, [`type: Invalid value: "b": field is immutable`]],
    [
      "Service",
      "the address",
      service({ clusterIP: "10.43.0.1", clusterIPs: ["10.43.0.1"] }),
      service({ clusterIP: "10.43.0.2", clusterIPs: ["10.43.0.2"] }),
      [`spec.clusterIPs[0]: Invalid value: ["10.43.0.2"]: may not change once set`],
    ],
    [
      "Service",
      "nothing, by a client that leaves the address out",
      service({ clusterIP: "10.43.0.1", clusterIPs: ["10.43.0.1"] }),
      service({}),
      [],
    ],
    [
      "Service",
      "nothing but the type, to one inside the cluster",
      service({
        type: "NodePort",
        clusterIP: "10.43.0.1",
        clusterIPs: ["10.43.0.1"],
        ports: [{ port: 80, nodePort: 30000 }],
      }),
      service({
        externalTrafficPolicy: "Cluster",
        clusterIP: "10.43.0.1",
        clusterIPs: ["10.43.0.1"],
        ports: [{ port: 80, nodePort: 30000 }],
      }),
      [],
    ],
    [
      "Service",
      "nothing but the type, to an alias",
      service({ clusterIP: "10.43.0.1", clusterIPs: ["10.43.0.1"] }),
      service({
        type: "ExternalName",
        externalName: "example.com",
        internalTrafficPolicy: "Cluster",
        clusterIP: "10.43.0.1",
        clusterIPs: ["10.43.0.1"],
      }),
      [],
    ],
    [
      "EndpointSlice discovery.k8s.io/v1",
      "the type of addresses",
      { addressType: "IPv4" },
      { addressType: "IPv6" },
      [`addressType: Invalid value: "IPv6": field is immutable`],
    ],
    [
      "RoleBinding rbac.authorization.k8s.io/v1",
      "the role",
      { roleRef: { kind: "Role", name: "a" } },
      { roleRef: { kind: "Role", name: "b" } },
      [
        `roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"b"}: cannot ` +
          "change roleRef",
      ],
    ],
    [
      "PriorityClass scheduling.k8s.io/v1",
      "the value",
      { value: 1 },
      { value: 2 },
      ["value: Forbidden: may not be changed in an update."],
    ],
    [
      "StorageClass storage.k8s.io/v1",
      "the provisioner",
      { provisioner: "a" },
      { provisioner: "b" },
      ['provisioner: Invalid value: "b": field is immutable'],
    ],
    [
      "PersistentVolumeClaim",
      "the size, below that of the volume",
      {
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "3Gi" } } },
        status: { phase: "Bound", capacity: { storage: "2Gi" } },
      },
      {
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
        status: { phase: "Bound", capacity: { storage: "2Gi" } },
      },
      ["spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"],
    ],
    [
      "Node",
      "the range of pods",
      { spec: { podCIDR: "10.42.0.0/24" } },
      { spec: { podCIDR: "10.42.1.0/24" } },
      [`spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid`],
    ],
    [
      "PersistentVolumeClaim",
      "the class",
      { spec: { accessModes: ["ReadWriteOnce"], storageClassName: "a", resources: { requests: { storage: "1Gi" } } } },
      { spec: { accessModes: ["ReadWriteOnce"], storageClassName: "b", resources: { requests: { storage: "1Gi" } } } },
      [
        "spec: Forbidden: spec is immutable after creation except resources.requests and " +
          "volumeAttributesClassName for bound claims\n" +
          '@@ -10,7 +10,7 @@\n   }\n  },\n  "VolumeName": "",\n- "StorageClassName": "a",\n+ "StorageClassName": "b",\n' +
          '  "VolumeMode": "Filesystem",\n  "DataSource": null,\n  "DataSourceRef": null,\n',
      ],
    ],
  ])("%s: %s", (name, _title, before, after, wanted) => {
    const resource = find(name)
    const old = decode(resource, before, META)
    const obj = decode(resource, after, META)
    expect(lines(validateObjectUpdate(resource, resource.prepareForUpdate?.(obj, old, context) ?? obj, old))).toEqual(
      wanted,
    )
  })
})

describe("defaults", () => {
  test.each<[string, string, Json, Json]>([
    [
      "Service",
      "a target port is the port, and traffic goes anywhere",
      service({ type: "NodePort" }),
      {
        spec: {
          type: "NodePort",
          sessionAffinity: "None",
          externalTrafficPolicy: "Cluster",
          internalTrafficPolicy: "Cluster",
          ports: [{ port: 80, protocol: "TCP", targetPort: 80 }],
        },
      },
    ],
    [
      "Service",
      "affinity lasts three hours",
      service({ sessionAffinity: "ClientIP" }),
      { spec: { sessionAffinityConfig: { clientIP: { timeoutSeconds: 10800 } } } },
    ],
    [
      "Secret",
      "text becomes bytes",
      { stringData: { a: "x" }, data: { a: "AA==", b: "AA==" } },
      { type: "Opaque", data: { a: "eA==", b: "AA==" } },
    ],
    [
      "Namespace",
      "it is active, has its name as a label, and its controller's finalizer",
      {},
      {
        metadata: { labels: { "kubernetes.io/metadata.name": "a" } },
        spec: { finalizers: ["kubernetes"] },
        status: { phase: "Active" },
      },
    ],
    [
      "NetworkPolicy networking.k8s.io/v1",
      "rules for outgoing traffic restrict it",
      { spec: { egress: [{}] } },
      { spec: { policyTypes: ["Ingress", "Egress"] } },
    ],
    [
      "RoleBinding rbac.authorization.k8s.io/v1",
      "users are in the group of RBAC",
      { roleRef: { kind: "Role", name: "a" }, subjects: [{ kind: "User", name: "u" }] },
      { subjects: [{ apiGroup: "rbac.authorization.k8s.io" }], roleRef: { apiGroup: "rbac.authorization.k8s.io" } },
    ],
    [
      "LimitRange",
      "the limit of a container is the maximum, and so is its request",
      { spec: { limits: [{ type: "Container", max: { cpu: "1" } }] } },
      { spec: { limits: [{ default: { cpu: "1" }, defaultRequest: { cpu: "1" } }] } },
    ],
  ])("%s: %s", (name, _title, body, wanted) => {
    expect(prepared(find(name), body)).toMatchObject(wanted)
  })
})

describe("events.k8s.io", () => {
  test("converts an event to the other group and back without a loss", () => {
    // given an event as the newer group has it
    const resource = find("Event events.k8s.io/v1")
    const event = prepared(resource, {
      eventTime: "2026-01-02T03:04:05.000006Z",
      reportingController: "x.io/c",
      reportingInstance: "c-1",
      action: "Bind",
      reason: "Bound",
      note: "bound",
      type: "Normal",
      regarding: { kind: "Pod", name: "p", namespace: "default" },
    })

    // when it is stored and read again
    const stored = resource.storedAs!.toStored(event)

    // then it is a core event with the same contents
    expect(stored).toMatchObject({
      apiVersion: "v1",
      kind: "Event",
      involvedObject: { name: "p" },
      message: "bound",
      reportingComponent: "x.io/c",
    })
    expect(resource.storedAs!.fromStored(stored)).toEqual(event)
  })
})
