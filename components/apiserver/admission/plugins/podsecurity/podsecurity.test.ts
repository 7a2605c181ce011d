import { describe, expect, test } from "bun:test"
import { Deployment } from "../../../../../pkg/api/apps/v1/deployment.ts"
import { Namespace } from "../../../../../pkg/api/core/v1/namespace.ts"
import { Pod } from "../../../../../pkg/api/core/v1/pod/pod.ts"
import { decodeObject } from "../../../../../pkg/apimachinery/decoding/decode.ts"
import type { KubeObject, Resource } from "../../../../../pkg/apimachinery/resource.ts"
import { chainOf, type AdmissionAttributes } from "../../admission.ts"
import type { AdmissionContext } from "../../context.ts"
import { podSecurity } from "./podsecurity.ts"

const PREFIX = "pod-security.kubernetes.io/"
type Labels = Readonly<Record<string, string>>
const labelled = (labels: Labels): KubeObject => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: {
    name: "team",
    labels: Object.fromEntries(Object.entries(labels).map(([key, value]) => [PREFIX + key, value])),
  },
})
const pod = (spec: object = {}, metadata: object = {}): KubeObject =>
  decodeObject(Pod, {
    metadata: { name: "a", namespace: "team", ...metadata },
    spec: { containers: [{ name: "c", image: "i" }], ...spec },
  }).object
const deployment = (spec: object): KubeObject =>
  decodeObject(Deployment, { metadata: { name: "d" }, spec: { selector: {}, template: pod(spec) } }).object

/**
 * Sends a request to the plugin in a namespace with these labels, and returns the plugin's refusal, warnings and
 * annotations.
 */
function asked(
  labels: Labels,
  resource: unknown,
  object: KubeObject,
  more: Partial<AdmissionAttributes> & { readonly pods?: readonly KubeObject[] } = {},
) {
  const warnings: string[] = []
  const annotations: Record<string, string> = {}
  const { pods = [], ...attributes } = more
  const context = { objects: { get: () => labelled(labels), list: () => pods } } as unknown as AdmissionContext
  const plugin = chainOf(podSecurity(context))
  let refusal = ""
  try {
    void plugin.validate({
      operation: "CREATE",
      resource: resource as Resource,
      subresource: undefined,
      namespace: "team",
      name: object.metadata.name!,
      user: { name: "u", groups: [] },
      options: {},
      old: undefined,
      object,
      warn: (text) => void warnings.push(text),
      annotate: (key, value) => void (annotations[key.slice(PREFIX.length)] = value),
      ...attributes,
    })
  } catch (err) {
    refusal = (err as Error).message
  }
  return { refusal, warnings, annotations }
}

const PRIVILEGED = { containers: [{ name: "c", image: "i", securityContext: { privileged: true } }] }
const PRIVILEGED_TEXT = 'privileged (container "c" must not set securityContext.privileged=true)'

describe("a pod", () => {
  test("is refused by the enforced level, annotated by the audited level, and warned about by the warn level", () => {
    expect(asked({ enforce: "baseline" }, Pod, pod(PRIVILEGED))).toEqual({
      refusal: `pods "a" is forbidden: violates PodSecurity "baseline:latest": ${PRIVILEGED_TEXT}`,
      warnings: [],
      annotations: { "enforce-policy": "baseline:latest" },
    })
    expect(asked({ audit: "baseline", warn: "baseline", "warn-version": "v1.25" }, Pod, pod(PRIVILEGED))).toEqual({
      refusal: "",
      warnings: [`would violate PodSecurity "baseline:v1.25": ${PRIVILEGED_TEXT}`],
      annotations: {
        "enforce-policy": "privileged:latest",
        "audit-violations": `would violate PodSecurity "baseline:latest": ${PRIVILEGED_TEXT}`,
      },
    })
    expect(asked({}, Pod, pod(PRIVILEGED))).toEqual({
      refusal: "",
      warnings: [],
      annotations: { "enforce-policy": "privileged:latest" },
    })
  })

  test("of a namespace with an unknown level must meet the restricted level, and the audit log says why", () => {
    const { refusal, annotations } = asked({ enforce: "strict" }, Pod, pod(PRIVILEGED))
    expect(refusal).toContain('violates PodSecurity "restricted:latest"')
    expect(annotations["error"]).toBe(
      'Failed to parse policy: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "strict": ' +
        "must be one of privileged, baseline, restricted",
    )
    expect(asked({ audit: "strict", warn: "strict" }, Pod, pod(PRIVILEGED))).toMatchObject({
      refusal: "",
      warnings: [],
    })
  })

  test("that violates its level can be updated as long as its containers stay the same", () => {
    const old = pod(PRIVILEGED)
    const change = (object: KubeObject) =>
      asked({ enforce: "baseline" }, Pod, object, { operation: "UPDATE", old }).refusal
    expect(change(pod({ ...PRIVILEGED, activeDeadlineSeconds: 5 }, { labels: { a: "b" } }))).toBe("")
    expect(change(pod({ containers: [{ ...PRIVILEGED.containers[0], image: "j" }] }))).toContain("violates PodSecurity")
    expect(
      asked(
        { enforce: "baseline" },
        Pod,
        pod({ ...PRIVILEGED, ephemeralContainers: [{ name: "debug", image: "i" }] }),
        { operation: "UPDATE", old, subresource: "ephemeralcontainers" },
      ).refusal,
    ).toContain("violates PodSecurity")
    expect(asked({ enforce: "restricted" }, Pod, old, { subresource: "binding" })).toEqual({
      refusal: "",
      warnings: [],
      annotations: {},
    })
  })
})

