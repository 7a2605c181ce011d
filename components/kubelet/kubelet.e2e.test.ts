/**
 * The whole kubelet on a real containerd, with an API in memory. Root, containerd, runc, CNI plugins and busybox-static are needed. Each run has
 * folders, a bridge and a range of its own.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { watch } from "node:fs/promises"
import { join } from "node:path"
import { duplexPair, PassThrough } from "node:stream"
import { Pod } from "../../pkg/api/core/v1/pod.ts"
import { startCluster, type Cluster } from "../../pkg/testing/testing.ts"
import { isPodReady } from "../../pkg/api/core/v1/pod-state.ts"
import { Node } from "../../pkg/api/core/v1/node.ts"
import { Event } from "../../pkg/api/core/v1/event.ts"
import { ConfigMap } from "../../pkg/api/core/v1/configmap.ts"
import { Secret } from "../../pkg/api/core/v1/secret.ts"
import type { InputOfResource } from "../../pkg/apimachinery/resource.ts"
import { realClock } from "../../pkg/clock/real.ts"
import type { Component, ComponentContext } from "../../pkg/component/component.ts"
import { NodeConnectors } from "../../pkg/component/node-connector.ts"
import { createLogger, silent } from "../../pkg/log/log.ts"
import type { PortForwardSession } from "../../pkg/streaming/port-forward.ts"
import type { RemoteCommandSession } from "../../pkg/streaming/remote-command.ts"
import { exitCodeOf, type CommandStatus } from "../../pkg/streaming/status.ts"
import { buildImageArchive } from "../../pkg/oci/archive.ts"
import { writeCniConfig } from "./containerd/cni.ts"
import { Containerd } from "./containerd/containerd.ts"
import { findCniBinDir } from "./containerd/host.ts"
import { importImages } from "./containerd/images.ts"
import { containerdPaths } from "./containerd/paths.ts"
import { tearDown } from "./containerd/tear-down.ts"
import { createKubelet } from "./kubelet.ts"
import { criRuntime } from "./runtime/cri/cri-runtime.ts"

const busybox = ["/bin/busybox", "/usr/bin/busybox"].find((path) => existsSync(path))
const missing = [
  process.getuid?.() === 0 ? undefined : "root",
  spawnSync("containerd", ["--version"]).status === 0 ? undefined : "containerd",
  spawnSync("runc", ["--version"]).status === 0 ? undefined : "runc",
  findCniBinDir() === undefined ? "containernetworking-plugins" : undefined,
  busybox === undefined ? "busybox-static" : undefined,
].filter((name) => name !== undefined)
if (missing.length > 0) console.warn(`SKIPPED: the tests of the kubelet on containerd need ${missing.join(", ")}`)

const IMAGE = "k3ts.local/kubelet-test:1"

describe.skipIf(missing.length > 0)("the kubelet on containerd", () => {
  const folder = mkdtempSync("/tmp/k3ts-kubelet-")
  const paths = containerdPaths(join(folder, "data"), join(folder, "run"))
  const unique = process.pid % 200
  const bridge = `k3ts-k${unique}`
  const containerd = new Containerd({ paths, clock: realClock, log: silent, cgroupDriver: "cgroupfs" })
  let cluster: Cluster
  const log = process.env.VERBOSE ? createLogger({ clock: realClock, format: "text", level: "debug", write: (line) => console.error(line) }) : silent
  const nodes = new NodeConnectors()
  const failures: unknown[] = []

  const newKubelet = () => {
    const context: ComponentContext = {
      ...cluster.contextFor("system:node:node-0", ["system:nodes"]), log,
      spawn: (name, run) => void run().catch((err: unknown) => {
        failures.push(err)
        console.error(`${name} failed`, err)
      }),
    }
    return createKubelet(context, {
      nodeName: "node-0", nodeIps: ["10.0.0.1"], root: join(folder, "data/agent/kubelet"), podLogs: join(folder, "pods"), staticPods: join(folder, "data/agent/pod-manifests"),
      clusterDns: ["10.43.0.10"], clusterDomain: "cluster.local", resolvConf: "/etc/resolv.conf", maxPods: 110, cgroupDriver: "cgroupfs", labels: {}, taints: [], port: 10250,
      nodes, runtime: criRuntime(containerd.cri, "cgroupfs", realClock),
    })
  }
  let kubelet: Component

  beforeAll(async () => {
    mkdirSync(paths.cniConfig, { recursive: true })
    mkdirSync(paths.images, { recursive: true })
    writeCniConfig(paths, { podCidr: `10.198.${unique}.0/24`, mtu: 1400, bridge })
    await containerd.start(AbortSignal.timeout(30_000))
    const programs = ["sh", "sleep", "echo", "cat", "true", "false", "httpd", "nc", "id", "hostname", "touch", "rm"]
    const archive = buildImageArchive({
      name: IMAGE,
      layers: [{
        files: [
          { type: "directory", path: "bin" }, { type: "directory", path: "tmp", mode: 0o1777 }, { type: "directory", path: "www" },
          { type: "file", path: "www/index.html", mode: 0o644, data: Buffer.from("hello\n") },
          { type: "file", path: "bin/busybox", mode: 0o755, data: readFileSync(busybox!) },
          ...programs.map((name) => ({ type: "symlink" as const, path: `bin/${name}`, target: "busybox" })),
        ],
      }],
      config: { Env: ["PATH=/bin"], Cmd: ["sh"] },
    })
    await importImages([archive], paths)
    cluster = await startCluster({ clock: "real", components: { controllers: false, scheduler: false }, admission: { disabled: ["ServiceAccount"] } })
    kubelet = newKubelet()
    await kubelet.start(AbortSignal.timeout(10_000))
  }, 60_000)

  afterAll(async () => {
    await kubelet.stop()
    await cluster.stop()
    await containerd.stop()
    containerd.cri.close()
    // Pods that are still being ended go with their runtime: to end one through it as well would be to take its network down twice at once.
    await tearDown(paths, realClock, { bridge, egress: false })
    // The folder for secrets is one in memory.
    for (const line of readFileSync("/proc/self/mountinfo", "utf8").split("\n")) {
      const path = line.split(" ")[4] ?? ""
      if (path.startsWith(`${folder}/`)) spawnSync("umount", ["-l", path])
    }
    rmSync(folder, { recursive: true, force: true })
    expect(readFileSync("/proc/self/mountinfo", "utf8")).not.toContain(folder)
    expect(failures).toEqual([])
  }, 60_000)

  type Spec = NonNullable<InputOfResource<typeof Pod>["spec"]>
  const create = (name: string, spec: Partial<Spec> & Pick<Spec, "containers">) =>
    cluster.client.create(Pod, { metadata: { name, namespace: "default" }, spec: { nodeName: "node-0", ...spec } })
  const pod = (name: string, wanted: (pod: Pod) => boolean) => cluster.eventually(async () => {
    const found = await cluster.get(Pod, name)
    if (!wanted(found)) throw new Error(`pod ${name} is ${JSON.stringify(found.status)}`)
    return found
  })
  const gone = (name: string) => cluster.eventually(async () => (await cluster.find(Pod, name)) === undefined)
  const sh = (script: string) => ["sh", "-c", script]
  const events = async (name: string) => (await cluster.list(Event)).filter(({ involvedObject }) => involvedObject.name === name).map(({ reason }) => reason)

  test("registers the node as ready", async () => {
    const node = await cluster.get(Node, "node-0")
    expect(node.status.conditions?.map(({ type, status }) => `${type}=${status}`)).toEqual(["MemoryPressure=False", "DiskPressure=False", "PIDPressure=False", "Ready=True"])
    expect(node.status.nodeInfo.containerRuntimeVersion).toStartWith("containerd://")
  })

  test("runs a pod, reports it ready, and removes it when it is deleted", async () => {
    // when a pod with a web server is bound here
    await create("web", { containers: [{ name: "web", image: IMAGE, command: sh("trap 'exit 0' TERM; httpd -p 8080 -h /www; while :; do sleep 1 & wait $!; done"), readinessProbe: { httpGet: { port: 8080 } } }] })
    const ready = await pod("web", isPodReady)
    // then it is told with addresses and ids
    expect(ready.status.phase).toBe("Running")
    expect(ready.status.podIP).toStartWith(`10.198.${unique}.`)
    expect(ready.status.containerStatuses![0]).toMatchObject({ ready: true, started: true, restartCount: 0, image: IMAGE })
    // when it is deleted
    await cluster.client.delete(Pod, { name: "web", namespace: "default" })
    await gone("web")
    // then it ended in order
    expect(await events("web")).toEqual(expect.arrayContaining(["Pulled", "Created", "Started", "Killing"]))
  }, 30_000)

  test("runs init containers in order, a sidecar beside them, and restarts what fails with a backoff", async () => {
    await create("order", {
      volumes: [{ name: "shared", emptyDir: {} }],
      initContainers: [
        { name: "first", image: IMAGE, command: sh("echo first >> /shared/log"), volumeMounts: [{ name: "shared", mountPath: "/shared" }] },
        { name: "side", image: IMAGE, restartPolicy: "Always", command: sh("echo side >> /shared/log; trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done"), volumeMounts: [{ name: "shared", mountPath: "/shared" }], startupProbe: { exec: { command: ["cat", "/shared/log"] } } },
        { name: "second", image: IMAGE, command: sh("echo second >> /shared/log"), volumeMounts: [{ name: "shared", mountPath: "/shared" }] },
      ],
      containers: [{ name: "main", image: IMAGE, command: sh("cat /shared/log > /dev/termination-log; exit 3"), volumeMounts: [{ name: "shared", mountPath: "/shared" }] }],
    })
    const waiting = await pod("order", ({ status }) => status.containerStatuses?.[0]?.state.waiting?.reason === "CrashLoopBackOff")
    expect(waiting.status.containerStatuses![0]).toMatchObject({ restartCount: 1, lastState: { terminated: { exitCode: 3, reason: "Error", message: "first\nside\nsecond\n" } } })
    expect(waiting.status.initContainerStatuses!.map(({ ready, started }) => [ready, started])).toEqual([[true, false], [true, true], [true, false]])
    await cluster.client.delete(Pod, { name: "order", namespace: "default" })
    await gone("order")
  }, 30_000)

  test("adopts running pods after a restart, and ends those that were deleted meanwhile", async () => {
    // given two pods
    const loop = sh("trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done")
    await Promise.all([create("stays", { containers: [{ name: "c", image: IMAGE, command: loop }] }), create("goes", { containers: [{ name: "c", image: IMAGE, command: loop }] })])
    const before = await pod("stays", isPodReady)
    await pod("goes", isPodReady)
    // when the kubelet stops, one is deleted, and it starts again
    const began = performance.now()
    await kubelet.stop()
    expect(performance.now() - began).toBeLessThan(1000)
    await cluster.client.delete(Pod, { name: "goes", namespace: "default" }, { gracePeriodSeconds: 0 })
    kubelet = newKubelet()
    await kubelet.start(AbortSignal.timeout(10_000))
    // then the first runs on as it was
    await cluster.eventually(async () => !(await containerd.cri.runtime.listPodSandboxes()).some(({ metadata }) => metadata?.name === "goes"))
    const after = (await cluster.get(Pod, "stays"))
    expect(after.status.containerStatuses![0]!.containerID).toBe(before.status.containerStatuses![0]!.containerID)
    expect(isPodReady(after)).toBe(true)
    await cluster.client.delete(Pod, { name: "stays", namespace: "default" })
    await gone("stays")
  }, 30_000)

  const text = async (chunks: AsyncIterable<Uint8Array>) => {
    let all = ""
    for await (const chunk of chunks) all += Buffer.from(chunk).toString("utf8")
    return all
  }

  test("gives the logs of containers, of their runs before too, and follows them to their end", async () => {
    // given a container that says something, ends when told, and says the same again
    await create("talker", { terminationGracePeriodSeconds: 1, volumes: [{ name: "d", emptyDir: {} }], containers: [{ name: "c", image: IMAGE, volumeMounts: [{ name: "d", mountPath: "/d" }], command: sh("echo one; echo two >&2; until [ -e /d/end ]; do sleep 0.05; done; rm /d/end; echo three; exit 1") }] })
    const first = await pod("talker", isPodReady)
    const target = { namespace: "default", name: "talker", uid: first.metadata.uid! }
    const connector = nodes.get("node-0")!
    const options = { container: "c", follow: false, previous: false, timestamps: false }
    const { signal } = new AbortController()
    // then the log is there, or a part of it. The runtime writes it a moment after the container has said it: who follows sees it come
    const following = await connector.logs(target, { ...options, follow: true }, signal)
    const bothSaid = Promise.withResolvers<void>()
    const followed = (async () => {
      let all = ""
      for await (const chunk of following) {
        all += Buffer.from(chunk).toString("utf8")
        if (all.split("\n").length >= 3) bothSaid.resolve()
      }
      return all
    })()
    await bothSaid.promise
    expect((await text(await connector.logs(target, options, signal))).split("\n").sort()).toEqual(["", "one", "two"])
    expect(await text(await connector.logs(target, { ...options, stream: "Stderr" }, signal))).toBe("two\n")
    expect(await text(await connector.logs(target, { ...options, tailLines: 1, timestamps: true }, signal))).toMatch(/^\d{4}-\d\d-\d\dT\S+ (one|two)\n$/)
    await expect(connector.logs(target, { ...options, previous: true }, signal)).rejects.toThrow('previous terminated container "c" in pod "talker" not found')
    // when it ends
    await containerd.cri.runtime.execSync(first.status.containerStatuses![0]!.containerID!.replace("containerd://", ""), sh("touch /d/end"), 5)
    // then who followed has seen all, and the run before is kept
    expect((await followed).split("\n").sort()).toEqual(["", "one", "three", "two"])
    await pod("talker", ({ status }) => status.containerStatuses?.[0]?.restartCount === 1 && status.containerStatuses[0].state.running !== undefined)
    expect(await text(await connector.logs(target, { ...options, previous: true, tailLines: 1 }, signal))).toBe("three\n")
    await cluster.client.delete(Pod, { name: "talker", namespace: "default" })
    await gone("talker")
  }, 30_000)

  test("runs commands in containers and forwards ports", async () => {
    await create("server", { containers: [{ name: "c", image: IMAGE, command: sh("trap 'exit 0' TERM; httpd -p 8080 -h /www; while :; do sleep 1 & wait $!; done"), readinessProbe: { tcpSocket: { port: 8080 } } }] })
    const ready = await pod("server", isPodReady)
    const target = { namespace: "default", name: "server", uid: ready.metadata.uid! }
    const connector = nodes.get("node-0")!
    // when a command is run
    const output = new PassThrough()
    const ended = Promise.withResolvers<CommandStatus>()
    const session: RemoteCommandSession = {
      protocol: "test", stdin: undefined, stdout: output, stderr: undefined, resize: undefined, closed: ended.promise.then(() => {}),
      exit: async (status) => {
        output.end()
        ended.resolve(status)
      },
    }
    await connector.exec(target, { container: "c", command: sh("echo $PATH; exit 4"), streams: { stdin: false, stdout: true, stderr: false, tty: false } }, async () => session)
    // then its output and its end are known
    expect(await text(output)).toBe("/bin\n")
    expect(exitCodeOf(await ended.promise)).toBe(4)
    await expect(connector.exec({ ...target, uid: "x", name: "x" }, { container: "c", command: [], streams: { stdin: false, stdout: true, stderr: false, tty: false } }, async () => session)).rejects.toThrow('pods "x" not found')
    // when a port is forwarded
    const [near, far] = duplexPair()
    const errors = new PassThrough()
    const done = Promise.withResolvers<void>()
    const forwarding: PortForwardSession = {
      protocol: "test", closed: done.promise, close: () => done.resolve(),
      async *[Symbol.asyncIterator]() {
        yield { port: 8080, data: far, error: errors, gone: new Promise<void>(() => {}) }
        await done.promise
      },
    }
    const carried = connector.portForward(target, async () => forwarding)
    near.write("GET / HTTP/1.0\r\n\r\n")
    expect(await text(near)).toEndWith("hello\n")
    done.resolve()
    await carried
    await cluster.client.delete(Pod, { name: "server", namespace: "default" })
    await gone("server")
  }, 30_000)

  test("runs the pods of manifests on the node, and shows them in the API", async () => {
    // when a manifest is laid down
    const manifest = join(folder, "data/agent/pod-manifests/static.yaml")
    writeFileSync(manifest, JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name: "static" }, spec: { terminationGracePeriodSeconds: 1, containers: [{ name: "c", image: IMAGE, command: ["sleep", "1000"] }] } }))
    // then it runs, and its mirror says so
    const mirror = await pod("static-node-0", isPodReady)
    expect(mirror.metadata.ownerReferences?.[0]).toMatchObject({ kind: "Node", name: "node-0", controller: true })
    // when the mirror is deleted, then it comes again, and the pod runs on
    await cluster.client.delete(Pod, { name: "static-node-0", namespace: "default" }, { gracePeriodSeconds: 0 })
    const again = await pod("static-node-0", (found) => found.metadata.uid !== mirror.metadata.uid && isPodReady(found))
    expect(again.status.containerStatuses![0]!.containerID).toBe(mirror.status.containerStatuses![0]!.containerID)
    // when the manifest is removed, then so is all of it
    rmSync(manifest)
    await gone("static-node-0")
  }, 30_000)

  test("tells why an image cannot be pulled, and waits before the next try", async () => {
    await create("pull", { containers: [{ name: "c", image: "127.0.0.1:1/none:1" }, { name: "d", image: "k3ts.local/absent:1", imagePullPolicy: "Never" }, { name: "e", image: "No:Such:Image" }] })
    const waiting = await pod("pull", ({ status }) => status.containerStatuses?.[0]?.state.waiting?.reason === "ImagePullBackOff")
    expect(waiting.status.containerStatuses!.map(({ state }) => state.waiting?.reason)).toEqual(["ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName"])
    expect(waiting.status.phase).toBe("Pending")
    await cluster.client.delete(Pod, { name: "pull", namespace: "default" })
    await gone("pull")
  }, 30_000)

  test("goes on when containerd was killed: what runs runs on, and what was to be started is", async () => {
    // given a running pod
    const loop = sh("trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done")
    await create("survivor", { containers: [{ name: "c", image: IMAGE, command: loop }] })
    const before = await pod("survivor", isPodReady)
    // when containerd is killed, one pod deleted and another created
    const daemon = readdirSync("/proc").find((pid) => /^\d+$/.test(pid) && existsSync(`/proc/${pid}/cmdline`) && readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").join(" ").trim().endsWith(`containerd --config ${paths.config}`))
    process.kill(Number(daemon), "SIGKILL")
    const began = performance.now()
    await create("newcomer", { containers: [{ name: "c", image: IMAGE, command: loop }] })
    await pod("newcomer", isPodReady)
    // then the new one runs without waiting for a retry, and the old one was not touched
    expect(performance.now() - began).toBeLessThan(8000)
    expect((await cluster.get(Pod, "survivor")).status.containerStatuses![0]!.containerID).toBe(before.status.containerStatuses![0]!.containerID)
    await Promise.all(["survivor", "newcomer"].map((name) => cluster.client.delete(Pod, { name, namespace: "default" })))
    await Promise.all([gone("survivor"), gone("newcomer")])
  }, 30_000)

  test("gives containers the identity, limits and names they ask for", async () => {
    const report = (command: string) => sh(`{ ${command}; } > /dev/termination-log`)
    await create("identity", {
      restartPolicy: "Never", hostname: "named", subdomain: "sub", hostAliases: [{ ip: "192.0.2.7", hostnames: ["alias"] }],
      securityContext: { runAsUser: 1234, runAsGroup: 2345, supplementalGroups: [3456], fsGroup: 4567, sysctls: [{ name: "net.ipv4.ip_local_port_range", value: "20000 30000" }] },
      dnsPolicy: "None", dnsConfig: { nameservers: ["192.0.2.53"], searches: ["here"], options: [{ name: "ndots", value: "1" }] },
      containers: [
        { name: "id", image: IMAGE, command: report("id -u; id -g; id -G; hostname") },
        { name: "files", image: IMAGE, command: report("cat /etc/resolv.conf /proc/sys/net/ipv4/ip_local_port_range; busybox tail -n 1 /etc/hosts; busybox grep named /etc/hosts | busybox cut -f2,3") },
        { name: "proc", image: IMAGE, command: report("busybox grep -E 'NoNewPrivs|CapBnd|Seccomp:' /proc/self/status; touch /x 2>/dev/null || echo readonly"), securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] }, seccompProfile: { type: "RuntimeDefault" } } },
      ],
    })
    const done = await pod("identity", ({ status }) => status.phase === "Succeeded" || status.phase === "Failed")
    const said = Object.fromEntries(done.status.containerStatuses!.map(({ name, state }) => [name, state.terminated?.message?.trim().split(/\n/)]))
    expect(said["id"]!.slice(0, 2)).toEqual(["1234", "2345"])
    expect(said["id"]![2]!.split(" ").sort()).toEqual(["2345", "3456", "4567"])
    expect(said["id"]![3]).toBe("named")
    expect(said["files"]).toEqual(["search here", "nameserver 192.0.2.53", "options ndots:1", "20000\t30000", "192.0.2.7\talias", "named.sub.default.svc.cluster.local\tnamed"])
    expect(said["proc"]!.map((line) => line.replace(/\s+/, " "))).toEqual(["CapBnd: 0000000000000000", "NoNewPrivs: 1", "Seccomp: 2", "readonly"])
    await cluster.client.delete(Pod, { name: "identity", namespace: "default" })
    await gone("identity")
  }, 30_000)

  test("ends with its containers where nothing is to be restarted", async () => {
    await create("job", { restartPolicy: "Never", containers: [{ name: "c", image: IMAGE, command: sh("echo done; exit 0") }] })
    const done = await pod("job", ({ status }) => status.phase === "Succeeded")
    expect(done.status.containerStatuses![0]!.state.terminated).toMatchObject({ exitCode: 0, reason: "Completed" })
    expect(done.status.conditions?.find(({ type }) => type === "Ready")).toMatchObject({ status: "False", reason: "PodCompleted" })
    expect(readdirSync(join(folder, "pods")).some((name) => name.startsWith("default_job_"))).toBe(true)
    await cluster.client.delete(Pod, { name: "job", namespace: "default" })
    await gone("job")
  }, 30_000)

  test("gives containers volumes of every kind, and keeps them current", async () => {
    // given a ConfigMap, a Secret and a folder of the node
    const namespace = "default"
    await cluster.client.create(ConfigMap, { metadata: { namespace, name: "cm" }, data: { key: "old" } })
    await cluster.client.create(Secret, { metadata: { namespace, name: "sec" }, data: { password: Buffer.from("pw").toString("base64") } })
    const shared = join(folder, "shared")
    mkdirSync(shared)
    const isReady = (async () => {
      for await (const { filename } of watch(shared)) if (filename === "ready") return
    })()
    // when a container uses them, and waits for a change of the ConfigMap
    const script = `
      {
        busybox df -k /mem | busybox tail -n 1 | busybox awk '{ print "memory", $1, $2 }'
        echo "secret $(cat /sec/password) $SECRET"
        echo x 2>/dev/null > /sec/new || echo "secret is read-only"
        echo "name $(cat /down/name)"
        busybox stat -c 'group %g %a' /disk
        echo mine > /sub/file; echo "sub $(cat /disk/part/file)"
        echo "before $(cat /cm/key) $(cat /one)"
        touch /host/ready
        until [ "$(cat /cm/key)" = new ]; do sleep 0.02; done
        echo "after $(cat /cm/key) $(cat /one)"
      } > /host/report`
    const { metadata: { uid } } = await create("volumes", {
      restartPolicy: "Never", securityContext: { fsGroup: 4321 },
      volumes: [
        { name: "cm", configMap: { name: "cm" } }, { name: "sec", secret: { secretName: "sec" } }, { name: "mem", emptyDir: { medium: "Memory", sizeLimit: "2Mi" } }, { name: "disk", emptyDir: {} },
        { name: "host", hostPath: { path: shared, type: "Directory" } }, { name: "down", downwardAPI: { items: [{ path: "name", fieldRef: { fieldPath: "metadata.name" } }] } },
      ],
      containers: [{
        name: "c", image: IMAGE, command: sh(script), env: [{ name: "SECRET", valueFrom: { secretKeyRef: { name: "sec", key: "password" } } }, { name: "PART", value: "part" }],
        volumeMounts: [
          { name: "cm", mountPath: "/cm" }, { name: "cm", mountPath: "/one", subPath: "key" }, { name: "sec", mountPath: "/sec" }, { name: "mem", mountPath: "/mem" }, { name: "disk", mountPath: "/disk" },
          { name: "disk", mountPath: "/sub", subPathExpr: "$(PART)" }, { name: "host", mountPath: "/host" }, { name: "down", mountPath: "/down" },
        ],
      }],
    })
    await isReady
    await cluster.client.patch(ConfigMap, { namespace, name: "cm" }, { type: "merge", body: { data: { key: "new" } } })
    await pod("volumes", ({ status }) => status.phase === "Succeeded")
    // then it saw all of them: the mounted folder follows, the single file stays as it was
    expect(readFileSync(join(shared, "report"), "utf8").trimEnd().split("\n")).toEqual([
      "memory tmpfs 2048", "secret pw pw", "secret is read-only", "name volumes", "group 4321 2777", "sub mine", "before old old", "after new old",
    ])
    // and nothing of them is left when the pod is gone, but for the node's own files
    await cluster.client.delete(Pod, { name: "volumes", namespace })
    await gone("volumes")
    await cluster.eventually(() => {
      expect(readFileSync("/proc/self/mountinfo", "utf8")).not.toContain(uid!)
      expect(existsSync(join(folder, "data/agent/kubelet/memory", uid!))).toBe(false)
    })
    expect(existsSync(join(shared, "report"))).toBe(true)
  }, 30_000)

  test("starts a pod that waits for a ConfigMap the moment it appears", async () => {
    // given a pod whose ConfigMap is missing
    await create("waits", { restartPolicy: "Never", volumes: [{ name: "v", configMap: { name: "late" } }], containers: [{ name: "c", image: IMAGE, command: sh("cat /v/key > /dev/termination-log"), volumeMounts: [{ name: "v", mountPath: "/v" }] }] })
    const [told] = await cluster.eventually(Event, { fields: "involvedObject.name=waits,reason=FailedMount" }, (events) => events.length > 0)
    expect(told!.message).toBe('MountVolume.SetUp failed for volume "v" : configmap "late" not found')
    // when it appears
    await cluster.client.create(ConfigMap, { metadata: { namespace: "default", name: "late" }, data: { key: "here" } })
    // then
    const done = await pod("waits", ({ status }) => status.phase === "Succeeded")
    expect(done.status.containerStatuses![0]!.state.terminated?.message).toBe("here")
    await cluster.client.delete(Pod, { name: "waits", namespace: "default" })
    await gone("waits")
  }, 5_000)
})
