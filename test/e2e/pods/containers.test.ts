/** The resources, rights and names of containers, and what they write for the kubelet. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { existsSync } from "node:fs"
import { BUSYBOX, describeOnNode, sh, startCluster, stay, type Cluster } from "../../harness/cluster.ts"

const image = BUSYBOX

describeOnNode("containers", () => {
  let cluster: Cluster
  beforeAll(async () => void (cluster = await startCluster()))
  afterAll(() => cluster?.[Symbol.asyncDispose]())

  describe("resources and security", () => {
    test("requests and limits become the cgroup's values, and decide the QoS class", async () => {
      const v2 = existsSync("/sys/fs/cgroup/cgroup.controllers")
      const show = v2
        ? "cat /sys/fs/cgroup/memory.max; cat /sys/fs/cgroup/cpu.max; cat /sys/fs/cgroup/cpu.weight"
        : "cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/cpu/cpu.cfs_quota_us " +
          "/sys/fs/cgroup/cpu/cpu.shares"
      const out = await cluster.output("limited", {
        command: sh(show),
        resources: { requests: { cpu: "100m", memory: "16Mi" }, limits: { cpu: "500m", memory: "32Mi" } },
      })
      expect(out.trim().split("\n")).toEqual(
        v2 ? [String(32 * 1024 * 1024), "50000 100000", "4"] : [String(32 * 1024 * 1024), "50000", "102"],
      )
      expect((await cluster.pod("limited", () => true)).status.qosClass).toBe("Burstable")
      await cluster.createPod("guaranteed", {
        containers: [{ name: "c", image, command: sh("true"), resources: { limits: { cpu: "10m", memory: "16Mi" } } }],
      })
      expect((await cluster.pod("guaranteed", () => true)).status.qosClass).toBe("Guaranteed")
    })

    test("users, groups, capabilities, read-only roots and sysctls are those of the spec", async () => {
      const out = await cluster.output(
        "secured",
        {
          command: sh(
            "id -u; id -g; id -G; touch /x 2>&1; grep -E 'CapEff|NoNewPrivs|Seccomp:' /proc/self/status | tr " +
              "-s '\\t' ' '; ls -ln /data | tail -1 | tr -s ' ' | cut -d' ' -f4",
          ),
          securityContext: {
            runAsUser: 1000,
            runAsGroup: 2000,
            readOnlyRootFilesystem: true,
            allowPrivilegeEscalation: false,
            capabilities: { drop: ["ALL"] },
            seccompProfile: { type: "RuntimeDefault" },
          },
          volumeMounts: [{ name: "data", mountPath: "/data" }],
        },
        {
          securityContext: { supplementalGroups: [3000], fsGroup: 4000 },
          volumes: [
            { name: "data", downwardAPI: { items: [{ path: "name", fieldRef: { fieldPath: "metadata.name" } }] } },
          ],
        },
      )
      const [uid, gid, groups, touched, ...rest] = out.trim().split("\n")
      expect([uid, gid, touched]).toEqual(["1000", "2000", "touch: /x: Read-only file system"])
      expect(groups!.split(" ").sort()).toEqual(["2000", "3000", "4000"])
      expect(rest.slice(0, 3)).toEqual(["CapEff: 0000000000000000", "NoNewPrivs: 1", "Seccomp: 2"])
    })

    test("a pod that must not run as root is not started as root", async () => {
      await cluster.createPod("as-root", {
        containers: [{ name: "c", image, command: stay(), securityContext: { runAsNonRoot: true } }],
      })
      const waiting = await cluster.pod(
        "as-root",
        ({ status }) => status.containerStatuses?.[0]?.state.waiting?.reason === "CreateContainerConfigError",
      )
      expect(waiting.status.containerStatuses![0]!.state.waiting!.message).toContain(
        "container has runAsNonRoot and image will run as root",
      )
    })

    test("privileged containers, host namespaces, shared processes, host aliases and host names are those of the spec", async () => {
      const [host, shared, named] = await Promise.all([
        cluster.output(
          "host",
          {
            command: sh("ls /dev | wc -l; hostname; readlink /proc/self/ns/net"),
            securityContext: { privileged: true },
          },
          { hostNetwork: true, hostPID: true },
        ),
        cluster.output(
          "shared",
          {
            command: sh(
              "until pidof sleep >/dev/null; do :; done; ps | grep -c 'sleep [3]600'; kill -9 $(pidof sleep)",
            ),
          },
          {
            shareProcessNamespace: true,
            initContainers: [{ name: "s", image, restartPolicy: "Always", command: ["sleep", "3600"] }],
          },
        ),
        cluster.output(
          "named",
          { command: sh("hostname; hostname -f; grep extra /etc/hosts | tr -s '\\t' ' '") },
          { hostname: "custom", subdomain: "sub", hostAliases: [{ ip: "10.1.2.3", hostnames: ["extra.example"] }] },
        ),
      ])
      expect(Number(host.split("\n")[0])).toBeGreaterThan(15)
      expect(shared.trim()).toBe("1")
      expect(named.trim().split("\n")).toEqual([
        "custom",
        "custom.sub.default.svc.cluster.local",
        "10.1.2.3 extra.example",
      ])
    })
  })

  describe("what containers write for the kubelet", () => {
    const shared = [{ name: "shared", emptyDir: {} }]
    const volumeMounts = [{ name: "shared", mountPath: "/shared" }]
    const fromFile = (key: string) => [
      { name: "A", valueFrom: { fileKeyRef: { volumeName: "shared", path: "file", key } } },
    ]

    test("can be a file of environment variables, and a file of 1 GB costs nothing", async () => {
      // given one init container that writes variables, and one that writes a large sparse file
      const before = cluster.server.residentMb()
      await Promise.all([
        cluster.createPod("variables", {
          restartPolicy: "Never",
          volumes: shared,
          initContainers: [{ name: "i", image, volumeMounts, command: sh("echo \"A='from a file'\" > /shared/file") }],
          containers: [{ name: "c", image, volumeMounts, env: fromFile("A"), command: sh('[ "$A" = "from a file" ]') }],
        }),
        cluster.createPod("sparse", {
          volumes: shared,
          initContainers: [{ name: "i", image, volumeMounts, command: sh("truncate -s 1G /shared/file") }],
          containers: [{ name: "c", image, volumeMounts, env: fromFile("A"), command: stay() }],
        }),
      ])
      // then
      await cluster.pod("variables", ({ status }) => status.phase === "Succeeded")
      const { status } = await cluster.pod(
        "sparse",
        (pod) => pod.status.containerStatuses?.[0]?.state.waiting?.reason === "CreateContainerConfigError",
      )
      expect(status.containerStatuses![0]!.state.waiting!.message).toBe("couldn't parse env file")
      expect(cluster.server.residentMb() - before).toBeLessThan(150)
    })

    test("can be a termination message, and a pipe in place of its file blocks nothing", async () => {
      // given containers whose termination message file is a pipe, more of them than the kubelet has threads for
      // reading
      const names = Array.from({ length: 6 }, (_, i) => `pipe-${i}`)
      await Promise.all(
        names.map((name) =>
          cluster.createPod(name, {
            restartPolicy: "Never",
            volumes: shared,
            initContainers: [{ name: "i", image, volumeMounts, command: sh("mkfifo /shared/pipe") }],
            containers: [
              {
                name: "c",
                image,
                command: sh("exit 3"),
                volumeMounts: [{ name: "shared", mountPath: "/dev/termination-log", subPath: "pipe" }],
              },
            ],
          }),
        ),
      )
      // then each is reported as ended, and the node goes on
      for (const name of names) {
        const { status } = await cluster.pod(name, (pod) => pod.status.phase === "Failed")
        expect(status.containerStatuses![0]!.state.terminated).toMatchObject({ exitCode: 3, reason: "Error" })
      }
      await cluster.runPod("after-pipes", { containers: [{ name: "c", image, command: stay() }] })
    })
  })

  test("of two pods with the same host port that are bound to the node, one runs and the other is rejected with the reason", async () => {
    const { nodeName } = (await cluster.pod("after-pipes")).spec
    const spec = {
      nodeName,
      containers: [{ name: "c", image, command: stay(), ports: [{ containerPort: 80, hostPort: 18_080 }] }],
    }
    await cluster.runPod("port-first", spec)
    await cluster.createPod("port-second", spec)
    const { status } = await cluster.pod("port-second", (pod) => pod.status.phase === "Failed")
    expect(status).toMatchObject({ reason: "NodePorts", observedGeneration: 1 })
    expect(status.message).toStartWith("Pod was rejected: Predicate NodePorts failed")
  })
})
