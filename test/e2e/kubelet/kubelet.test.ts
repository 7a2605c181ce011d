import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { isPodReady } from "../../../pkg/pods/pod-state.ts"
import { ownTime } from "../../harness/own-time.ts"
import {
  IMAGE,
  kubeletOnContainerd,
  MISSING,
  sh,
  WEB_SERVER,
  type KubeletOnContainerd,
} from "./kubelet-on-containerd.ts"

describe.skipIf(MISSING.length > 0)("the kubelet on containerd", () => {
  let node: KubeletOnContainerd
  beforeAll(async () => {
    node = await kubeletOnContainerd()
  }, 60_000)
  afterAll(async () => expect(await node.stop()).toEqual({ mounts: [], failures: [] }), 60_000)

  test("registers the node as ready", async () => {
    const registered = await node.cluster.get(Node, "node-0")
    expect(registered.status.conditions?.map(({ type, status }) => `${type}=${status}`)).toEqual([
      "MemoryPressure=False",
      "DiskPressure=False",
      "PIDPressure=False",
      "Ready=True",
    ])
    expect(registered.status.nodeInfo.containerRuntimeVersion).toStartWith("containerd://")
  })

  test("limits the processes of each pod, and of all pods together", async () => {
    // when a pod runs
    await node.create("pids", {
      containers: [{ name: "c", image: IMAGE, command: sh("exec sleep 1000") }],
      terminationGracePeriodSeconds: 0,
    })
    const { metadata } = await node.pod("pids", isPodReady)
    // then its cgroup and that of all pods have limits, which leave something to the node
    const root = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"].find((folder) => existsSync(join(folder, "kubepods")))!
    const limitOf = (path: string) => Number(readFileSync(join(root, "kubepods", path, "pids.max"), "utf8"))
    expect(limitOf(`besteffort/pod${metadata.uid}`)).toBeWithin(1024, 16_385)
    expect(limitOf("")).toBeLessThan(Number(readFileSync("/proc/sys/kernel/threads-max", "utf8")))
    await node.cluster.client.delete(Pod, { name: "pids", namespace: "default" })
    await node.gone("pids")
  })

  test("runs a pod, reports it ready, and removes it when it is deleted", async () => {
    // when a pod with a web server is bound to this node
    await node.create("web", {
      containers: [
        {
          name: "web",
          image: IMAGE,
          command: WEB_SERVER,
          readinessProbe: { httpGet: { port: 8080 } },
        },
      ],
    })
    const ready = await node.pod("web", isPodReady)
    // then its status has addresses and ids
    expect(ready.status.phase).toBe("Running")
    expect(ready.status.podIP).toStartWith(`10.198.${node.unique}.`)
    expect(ready.status.containerStatuses![0]).toMatchObject({
      ready: true,
      started: true,
      restartCount: 0,
      image: IMAGE,
    })
    // when it is deleted
    await node.cluster.client.delete(Pod, { name: "web", namespace: "default" })
    await node.gone("web")
    // then it has ended gracefully
    expect(await node.events("web")).toEqual(expect.arrayContaining(["Pulled", "Created", "Started", "Killing"]))
  }, 30_000)

  test("runs init containers in order with a sidecar beside them, and restarts failing containers with a backoff", async () => {
    await node.create("order", {
      volumes: [{ name: "shared", emptyDir: {} }],
      initContainers: [
        {
          name: "first",
          image: IMAGE,
          command: sh("echo first >> /shared/log"),
          volumeMounts: [{ name: "shared", mountPath: "/shared" }],
        },
        {
          name: "side",
          image: IMAGE,
          restartPolicy: "Always",
          command: sh("echo side >> /shared/log; trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done"),
          volumeMounts: [{ name: "shared", mountPath: "/shared" }],
          startupProbe: { exec: { command: ["cat", "/shared/log"] } },
        },
        {
          name: "second",
          image: IMAGE,
          command: sh("echo second >> /shared/log"),
          volumeMounts: [{ name: "shared", mountPath: "/shared" }],
        },
      ],
      containers: [
        {
          name: "main",
          image: IMAGE,
          command: sh("cat /shared/log > /dev/termination-log; exit 3"),
          volumeMounts: [{ name: "shared", mountPath: "/shared" }],
        },
      ],
    })
    const waiting = await node.pod(
      "order",
      ({ status }) => status.containerStatuses?.[0]?.state.waiting?.reason === "CrashLoopBackOff",
    )
    expect(waiting.status.containerStatuses![0]).toMatchObject({
      restartCount: 1,
      lastState: { terminated: { exitCode: 3, reason: "Error", message: "first\nside\nsecond\n" } },
    })
    expect(waiting.status.initContainerStatuses!.map(({ ready, started }) => [ready, started])).toEqual([
      [true, false],
      [true, true],
      [true, false],
    ])
    await node.cluster.client.delete(Pod, { name: "order", namespace: "default" })
    await node.gone("order")
  }, 30_000)

  test("adopts running pods after a restart, and ends those that were deleted while it was down", async () => {
    // given two pods
    const loop = sh("trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done")
    await Promise.all([
      node.create("stays", { containers: [{ name: "c", image: IMAGE, command: loop }] }),
      node.create("goes", { containers: [{ name: "c", image: IMAGE, command: loop }] }),
    ])
    const before = await node.pod("stays", isPodReady)
    await node.pod("goes", isPodReady)
    // and the links by which collectors find their logs
    const links = join(node.folder, "containers")
    const [link] = readdirSync(links).filter((name) => name.startsWith("stays_"))
    expect(link).toBe(`stays_default_c-${before.status.containerStatuses![0]!.containerID!.split("//")[1]}.log`)
    expect(readlinkSync(join(links, link!))).toBe(
      join(node.folder, `pods/default_stays_${before.metadata.uid}/c/0.log`),
    )
    // when the kubelet stops, one pod is deleted, a link is lost, one of a lost log left, and the kubelet starts again
    const time = ownTime(process.pid)
    await node.stopKubelet()
    expect(time.read()).toBeLessThan(1000)
    rmSync(join(links, link!))
    symlinkSync(join(node.folder, "pods/default_old_u1/c/0.log"), join(links, "old_default_c-1.log"))
    await node.cluster.client.delete(Pod, { name: "goes", namespace: "default" }, { gracePeriodSeconds: 0 })
    await node.startKubelet()
    // then the other pod keeps running unchanged
    await node.cluster.eventually(
      async () =>
        !(await node.containerd.cri.runtime.listPodSandboxes()).some(({ metadata }) => metadata?.name === "goes"),
    )
    const after = await node.cluster.get(Pod, "stays")
    expect(after.status.containerStatuses![0]!.containerID).toBe(before.status.containerStatuses![0]!.containerID)
    expect(isPodReady(after)).toBe(true)
    // and only its log has a link
    const linked = () => readdirSync(links).filter((name) => !name.startsWith("order_") && !name.startsWith("web_"))
    await node.cluster.eventually(async () => linked().join(" ") === link)
    await node.cluster.client.delete(Pod, { name: "stays", namespace: "default" })
    await node.gone("stays")
    // and so it is removed with the pod
    await node.cluster.eventually(async () => linked().length === 0)
  }, 30_000)

  test("runs static pods from manifest files on the node, and shows them in the API", async () => {
    // when a manifest is written to the folder
    const manifest = join(node.folder, "data/agent/pod-manifests/static.yaml")
    writeFileSync(
      manifest,
      JSON.stringify({
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "static" },
        spec: {
          terminationGracePeriodSeconds: 1,
          containers: [{ name: "c", image: IMAGE, command: ["sleep", "1000"] }],
        },
      }),
    )
    // then its pod runs, and the mirror pod shows that
    const mirror = await node.pod("static-node-0", isPodReady)
    expect(mirror.metadata.ownerReferences?.[0]).toMatchObject({ kind: "Node", name: "node-0", controller: true })
    // when the mirror pod is deleted, then it is created again, and the static pod keeps running
    await node.cluster.client.delete(Pod, { name: "static-node-0", namespace: "default" }, { gracePeriodSeconds: 0 })
    const again = await node.pod(
      "static-node-0",
      (found) => found.metadata.uid !== mirror.metadata.uid && isPodReady(found),
    )
    expect(again.status.containerStatuses![0]!.containerID).toBe(mirror.status.containerStatuses![0]!.containerID)
    // when the manifest is removed, then pod and mirror pod are removed too
    rmSync(manifest)
    await node.gone("static-node-0")
  }, 30_000)

  test("reports why an image cannot be pulled, and waits before the next attempt", async () => {
    await node.create("pull", {
      containers: [
        { name: "c", image: "127.0.0.1:1/none:1" },
        { name: "d", image: "k3ts.local/absent:1", imagePullPolicy: "Never" },
        { name: "e", image: "No:Such:Image" },
      ],
    })
    const waiting = await node.pod(
      "pull",
      ({ status }) => status.containerStatuses?.[0]?.state.waiting?.reason === "ImagePullBackOff",
    )
    expect(waiting.status.containerStatuses!.map(({ state }) => state.waiting?.reason)).toEqual([
      "ImagePullBackOff",
      "ErrImageNeverPull",
      "InvalidImageName",
    ])
    expect(waiting.status.phase).toBe("Pending")
    await node.cluster.client.delete(Pod, { name: "pull", namespace: "default" })
    await node.gone("pull")
  }, 30_000)

  test("continues after containerd was killed: running pods keep running, and new ones are started", async () => {
    // given a running pod
    const loop = sh("trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done")
    const beforehand = performance.now()
    await node.create("survivor", { containers: [{ name: "c", image: IMAGE, command: loop }] })
    const before = await node.pod("survivor", isPodReady)
    const usual = performance.now() - beforehand
    // when containerd is killed, and meanwhile one pod is deleted and another one created
    const daemon = readdirSync("/proc").find(
      (pid) =>
        /^\d+$/.test(pid) &&
        existsSync(`/proc/${pid}/cmdline`) &&
        readFileSync(`/proc/${pid}/cmdline`, "utf8")
          .split("\0")
          .join(" ")
          .trim()
          .endsWith(`containerd --config ${node.paths.config}`),
    )
    process.kill(Number(daemon), "SIGKILL")
    const began = performance.now()
    await node.create("newcomer", { containers: [{ name: "c", image: IMAGE, command: loop }] })
    await node.pod("newcomer", isPodReady)
    // then the new pod runs without waiting for a retry, and the third one was left alone
    expect(performance.now() - began).toBeLessThan(8000 + 3 * usual)
    expect((await node.cluster.get(Pod, "survivor")).status.containerStatuses![0]!.containerID).toBe(
      before.status.containerStatuses![0]!.containerID,
    )
    await Promise.all(
      ["survivor", "newcomer"].map((name) => node.cluster.client.delete(Pod, { name, namespace: "default" })),
    )
    await Promise.all([node.gone("survivor"), node.gone("newcomer")])
  }, 30_000)

  test("gives containers the users, limits and host names of their specs", async () => {
    const report = (command: string) => sh(`{ ${command}; } > /dev/termination-log`)
    await node.create("identity", {
      restartPolicy: "Never",
      hostname: "named",
      subdomain: "sub",
      hostAliases: [{ ip: "192.0.2.7", hostnames: ["alias"] }],
      securityContext: {
        runAsUser: 1234,
        runAsGroup: 2345,
        supplementalGroups: [3456],
        fsGroup: 4567,
        sysctls: [{ name: "net.ipv4.ip_local_port_range", value: "20000 30000" }],
      },
      dnsPolicy: "None",
      dnsConfig: { nameservers: ["192.0.2.53"], searches: ["here"], options: [{ name: "ndots", value: "1" }] },
      containers: [
        { name: "id", image: IMAGE, command: report("id -u; id -g; id -G; hostname") },
        {
          name: "files",
          image: IMAGE,
          command: report(
            "cat /etc/resolv.conf /proc/sys/net/ipv4/ip_local_port_range; busybox tail -n 1 /etc/hosts; " +
              "busybox grep named /etc/hosts | busybox cut -f2,3",
          ),
        },
        {
          name: "proc",
          image: IMAGE,
          command: report(
            "busybox grep -E 'NoNewPrivs|CapBnd|Seccomp:' /proc/self/status; touch /x 2>/dev/null || echo readonly",
          ),
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ["ALL"] },
            seccompProfile: { type: "RuntimeDefault" },
          },
        },
      ],
    })
    const done = await node.pod("identity", ({ status }) => status.phase === "Succeeded" || status.phase === "Failed")
    const said = Object.fromEntries(
      done.status.containerStatuses!.map(({ name, state }) => [name, state.terminated?.message?.trim().split(/\n/)]),
    )
    expect(said["id"]!.slice(0, 2)).toEqual(["1234", "2345"])
    expect(said["id"]![2]!.split(" ").sort()).toEqual(["2345", "3456", "4567"])
    expect(said["id"]![3]).toBe("named")
    expect(said["files"]).toEqual([
      "search here",
      "nameserver 192.0.2.53",
      "options ndots:1",
      "20000\t30000",
      "192.0.2.7\talias",
      "named.sub.default.svc.cluster.local\tnamed",
    ])
    expect(said["proc"]!.map((line) => line.replace(/\s+/, " "))).toEqual([
      "CapBnd: 0000000000000000",
      "NoNewPrivs: 1",
      "Seccomp: 2",
      "readonly",
    ])
    await node.cluster.client.delete(Pod, { name: "identity", namespace: "default" })
    await node.gone("identity")
  }, 30_000)

  test("ends when its containers have ended and none is to be restarted", async () => {
    await node.create("job", {
      restartPolicy: "Never",
      containers: [{ name: "c", image: IMAGE, command: sh("echo done; exit 0") }],
    })
    const done = await node.pod("job", ({ status }) => status.phase === "Succeeded")
    expect(done.status.containerStatuses![0]!.state.terminated).toMatchObject({ exitCode: 0, reason: "Completed" })
    expect(done.status.conditions?.find(({ type }) => type === "Ready")).toMatchObject({
      status: "False",
      reason: "PodCompleted",
    })
    expect(readdirSync(join(node.folder, "pods")).some((name) => name.startsWith("default_job_"))).toBe(true)
    await node.cluster.client.delete(Pod, { name: "job", namespace: "default" })
    await node.gone("job")
  }, 30_000)
})