describe("a workload", () => {
  test("is never refused; annotations and warnings say why its pods will be refused", () => {
    const expected = `would violate PodSecurity "baseline:latest": ${PRIVILEGED_TEXT}`
    expect(asked({ enforce: "baseline", audit: "baseline" }, Deployment, deployment(PRIVILEGED))).toEqual({
      refusal: "",
      warnings: [expected],
      annotations: { "audit-violations": expected },
    })
    expect(asked({ enforce: "baseline", warn: "privileged" }, Deployment, deployment(PRIVILEGED))).toEqual({
      refusal: "",
      warnings: [],
      annotations: {},
    })
  })
})

describe("a namespace", () => {
  test("cannot get labels with unknown levels, but keeps those that it has", () => {
    const change = (labels: Labels, old?: Labels) =>
      asked({}, Namespace, labelled(labels), {
        name: "team",
        ...(old === undefined ? {} : { operation: "UPDATE", old: labelled(old) }),
      }).refusal
    const text =
      'Namespace "team" is invalid: metadata.labels[pod-security.kubernetes.io/warn-version]: Invalid value: ' +
      '"1.25": must be "latest" or "v1.x"'
    expect([
      change({ "warn-version": "1.25" }),
      change({ "warn-version": "1.25" }, {}),
      change({ "warn-version": "1.25" }, { "warn-version": "1.25" }),
    ]).toEqual([text, text, ""])
  })

  test("that gets a stricter level causes warnings about its pods that violate the level", () => {
    const named = (name: string, spec: object, uid?: string) =>
      pod(spec, {
        name,
        ...(uid === undefined
          ? {}
          : { ownerReferences: [{ apiVersion: "v1", kind: "ReplicaSet", name: "r", uid, controller: true }] }),
      })
    const pods = [
      named("b", PRIVILEGED, "1"),
      named("a", PRIVILEGED, "1"),
      named("c", { hostNetwork: true }),
      named("d", {}),
    ]
    const warnings = (labels: Labels, old: Labels) =>
      asked({}, Namespace, labelled(labels), { name: "team", operation: "UPDATE", old: labelled(old), pods }).warnings
    expect(warnings({ enforce: "baseline" }, {})).toEqual([
      'existing pods in namespace "team" violate the new PodSecurity enforce level "baseline:latest"',
      "a (and 1 other pod): privileged",
      "c: host namespaces",
    ])
    expect(warnings({ enforce: "baseline" }, { enforce: "restricted" })).toEqual([])
  })
})

