import { describe, expect, test } from "bun:test"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { containerSecurity, namespaceOptions, sandboxSecurity, verifyRunAsNonRoot } from "./security-context.ts"
import { podOf } from "../testing/pod.ts"

type Spec = Parameters<typeof podOf>[0]
type Own = NonNullable<NonNullable<NonNullable<Spec["containers"]>[number]>["securityContext"]>
const pod = (own: Own, shared: Spec["securityContext"] = {}): Pod =>
  podOf({ securityContext: shared, containers: [{ name: "c", image: "i", securityContext: own }] })
const image = { uid: undefined, username: "" }
const security = (of: Pod, more: { uid?: { value: number }; username?: string } = {}) =>
  containerSecurity({
    pod: of,
    container: of.spec.containers[0]!,
    image: { ...image, ...more },
    seccompFolder: "/seccomp",
  })

describe("a container's security context for the runtime", () => {
  test("takes the container's settings before the pod's", () => {
    expect(
      security(pod({ runAsUser: 5 }, { runAsUser: 1, runAsGroup: 2, supplementalGroups: [7], fsGroup: 9 })),
    ).toMatchObject({ runAsUser: { value: 5 }, runAsGroup: { value: 2 }, supplementalGroups: [9, 7] })
  })

  test("names the image's user when the pod sets none", () => {
    expect(security(pod({}), { uid: { value: 33 } })).toMatchObject({ runAsUser: { value: 33 } })
    expect(security(pod({}), { username: "www" })).toMatchObject({ runAsUsername: "www" })
    expect(security(pod({ runAsUser: 1 }), { username: "www" })).not.toHaveProperty("runAsUsername")
  })

  test("confines system calls of containers without a profile where the kubelet is told so", () => {
    const profileOf = (of: Pod) =>
      containerSecurity({
        pod: of,
        container: of.spec.containers[0]!,
        image,
        seccompFolder: "/seccomp",
        seccompDefault: true,
      }).seccomp?.profileType
    expect(profileOf(pod({}))).toBe("RuntimeDefault")
    expect(profileOf(pod({ seccompProfile: { type: "Unconfined" } }))).toBe("Unconfined")
    expect(profileOf(pod({ privileged: true }))).toBe("Unconfined")
  })

  test("confines containers by default, except privileged ones", () => {
    const usual = security(pod({}))
    expect(usual).toMatchObject({
      privileged: false,
      noNewPrivs: false,
      readonlyRootfs: false,
      seccomp: { profileType: "Unconfined" },
    })
    expect(usual.maskedPaths).toContain("/proc/kcore")
    expect(usual.readonlyPaths).toContain("/proc/sys")
    expect(security(pod({ privileged: true }))).toMatchObject({ privileged: true, maskedPaths: [], readonlyPaths: [] })
    expect(security(pod({ procMount: "Unmasked" }))).toMatchObject({ maskedPaths: [], readonlyPaths: [] })
  })

  test("maps capabilities, escalation, seccomp and AppArmor", () => {
    expect(
      security(
        pod({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { add: ["NET_ADMIN"], drop: ["ALL"] },
          seccompProfile: { type: "Localhost", localhostProfile: "p.json" },
          appArmorProfile: { type: "Localhost", localhostProfile: "mine" },
        }),
      ),
    ).toMatchObject({
      noNewPrivs: true,
      readonlyRootfs: true,
      capabilities: { addCapabilities: ["NET_ADMIN"], dropCapabilities: ["ALL"] },
      seccomp: { profileType: "Localhost", localhostRef: "/seccomp/p.json" },
      seccompProfilePath: "localhost//seccomp/p.json",
      apparmor: { profileType: "Localhost", localhostRef: "mine" },
      apparmorProfile: "localhost/mine",
    })
    expect(security(pod({}, { seccompProfile: { type: "RuntimeDefault" } }))).toMatchObject({
      seccomp: { profileType: "RuntimeDefault" },
      seccompProfilePath: "runtime/default",
    })
  })

  test.each([
    [{}, { network: "POD", ipc: "POD", pid: "CONTAINER" }],
    [
      { hostNetwork: true, hostPID: true, hostIPC: true },
      { network: "NODE", ipc: "NODE", pid: "NODE" },
    ],
    [{ shareProcessNamespace: true }, { network: "POD", ipc: "POD", pid: "POD" }],
  ] as const)("shares namespaces as %j says", (spec, options) => {
    expect(namespaceOptions(podOf(spec))).toEqual(options)
  })

  test("makes the sandbox privileged for a container of any type", () => {
    const securityContext = { privileged: true }
    const of = (spec: Spec) => sandboxSecurity(podOf(spec)).privileged
    expect(of({})).toBe(false)
    expect(of({ containers: [{ name: "c", image: "i", securityContext }] })).toBe(true)
    expect(of({ initContainers: [{ name: "i", image: "i", securityContext }] })).toBe(true)
    expect(of({ ephemeralContainers: [{ name: "e", image: "i", securityContext }] })).toBe(true)
  })

  test("lets an ephemeral container see the processes of its target", () => {
    expect(namespaceOptions(podOf({}), { target: "id" })).toMatchObject({ pid: "TARGET", targetId: "id" })
  })

  test.each([
    [{ runAsNonRoot: true, runAsUser: 0 }, image, "container's runAsUser breaks non-root policy"],
    [{ runAsNonRoot: true }, { ...image, uid: { value: 0 } }, "container has runAsNonRoot and image will run as root"],
    [
      { runAsNonRoot: true },
      { ...image, username: "www" },
      "container has runAsNonRoot and image has non-numeric user (www), cannot verify user is non-root",
    ],
    [{ runAsNonRoot: true }, { ...image, uid: { value: 5 } }, undefined],
    [{ runAsNonRoot: true, runAsUser: 5 }, image, undefined],
    [{ runAsUser: 0 }, image, undefined],
  ] as const)("checks %j against an image with user %j", (own, of, problem) => {
    const checked = pod(own)
    const verify = () => verifyRunAsNonRoot(checked, checked.spec.containers[0]!, of)
    if (problem === undefined) verify()
    else expect(verify).toThrow(problem)
  })
})
