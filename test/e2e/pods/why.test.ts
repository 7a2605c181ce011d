/** `k3ts why` about real containers: what containerd, the kernel and programs say, beside the table of `test/why`. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { Answer, State } from "../../../pkg/why/answer.ts"
import { BUSYBOX, describeOnNode, sh, startCluster, type Cluster, type ContainerSpec } from "../../harness/cluster.ts"
import { EXECUTABLE } from "../../harness/server.ts"
import { until } from "../../harness/until.ts"

const waits = (reason: RegExp) => (pod: Pod) =>
  [...(pod.status.initContainerStatuses ?? []), ...(pod.status.containerStatuses ?? [])].some(({ state }) =>
    reason.test(state?.waiting?.reason ?? ""),
  )
const crashes = waits(/CrashLoopBackOff/)

interface Real {
  readonly name: string
  readonly container: Partial<ContainerSpec>
  readonly until: (pod: Pod) => boolean
  readonly cause: string
  readonly says: RegExp
}

const REAL: readonly Real[] = [
  {
    name: "no-such-image",
    container: { image: "k3ts.local/busybx:1" },
    until: waits(/ImagePull/),
    cause: "registry-name-unknown",
    says: /k3ts\.local.* does not resolve on the node; perhaps k3ts\.local\/busybox:1 is meant/,
  },
  {
    name: "closed-registry",
    container: { image: "127.0.0.1:9/team/web:1" },
    until: waits(/ImagePull/),
    cause: "registry-unreachable",
    says: /cannot reach registry 127\.0\.0\.1:9/,
  },
  {
    name: "no-such-program",
    container: { command: ["/bin/serve"] },
    until: crashes,
    cause: "command-not-found",
    says: /the image has no program "\/bin\/serve"/,
  },
  {
    name: "no-program",
    container: { command: ["/etc/hostname"] },
    until: crashes,
    cause: "command-not-executable",
    says: /"\/etc\/hostname" may not be executed/,
  },
  {
    name: "no-folder",
    container: { workingDir: "/etc/hostname", command: ["true"] },
    until: crashes,
    cause: "working-directory",
    says: /its working directory \/etc\/hostname cannot be entered/,
  },
  {
    name: "too-much-memory",
    container: {
      command: sh("a=x; while true; do a=$a$a; done"),
      resources: { limits: { memory: "32Mi" } },
    },
    until: crashes,
    cause: "oom-killed",
    says: /more than its memory limit of 32Mi/,
  },
  {
    name: "unknown-name",
    container: { command: sh("wget -T 3 -q -O- http://kubernete.default/") },
    until: crashes,
    cause: "name-not-found",
    says: /no Service kubernete in namespace default, but one named kubernetes/,
  },
  {
    name: "read-only",
    container: { command: sh("echo x >/var/x"), securityContext: { readOnlyRootFilesystem: true } },
    until: crashes,
    cause: "read-only-file-system",
    says: /the file system is read-only/,
  },
  {
    name: "no-seccomp-profile",
    container: {
      command: ["sleep", "60"],
      securityContext: { seccompProfile: { type: "Localhost", localhostProfile: "profiles/none.json" } },
    },
    until: waits(/CreateContainerError|RunContainerError|CreateContainerConfigError/),
    cause: "security-profile-missing",
    says: /its node does not have the profile that it names: .*profiles\/none\.json/,
  },
]

describeOnNode("why", () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await startCluster()
    await Promise.all(
      REAL.map(({ name, container }) =>
        cluster.createPod(name, {
          terminationGracePeriodSeconds: 0,
          containers: [{ name: "c", image: BUSYBOX, ...container }],
        }),
      ),
    )
    // The Node names the images that it has at its next report.
    await until(
      cluster.client,
      Node,
      {},
      ({ status }) => (status.images ?? []).some(({ names }) => names?.includes(BUSYBOX) === true),
      60_000,
    )
  })
  afterAll(() => cluster?.[Symbol.asyncDispose]())

  describe("names the cause", () => {
    test.each([...REAL])("$cause of pod $name", async ({ name, until, cause, says }) => {
      // given a pod that has come as far as it will
      await cluster.pod(name, until)

      // when somebody asks why
      const { code, out } = await cluster.kubectlOf(EXECUTABLE).run(["why", `pod/${name}`, "-o", "json"])

      // then the cause comes first
      const { state, findings } = JSON.parse(out) as Answer & { readonly state: State }
      expect({ code, state, cause: findings[0]?.cause.code, message: findings[0]?.cause.message }).toEqual({
        code: 1,
        state: "unwell",
        cause,
        message: expect.stringMatching(says),
      })
    })
  })
})