describe("the standards", () => {
  const found = (spec: object, standard: Labels, metadata: object = {}) =>
    asked(standard, Pod, pod(spec, metadata)).refusal.split(": ").slice(2).join(": ")
  const container = (more: object, name = "c") => ({ name, image: "i", ...more })
  const hardened = {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ["ALL"] },
    runAsNonRoot: true,
    seccompProfile: { type: "RuntimeDefault" },
  }

  test.each<[string, object, string]>([
    ["host namespaces", { hostNetwork: true, hostPID: true }, "host namespaces (hostNetwork=true, hostPID=true)"],
    [
      "capabilities",
      { containers: [container({ securityContext: { capabilities: { add: ["SYS_TIME", "CHOWN", "NET_ADMIN"] } } })] },
      'non-default capabilities (container "c" must not include "NET_ADMIN", "SYS_TIME" in ' +
        "securityContext.capabilities.add)",
    ],
    [
      "host paths",
      {
        volumes: [
          { name: "v", hostPath: { path: "/" } },
          { name: "w", hostPath: { path: "/" } },
        ],
      },
      'hostPath volumes (volumes "v", "w")',
    ],
    [
      "host ports",
      {
        containers: [
          container({ ports: [{ containerPort: 80, hostPort: 80 }] }),
          container({ ports: [{ containerPort: 80, hostPort: 443 }] }, "d"),
        ],
      },
      'hostPort (containers "c", "d" use hostPorts 443, 80)',
    ],
    [
      "hosts of probes",
      { containers: [container({ livenessProbe: { httpGet: { port: 80, host: "10.0.0.1" } } })] },
      'probe or lifecycle host (container "c" uses probe or lifecycle host "10.0.0.1")',
    ],
    [
      "SELinux",
      { securityContext: { seLinuxOptions: { type: "spc_t", user: "u" } } },
      'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "spc_t"; user may not be set)',
    ],
    [
      "AppArmor",
      { containers: [container({ securityContext: { appArmorProfile: { type: "Unconfined" } } })] },
      'forbidden AppArmor profile (container "c" must not set AppArmor profile type to "Unconfined")',
    ],
    [
      "seccomp",
      { securityContext: { seccompProfile: { type: "Unconfined" } } },
      'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
    ],
    [
      "sysctls",
      {
        securityContext: {
          sysctls: [
            { name: "kernel.msgmax", value: "1" },
            { name: "net.ipv4.tcp_rmem", value: "1" },
          ],
        },
      },
      "forbidden sysctls (kernel.msgmax)",
    ],
    [
      "procMount",
      { containers: [container({ securityContext: { procMount: "Unmasked" } })] },
      'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
    ],
  ])("baseline: %s", (_title, spec, text) => expect(found(spec, { enforce: "baseline" })).toBe(text))

  test.each<[string, object, string]>([
    ["a hardened pod", { containers: [container({ securityContext: hardened })] }, ""],
    [
      "a container without restrictions",
      {},
      'allowPrivilegeEscalation != false (container "c" must set ' +
        'securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "c" must set ' +
        'securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "c" must set ' +
        'securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must set ' +
        'securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
    ],
    [
      "root",
      {
        securityContext: { runAsUser: 0, runAsNonRoot: false },
        containers: [container({ securityContext: hardened })],
      },
      "runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false), runAsUser=0 (pod must not " +
        "set runAsUser=0)",
    ],
    [
      "root in a user namespace",
      {
        hostUsers: false,
        securityContext: { runAsUser: 0, runAsNonRoot: false },
        containers: [container({ securityContext: hardened })],
      },
      "",
    ],
    [
      "volumes",
      {
        containers: [container({ securityContext: hardened })],
        volumes: [
          { name: "n", nfs: { server: "s", path: "/" } },
          { name: "e", emptyDir: {} },
          { name: "h", hostPath: { path: "/" } },
        ],
      },
      'restricted volume types (volumes "n", "h" use restricted volume types "hostPath", "nfs")',
    ],
    [
      "capabilities",
      {
        containers: [
          container({
            securityContext: { ...hardened, capabilities: { drop: ["ALL"], add: ["CHOWN", "NET_BIND_SERVICE"] } },
          }),
        ],
      },
      'unrestricted capabilities (container "c" must not include "CHOWN" in securityContext.capabilities.add)',
    ],
  ])("restricted: %s", (_title, spec, text) => expect(found(spec, { enforce: "restricted" })).toBe(text))

  test("are applied in the version that the namespace names", () => {
    const probed = { containers: [container({ livenessProbe: { tcpSocket: { port: 80, host: "h" } } })] }
    expect([
      found(probed, { enforce: "baseline", "enforce-version": "v1.33" }),
      found(probed, { enforce: "baseline", "enforce-version": "v1.99" }) !== "",
    ]).toEqual(["", true])
    const sysctl = { securityContext: { sysctls: [{ name: "net.ipv4.tcp_keepalive_time", value: "1" }] } }
    expect([
      found(sysctl, { enforce: "baseline", "enforce-version": "v1.28" }) !== "",
      found(sysctl, { enforce: "baseline", "enforce-version": "v1.29" }),
    ]).toEqual([true, ""])
    expect(
      found(
        {},
        { enforce: "baseline", "enforce-version": "v1.18" },
        { annotations: { "seccomp.security.alpha.kubernetes.io/pod": "unconfined" } },
      ),
    ).toBe('seccompProfile (forbidden annotation seccomp.security.alpha.kubernetes.io/pod="unconfined")')
    expect(found({ os: { name: "windows" } }, { enforce: "restricted", "enforce-version": "v1.24" })).toContain(
      "allowPrivilegeEscalation",
    )
  })
})
